package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/hookup"
	"agentlink/policy"
)

// TestTools: all groups are ticked at first; what is ticked is saved, with who did
// it, and none at all is a choice.
func TestTools(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	scout := b.agent("scout", policy.Manual)
	at := "/agents/" + scout.ID
	b.get(at).want(http.StatusOK).says("Tools it sees over MCP", "not what is allowed",
		`value="read" checked`, `value="talk" checked`, `value="tasks" checked`, `value="actions" checked`)
	b.post(at+"/tools", url.Values{"tools": {"tasks", "read"}}).leadsTo(at + "?done=saved")
	if diff := cmp.Diff([]policy.ToolGroup{policy.ToolsRead, policy.ToolsTasks}, b.agentNow(scout.ID).Tools); diff != "" {
		t.Error(diff)
	}
	b.get(at).says(`value="read" checked`, `value="talk">`, `value="tasks" checked`, `value="actions">`)
	for _, wrong := range [][]string{{"fly"}, {"read", "read"}} {
		b.post(at+"/tools", url.Values{"tools": wrong}).want(http.StatusBadRequest)
	}
	b.post(at+"/tools", nil).leadsTo(at + "?done=saved")
	if got := b.agentNow(scout.ID).Tools; len(got) != 0 {
		t.Errorf("nothing was ticked, and it sees %v", got)
	}
	b.in(func(tx node.Tx) error {
		rows, err := b.store.AuditRows(tx, audit.Filter{Types: []audit.Type{audit.AgentToolsChanged}})
		if len(rows) != 2 || rows[0].ActorKind != node.ActorOwner || !strings.HasPrefix(rows[0].Via, "dashboard session=") {
			t.Errorf("the log says %+v", rows)
		}
		return err
	})
}

// TestHookUps: each client's lines are there to be copied, for this agent and this
// node, and none of them holds a key.
func TestHookUps(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	scout := b.agent("scout", policy.Manual)
	page := b.get("/agents/" + scout.ID).want(http.StatusOK)
	for _, client := range hookup.Clients() {
		page.says("<summary>"+client.Title+"</summary>", `data-copy="`+client.Name+`-`)
		if client.Place() {
			page.says("agentlink hookup " + client.Name + " scout@" + host + " --url http://" + host + " --write")
		}
	}
	page.says("http://"+host+"/mcp", "claude mcp add --scope user --transport http agentlink", "<summary>Plain HTTP</summary>")
	if keyPattern.MatchString(page.Body) {
		t.Error("the page shows a key")
	}
}
