package mcp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlink/node/api/socket"
	"agentlink/node/nodetest"
	"agentlink/policy"
)

// ownToEach are the parts of an answer that differ from call to call.
var ownToEach = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[0-9:.]+Z|"(receipt|salt|etag)": "[^"]*"|AL-[0-9A-Z]+`)

// same is a JSON text in one spelling, without what differs from call to call.
func same(t *testing.T, body []byte) string {
	t.Helper()
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	text, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(ownToEach.ReplaceAll(text, []byte("…")))
}

// knock is one request, for both doors. arguments are the body.
type knock struct {
	path, tool string
	arguments  map[string]any
}

// knocks asks for what each capability stands for.
func knocks(connection string) map[string]knock {
	start := func(fields map[string]any) knock {
		arguments := map[string]any{"connectionId": connection, "type": "dinner.coordination", "title": "Dinner"}
		if fields != nil {
			arguments["proposal"] = fields
		}
		return knock{"/v1/agent/tasks", "start_task", arguments}
	}
	with := func(name string, value any) knock {
		return start(map[string]any{"date": "2031-05-09", "time": "19:30", "timezone": "Europe/Rome", name: value})
	}
	return map[string]knock{
		policy.MessageSend:           {"/v1/agent/messages", "send_message", map[string]any{"connectionId": connection, "text": "Good evening"}},
		policy.TaskCreate:            start(nil),
		policy.DiscloseAvailability:  with("partySize", 2),
		policy.DisclosePreferences:   with("cuisine", "italian"),
		policy.DiscloseDietary:       with("dietaryNotes", []string{"no peanuts"}),
		policy.DiscloseBudget:        with("budget", map[string]any{"max": 50, "currency": "EUR"}),
		policy.ConnectionRequest:     {"/v1/agent/connections", "request_connection", map[string]any{"address": "nobody@127.0.0.1:1"}},
		policy.ActionReservationBook: {"/v1/agent/actions", "run_action", map[string]any{"action": "reservation.book", "parameters": map[string]any{"venue": "Da Piero", "date": "2031-05-09", "time": "19:30", "partySize": 2}}},
	}
}

// TestBothDoorsAgree asks the same by REST and over MCP, in each mode and under
// each kind of grant: both say the same, whether it is sent, held or refused.
func TestBothDoorsAgree(t *testing.T) {
	t.Parallel()
	ada, ben := nodetest.Start(t, nodetest.Options{}), nodetest.Start(t, nodetest.Options{Owner: "Ben"})
	seen := map[string]int{}
	for _, mode := range policy.Modes {
		scout := ada.CreateAgent("scout-"+string(mode), mode)
		juno := ben.CreateAgent("juno-"+string(mode), policy.Manual)
		ofScout, _ := nodetest.Connect(scout, juno)
		h := connect(t, ada, scout.Key, nil)
		for capability, request := range knocks(ofScout.ID) {
			for _, granted := range grantsOf {
				undo := granted.set(ada, scout, juno.Address, capability)
				where := fmt.Sprintf("%s, %s, %s", mode, capability, granted.name)
				seen[agree(t, where, scout, h, request)]++
				may := scout.Get("/v1/agent/capabilities?connection=" + ofScout.ID).Want(http.StatusOK)
				told := h.call("get_capabilities", map[string]any{"connection": ofScout.ID}).fine()
				if diff := cmp.Diff(same(t, may.Body), same(t, told.Body)); diff != "" {
					t.Errorf("%s: the capabilities differ (-REST +MCP):\n%s", where, diff)
				}
				undo()
			}
		}
	}
	for _, answer := range []string{"sent", "held", "policy_denied"} {
		if seen[answer] < 5 {
			t.Errorf("%q came %d times: the cases prove little: %v", answer, seen[answer], seen)
		}
	}
}

// agree asks at both doors, and gives what both answered: "sent", "held", or a code.
func agree(t *testing.T, where string, agent *nodetest.Agent, h hand, request knock) string {
	t.Helper()
	byREST := agent.Post(request.path, request.arguments)
	byMCP := h.call(request.tool, request.arguments)
	if refused := byREST.Status >= 400; refused != byMCP.Result.IsError {
		t.Errorf("%s: REST answers %d %s, MCP %s", where, byREST.Status, byREST.Body, byMCP.text())
	}
	if diff := cmp.Diff(same(t, byREST.Body), same(t, byMCP.value().Body)); diff != "" {
		t.Errorf("%s (-REST +MCP):\n%s", where, diff)
	}
	switch byREST.Status {
	case http.StatusCreated:
		return "sent"
	case http.StatusAccepted:
		return "held"
	}
	return byREST.Text("error.code")
}

// grant is a way to grant a capability.
type grant struct {
	name            string
	wide, toContact policy.GrantMode
}

var grantsOf = []grant{
	{"no grant", "", ""}, {"allow", policy.Allow, ""}, {"ask", policy.Ask, ""}, {"deny", policy.Deny, ""},
	{"allow, deny for the contact", policy.Allow, policy.Deny}, {"deny, allow for the contact", policy.Deny, policy.Allow},
}

func (g grant) set(n *nodetest.Node, agent *nodetest.Agent, contact, capability string) (undo func()) {
	var ids []string
	if g.wide != "" {
		ids = append(ids, n.Grant(agent, "", capability, g.wide).ID)
	}
	if g.toContact != "" {
		ids = append(ids, n.Grant(agent, contact, capability, g.toContact).ID)
	}
	return func() {
		for _, id := range ids {
			nodetest.Owner[socket.GrantChange](n, socket.GrantRemove, socket.RemoveGrant{ID: id})
		}
	}
}
