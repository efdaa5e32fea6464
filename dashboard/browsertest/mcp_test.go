package browsertest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"agentlink/coordination"
	"agentlink/node/nodetest"
	"agentlink/policy"
)

// Two agents that have MCP clients and nothing else settle a dinner and book it:
// one client starts agentlink as hookup has written into its settings, the other
// was given the node's address alone and is let in by its owner. Everything that
// a person decides is decided by a click.
func TestDinnerOverMCP(t *testing.T) {
	t.Parallel()
	w := newWorld(t, alone)
	ada, ben := signedIn(t, w.ada), signedIn(t, w.ben)
	program := buildAgentlink(t)
	scout := startedByLines(t, program, w.ada, w.scout)
	juno := letIn(t, ben, addressByLines(t, program, w.ben, w.juno))
	ada.visit("/")
	ben.visit("/")
	ada.connected()
	ben.connected()

	scout.call("request_connection", map[string]any{"address": w.juno.Address, "note": "Dinner on Friday?"})
	ada.decides("scout asks to connect with " + w.juno.Address)
	ben.acceptsConnection(w.scout.Address, "juno")
	w.ofScout = w.ada.ConnectionWith(w.juno.Address, coordination.ConnActive)
	w.ben.ConnectionWith(w.scout.Address, coordination.ConnActive)
	w.allow(w.ada, w.scout, w.juno.Address, policy.DiscloseAvailability, policy.DisclosePreferences)
	w.allow(w.ben, w.juno, w.scout.Address, policy.DiscloseAvailability)

	started := scout.call("start_task", map[string]any{
		"connectionId": scout.contact(), "type": "dinner.coordination", "title": "Dinner on Friday",
		"proposal": dinner(map[string]any{"dietaryNotes": []string{"no peanuts"}}),
	})
	uid := started.Text("taskUid")
	if started.Text("status") != "pending_approval" {
		t.Fatalf("the dietary note was not held: %s", started.Body)
	}
	ada.decides("scout starts Dinner on Friday with "+w.juno.Address, "no peanuts")
	juno.waitFor("the proposal", func() bool { return juno.reads(uid).Text("status") == "negotiating" })
	counter := dinner(map[string]any{"time": "20:00", "cuisine": nil})
	juno.call("propose", map[string]any{"uid": uid, "fields": counter, "basedOnVersion": 1})
	ben.decides("juno proposes version 2", "20:00")
	scout.waitFor("version 2", func() bool { return len(scout.versions(uid)) == 2 })
	digest := scout.versions(uid)[1]["digest"]
	scout.call("respond", map[string]any{"uid": uid, "version": 2, "decision": "accept", "digest": digest})
	if status := scout.reads(uid).Text("status"); status == "negotiating" {
		ada.decides("scout accepts version 2")
	}
	scout.waitFor("the agreement", func() bool { return scout.reads(uid).Text("status") == "agreed" })

	asked := scout.call("request_approval", map[string]any{"action": "reservation.book", "parameters": booking(uid, nil)})
	ada.decides("scout will book Da Piero for 4")
	scout.waitFor("the decision", func() bool {
		return scout.call("get_approval", map[string]any{"id": asked.Text("approvalId")}).Text("status") == "approved"
	})
	ran := scout.call("run_action", map[string]any{"approvalId": asked.Text("approvalId")})
	if ran.Text("outcome") != "done" || ran.Value("result.simulated") != true {
		t.Errorf("%s", ran.Body)
	}
	juno.waitFor("the confirmation", func() bool { return juno.reads(uid).Text("status") == "confirmed" })
	if code := juno.reads(uid).Text("confirmation.content.code"); code == "" || code != ran.Text("result.code") {
		t.Errorf("the codes are %q and %q", ran.Text("result.code"), code)
	}
	ben.visit("/agents")
	ben.follow("juno")
	ben.says("Connected programs", "Workbench")
	ben.follow("Disconnect Workbench")
	if result, err := juno.session.CallTool(t.Context(), &sdk.CallToolParams{Name: "get_me"}); err == nil && !result.IsError {
		t.Error("a program that was disconnected still acts as juno")
	}
	w.ada.VerifyAudit()
	w.ben.VerifyAudit()
}

// acceptsConnection opens what waits and accepts it.
func (b *tab) acceptsConnection(from, agent string) {
	b.t.Helper()
	b.says("Something has changed")
	b.follow("Something has changed")
	b.follow(from + " asks to connect with " + agent)
	b.follow("Accept")
	b.says("Accepted")
}

// buildAgentlink makes the program, as a person would have it.
func buildAgentlink(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "agentlink")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "agentlink/node/cmd/agentlink")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, output)
	}
	return program
}

