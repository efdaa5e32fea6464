package mcp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlink/actions"
	"agentlink/coordination"
	"agentlink/node/nodetest"
	"agentlink/policy"
)

// program builds agentlink, once for all tests.
var program = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "alk") })

var buildOnce sync.Once

// agentlink is the program, as its users have it.
func agentlink(t *testing.T) string {
	t.Helper()
	folder, err := program()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "agentlink")
	buildOnce.Do(func() { build(t, "build", "-o", file, "agentlink/node/cmd/agentlink") })
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestMain removes what was built.
func TestMain(m *testing.M) {
	code := m.Run()
	if folder, err := program(); err == nil {
		_ = os.RemoveAll(folder)
	}
	os.Exit(code)
}

// keyFile keeps a key as an agent's program does.
func keyFile(t *testing.T, key string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// table is two nodes whose agents know each other; scout is about to call.
type table struct {
	ada, ben     *nodetest.Node
	scout, juno  *nodetest.Agent
	connectionID string
}

func open(t *testing.T, mode policy.Mode) table {
	t.Helper()
	w := table{ada: nodetest.Start(t, nodetest.Options{}), ben: nodetest.Start(t, nodetest.Options{Owner: "Ben"})}
	w.scout, w.juno = w.ada.CreateAgent("scout", mode), w.ben.CreateAgent("juno", policy.Assisted)
	ofScout, _ := nodetest.Connect(w.scout, w.juno)
	w.connectionID = ofScout.ID
	return w
}

// call is a call of a tool, as the scripts and the raw tests make it.
type call struct {
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
}

// calls meet an answer of each kind: a value, a list, sent, held, refused, wrong.
func (w table) calls() []call {
	dinner := map[string]any{"date": "2031-05-09", "time": "19:30", "timezone": "Europe/Rome", "partySize": 2}
	book := map[string]any{"venue": "Da Piero", "date": "2031-05-09", "time": "19:30", "partySize": 2}
	return []call{
		{"get_me", map[string]any{}},
		{"get_capabilities", map[string]any{}},
		{"list_contacts", map[string]any{}},
		{"get_contact", map[string]any{"id": w.connectionID}},
		{"send_message", map[string]any{"connectionId": w.connectionID, "text": "Good evening"}},
		{"start_task", map[string]any{"connectionId": w.connectionID, "type": "dinner.coordination", "title": "Dinner"}},
		{"start_task", map[string]any{"connectionId": w.connectionID, "type": "dinner.coordination", "title": "Dinner", "proposal": dinner}},
		{"list_tasks", map[string]any{}},
		{"list_messages", map[string]any{}},
		{"run_action", map[string]any{"action": "reservation.book", "parameters": book}},
		{"request_approval", map[string]any{"action": "reservation.book", "parameters": book}},
		{"send_message", map[string]any{"connectionId": w.connectionID, "text": 7}},
		{"get_task", map[string]any{"uid": "01930000-0000-7000-8000-0000000000ff"}},
		{"wait_for_events", map[string]any{}},
	}
}

// wanted is what each of calls answers, in a word: the status of what was sent or
// held, the code of what was refused, "" for what was looked at.
var wanted = []string{
	"", "", "", "", "queued", "queued", "pending_approval", "", "", "policy_denied", "pending", "bad_request", "not_found", "",
}

// report is what a script says.
type report struct {
	Version, Server, Instructions string
	Tools, Prompts                []string
	Resources                     int
	Answers                       []struct {
		IsError           bool
		StructuredContent map[string]any
		Content           []struct{ Type, Text string }
		Thrown            string
	}
}

// TestTypeScriptClients: both generations of the SDK, over HTTP and stdio, list
// and call, and find that each answer holds to the schema that was listed for it.
func TestTypeScriptClients(t *testing.T) {
	t.Parallel()
	javaScript(t)
	for _, c := range []struct{ name, script, pinned, version string }{
		{"1.x", "sdk1.mjs", "", withSessions},
		{"2.x with sessions", "client2.mjs", "", withSessions},
		{"2.x without", "client2.mjs", "2026-07-28", "2026-07-28"},
	} {
		for _, over := range []string{"HTTP", "stdio"} {
			t.Run(c.name+" over "+over, func(t *testing.T) {
				t.Parallel()
				w := open(t, policy.Assisted)
				w.ada.Grant(w.scout, "", "disclose.availability", policy.Ask)
				job := map[string]any{"version": c.pinned, "calls": w.calls()}
				if over == "HTTP" {
					job["url"], job["key"] = w.ada.Info.AgentsURL+"/mcp", w.scout.Key
				} else {
					job["command"] = []string{agentlink(t), "mcp", "--url", w.ada.Info.AgentsURL, "--key-file", keyFile(t, w.scout.Key)}
				}
				r := runScript(t, c.script, job)
				// The script of 1.x is not told the version over stdio.
				if r.Version != c.version && (r.Version != "" || over == "HTTP") {
					t.Errorf("version %q", r.Version)
				}
				compareReport(t, r)
			})
		}
	}
}

func runScript(t *testing.T, script string, job any) (r report) {
	t.Helper()
	given, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	command := javaScript(t, script)
	command.Stdin = strings.NewReader(string(given))
	stdout, stderr, code := output(t, command)
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v\n%s\n%s", code, err, stdout, stderr)
	}
	return r
}

