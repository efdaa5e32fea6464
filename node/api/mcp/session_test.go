package mcp_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agentlink/node/api/socket"
	"agentlink/node/nodetest"
	"agentlink/policy"
)

// versions are the newest of the protocol with sessions, and the newest without.
var versions = map[string]*sdk.ClientSessionOptions{"with sessions": {ProtocolVersion: withSessions}, "without": nil}

func (h hand) names() []string {
	h.t.Helper()
	list, err := h.session.ListTools(h.t.Context(), nil)
	if err != nil {
		h.t.Fatal(err)
	}
	names := make([]string, 0, len(list.Tools))
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// TestGroups: what the owner takes away is gone at once, in a session that began
// before too, and is not there for whoever calls it all the same.
func TestGroups(t *testing.T) {
	t.Parallel()
	for name, version := range versions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := nodetest.Start(t, nodetest.Options{})
			scout, other := n.CreateAgent("scout", policy.Assisted), n.CreateAgent("other", policy.Assisted)
			h, o := connectAs(t, n, scout.Key, nil, version), connectAs(t, n, other.Key, nil, version)
			all := h.names()
			if len(all) != 18 || !slices.Contains(all, "run_action") {
				t.Fatalf("%v", all)
			}
			nodetest.Owner[socket.Agent](n, socket.AgentTools, socket.ChangeTools{Agent: "scout", Tools: []policy.ToolGroup{policy.ToolsRead}})
			left := h.names()
			if slices.Contains(left, "run_action") || slices.Contains(left, "send_message") || !slices.Contains(left, "get_me") {
				t.Errorf("%v", left)
			}
			_, err := h.session.CallTool(t.Context(), &sdk.CallToolParams{Name: "send_message", Arguments: map[string]any{}})
			if err == nil || !strings.Contains(err.Error(), "does not offer") {
				t.Errorf("a hidden tool: %v", err)
			}
			if got := o.names(); !slices.Equal(got, all) {
				t.Errorf("another agent sees %v", got)
			}
		})
	}
}

// TestDisabledMidSession: a session ends for an agent that is disabled, and for a
// key that was replaced.
func TestDisabledMidSession(t *testing.T) {
	t.Parallel()
	for name, version := range versions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := nodetest.Start(t, nodetest.Options{})
			scout := n.CreateAgent("scout", policy.Assisted)
			key, token := connectAs(t, n, scout.Key, nil, version), connectAs(t, n, scout.Token(), nil, version)
			key.call("get_me", nil).fine()
			token.call("get_me", nil).fine()
			nodetest.Owner[socket.Agent](n, socket.AgentKey, socket.AgentRef{Agent: "scout"})
			if _, err := key.session.CallTool(t.Context(), &sdk.CallToolParams{Name: "get_me"}); err == nil {
				t.Error("a replaced key is still good")
			}
			result, err := token.session.CallTool(t.Context(), &sdk.CallToolParams{Name: "get_me"})
			if err == nil && !result.IsError {
				t.Error("a token of a replaced key is still good")
			}
		})
	}
}

// TestProgress: a client that waits hears that the call is alive.
func TestProgress(t *testing.T) {
	t.Parallel()
	for name, version := range versions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := nodetest.Start(t, nodetest.Options{})
			scout := n.CreateAgent("scout", policy.Assisted)
			heard := make(chan float64, 10)
			h := connectAs(t, n, scout.Key, &sdk.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { heard <- r.Params.Progress },
			}, version)
			after := h.call("wait_for_events", nil).fine().Text("cursor")
			wait := &sdk.CallToolParams{Name: "wait_for_events", Arguments: map[string]any{"after": after, "wait": 7}}
			wait.SetProgressToken("w")
			begin := time.Now()
			result, err := h.session.CallTool(t.Context(), wait)
			if err != nil || result.IsError || time.Since(begin) < 6*time.Second {
				t.Fatalf("%v %+v after %v", err, result, time.Since(begin))
			}
			select {
			case seconds := <-heard:
				if seconds != 5 {
					t.Errorf("%v", seconds)
				}
			default:
				t.Error("no progress")
			}
		})
	}
}

// TestAttention: a client that can open an address is asked to show where a held
// thing waits. Its answer decides nothing.
func TestAttention(t *testing.T) {
	t.Parallel()
	ada, ben := nodetest.Start(t, nodetest.Options{}), nodetest.Start(t, nodetest.Options{Owner: "Ben"})
	scout, juno := ada.CreateAgent("scout", policy.Manual), ben.CreateAgent("juno", policy.Manual)
	ofScout, _ := nodetest.Connect(scout, juno)
	asked := make(chan *sdk.ElicitParams, 1)
	h := connectAs(t, ada, scout.Key, &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{URL: &sdk.URLElicitationCapabilities{}}},
		ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			asked <- r.Params
			return &sdk.ElicitResult{Action: "accept"}, nil
		},
	}, versions["with sessions"])
	held := h.call("send_message", map[string]any{"connectionId": ofScout.ID, "text": "Good evening"}).fine()
	if held.Text("status") != "pending_approval" {
		t.Fatalf("%s", held.Body)
	}
	select {
	case params := <-asked:
		if params.Mode != "url" || params.URL != ada.DashboardURL()+"/approvals" || strings.Contains(params.Message, "evening") {
			t.Errorf("%+v", params)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the client was not asked")
	}
	if status := h.call("get_approval", map[string]any{"id": held.Text("approvalId")}).fine().Text("status"); status != "pending" {
		t.Errorf("the client's answer decided: %s", status)
	}
}