// settingsOf lets agentlink write a client's settings, and reads them as the
// client does.
func settingsOf(t *testing.T, program, table string, arguments ...string) (server struct {
	Command, URL string
	Args         []string
}) {
	t.Helper()
	home := t.TempDir()
	file := filepath.Join(home, "settings.json")
	command := exec.CommandContext(t.Context(), program, append(append([]string{"hookup"}, arguments...), "--write", "--file", file)...)
	command.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, "config"))
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("hookup: %v\n%s", err, output)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var settings map[string]map[string]json.RawMessage
	if err := json.Unmarshal(raw, &settings); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	if err := json.Unmarshal(settings[table]["agentlink"], &server); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return server
}

// startedByLines is a client that starts what its settings name.
func startedByLines(t *testing.T, program string, n *nodetest.Node, agent *nodetest.Agent) hand {
	t.Helper()
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(agent.Key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := settingsOf(t, program, "mcpServers", "claude-code", agent.Handle, "--url", n.Info.AgentsURL, "--key-file", key)
	return newHand(t, &sdk.CommandTransport{Command: exec.Command(server.Command, server.Args...)})
}

// addressByLines is the address that a client is given where it needs no more.
func addressByLines(t *testing.T, program string, n *nodetest.Node, agent *nodetest.Agent) string {
	t.Helper()
	return settingsOf(t, program, "servers", "vscode", agent.Handle, "--url", n.DashboardURL(), "--http").URL
}

// letIn is a client that has an address and a browser: it registers, and the
// owner lets it in, in the tab.
func letIn(t *testing.T, b *tab, address string) hand {
	t.Helper()
	l, times := newListener(t), 0
	handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "Workbench", RedirectURIs: []string{l.base + "/callback"}, GrantTypes: []string{"authorization_code", "refresh_token"},
		}},
		AuthorizationCodeFetcher: func(_ context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			if times++; times > 1 {
				return nil, errors.New("the owner is asked once more, and does not answer")
			}
			b.visit(args.URL)
			b.says("May Workbench act as your agent?")
			b.press("Approve")
			answer := l.answered(b)
			return &auth.AuthorizationResult{Code: answer.Get("code"), State: answer.Get("state"), Iss: answer.Get("iss")}, nil
		},
		Client: http.DefaultClient,
	})
	if err != nil {
		t.Fatal(err)
	}
	return newHand(t, &sdk.StreamableClientTransport{Endpoint: address, OAuthHandler: handler, MaxRetries: -1})
}

// hand is an agent that has an MCP client and nothing else.
type hand struct {
	t       *testing.T
	session *sdk.ClientSession
}

func newHand(t *testing.T, transport sdk.Transport) hand {
	t.Helper()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "Workbench", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return hand{t: t, session: session}
}

// call calls a tool that has to work.
func (h hand) call(name string, arguments map[string]any) nodetest.Answer {
	h.t.Helper()
	answer, ok := h.try(name, arguments)
	if !ok {
		h.t.Fatalf("%s: %s", name, answer.Body)
	}
	return answer
}

func (h hand) try(name string, arguments map[string]any) (answer nodetest.Answer, ok bool) {
	h.t.Helper()
	result, err := h.session.CallTool(h.t.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		h.t.Fatalf("%s: %v", name, err)
	}
	raw, err := json.Marshal(result.StructuredContent)
	if result.IsError {
		raw = []byte(result.Content[0].(*sdk.TextContent).Text)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return nodetest.NewAnswer(h.t, raw), !result.IsError
}

// waitFor waits as an agent does: it looks, and then waits for news.
func (h hand) waitFor(what string, happened func() bool) {
	h.t.Helper()
	after := ""
	nodetest.Eventually(h.t, what, func() bool {
		if happened() {
			return true
		}
		arguments := map[string]any{"wait": 2, "limit": 100}
		if after != "" {
			arguments["after"] = after
		}
		after = h.call("wait_for_events", arguments).Text("cursor")
		return false
	})
}

// reads is the task; empty where it has not arrived.
func (h hand) reads(uid string) nodetest.Answer {
	h.t.Helper()
	answer, _ := h.try("get_task", map[string]any{"uid": uid})
	return answer
}

func (h hand) versions(uid string) (proposals []map[string]any) {
	h.t.Helper()
	list, _ := h.reads(uid).Value("proposals").([]any)
	for _, entry := range list {
		proposals = append(proposals, entry.(map[string]any))
	}
	return proposals
}

// contact is the id of the only connection.
func (h hand) contact() string {
	h.t.Helper()
	list := h.call("list_contacts", nil).Value("items").([]any)
	id, _ := list[0].(map[string]any)["id"].(string)
	return id
}