func compareReport(t *testing.T, r report) {
	t.Helper()
	if r.Server != "agentlink" || !strings.Contains(r.Instructions, "Held is not failed") {
		t.Errorf("server %q says %q", r.Server, r.Instructions)
	}
	if want := len(coordination.TypeNames()) + len(actions.Names()); r.Resources != want || len(r.Tools) != 18 || !cmp.Equal(r.Prompts, []string{"coordinate"}) {
		t.Errorf("%d resources, want %d; tools %v; prompts %v", r.Resources, want, r.Tools, r.Prompts)
	}
	got := make([]string, 0, len(r.Answers))
	for _, a := range r.Answers {
		word := a.Thrown
		switch {
		case word != "":
		case a.IsError:
			word = nodetest.NewAnswer(t, []byte(a.Content[0].Text)).Text("error.code")
		case a.StructuredContent == nil:
			word = "no structured content"
		default:
			// What was looked at is active, where it has a status.
			if word, _ = a.StructuredContent["status"].(string); word == "active" {
				word = ""
			}
		}
		got = append(got, word)
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Error(diff)
	}
}

// TestInspector: the Inspector's command line lists the tools and calls some,
// over HTTP and stdio.
func TestInspector(t *testing.T) {
	t.Parallel()
	javaScript(t)
	w := open(t, policy.Manual)
	for over, server := range map[string][]string{
		"HTTP":  {w.ada.Info.AgentsURL + "/mcp", "--transport", "http", "--header", "Authorization: Bearer " + w.scout.Key},
		"stdio": {"-e", "AGENTLINK_AGENT_KEY_FILE=" + keyFile(t, w.scout.Key), "-e", "AGENTLINK_NODE_URL=" + w.ada.Info.AgentsURL, agentlink(t), "mcp"},
	} {
		t.Run(over, func(t *testing.T) {
			t.Parallel()
			var list struct{ Tools []struct{ Name string } }
			inspect(t, &list, append(server, "--method", "tools/list"))
			if len(list.Tools) != 18 {
				t.Errorf("%+v", list)
			}
			var held struct {
				IsError           bool
				StructuredContent map[string]any
			}
			inspect(t, &held, append(server, "--method", "tools/call", "--tool-name", "send_message",
				"--tool-arg", "connectionId="+w.connectionID, "--tool-arg", "text=Good evening"))
			if held.IsError || held.StructuredContent["status"] != "pending_approval" {
				t.Errorf("%+v", held)
			}
		})
	}
}

func inspect(t *testing.T, into any, args []string) {
	t.Helper()
	command := javaScript(t, append([]string{"node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js", "--cli"}, args...)...)
	stdout, stderr, code := output(t, command)
	if err := json.Unmarshal([]byte(stdout), into); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v\n%s\n%s", code, err, stdout, stderr)
	}
}
