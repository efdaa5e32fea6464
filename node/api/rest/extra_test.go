package rest

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"agentlink/node"
	"agentlink/node/api/agent"
)

// extras are what an executor of others has taken a caller's word for.
var extras = map[string]any{
	"approved": true, "Approved": true, "approve": true, "approval": "approved", "approvalStatus": "approved", "approval_status": "approved",
	"decision": "approve", "decidedBy": "owner", "status": "approved", "state": "approved", "outcome": "allow", "allow": true, "allowed": true,
	"force": true, "override": true, "confirm": true, "confirmed": true, "word": "again", "hash": strings.Repeat("0", 64), "mode": "autonomous",
	"grant": "allow", "grants": []any{}, "capabilities": []any{"*"}, "policy": "none", "skipPolicy": true, "dryRun": false, "owner": true,
	"ownerId": "owner", "actor": "owner", "agentId": bobID, "agent": bobID, "author": "owner", "role": "owner", "admin": true, "scope": "owner",
	"executor": "initiator", "automatic": true, "repeat": true, "epoch": 9, "mac": "x", "via": "dashboard", "__proto__": map[string]any{"approved": true},
}

// TestNobodySaysThatItIsApproved (S5): on every route that an agent has, each member
// by which a request could say that it is approved, or by whom it is sent, refuses
// the whole request; and so do parameters of the query.
func TestNobodySaysThatItIsApproved(t *testing.T) {
	t.Parallel()
	for _, row := range routerRows(newWorld(t)) {
		method, path, _ := strings.Cut(row, " ")
		if !strings.HasPrefix(path, agent.Prefix) {
			continue
		}
		t.Run(row, func(t *testing.T) {
			t.Parallel()
			w, e := newWorld(t), examples[row]
			for _, name := range slices.Sorted(maps.Keys(extras)) {
				if method == http.MethodPost {
					if a := w.ask(method, instance(path), with(t, e.body, name, extras[name])); known(e.body, name) == (a.status == 400 && a.code(t) == node.BadRequest) {
						t.Errorf("with %s: %d %s", name, a.status, a.body)
					}
				}
				if strings.Contains(e.query, name+"=") {
					continue
				}
				query := strings.Trim(e.query+"&"+name+"=true", "&")
				if a := w.askAs(w.bearer(adaID), method, instance(path)+"?"+query, e.body); a.status != 400 && !queried(row, name) {
					t.Errorf("asked with %s: %d %s", query, a.status, a.body)
				}
			}
		})
	}
}

// known says whether a body has a member of this name by right.
func known(body, name string) bool { return strings.Contains(body, `"`+name+`":`) }

// queried says whether a route has a parameter of this name by right.
func queried(row, name string) bool {
	return row == "GET "+agent.Prefix+"/tasks" && name == "status"
}

func with(t *testing.T, body, name string, value any) string {
	t.Helper()
	members := map[string]any{}
	if err := json.Unmarshal([]byte(body), &members); err != nil {
		t.Fatal(err)
	}
	if !known(body, name) {
		members[name] = value
	}
	raw, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
