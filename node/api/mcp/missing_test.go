package mcp_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agentlink/node"
	"agentlink/policy"
)

// idOf are the calls that take an id, by tool and argument; {} stands for the id.
// kind says what it is the id of.
var idOf = map[string]struct{ kind, arguments string }{
	"get_capabilities connection": {"connection", `{"connection":"{}"}`},
	"list_messages connection":    {"connection", `{"connection":"{}"}`},
	"list_tasks connection":       {"connection", `{"connection":"{}"}`},
	"get_contact id":              {"connection", `{"id":"{}"}`},
	"get_task uid":                {"task", `{"uid":"{}"}`},
	"get_approval id":             {"approval", `{"id":"{}"}`},
	"get_run runId":               {"run", `{"runId":"{}"}`},
	"send_message connectionId":   {"connection", `{"connectionId":"{}","text":"Good evening"}`},
	"start_task connectionId":     {"connection", `{"connectionId":"{}","type":"dinner.coordination","title":"Dinner"}`},
	"propose uid":                 {"task", `{"uid":"{}","fields":{"date":"2031-05-09","time":"19:30","timezone":"Europe/Rome"}}`},
	"respond uid":                 {"task", `{"uid":"{}","version":1,"decision":"accept"}`},
	"cancel_task uid":             {"task", `{"uid":"{}"}`},
	"request_approval taskUid":    {"task", `{"action":"reservation.book","taskUid":"{}","parameters":{"venue":"Da Piero","date":"2031-05-09","time":"19:30","partySize":2}}`},
	"run_action approvalId":       {"approval", `{"approvalId":"{}"}`},
	// Arguments that the list cannot know of.
	"get_task waiting":            {"task", `{"uid":"{}","wait":0}`},
	"request_approval parameters": {"task", `{"action":"reservation.book","parameters":{"venue":"Da Piero","date":"2031-05-09","time":"19:30","partySize":2,"taskUid":"{}"}}`},
	"run_action parameters":       {"task", `{"action":"reservation.book","parameters":{"venue":"Da Piero","date":"2031-05-09","time":"19:30","partySize":2,"taskUid":"{}"}}`},
	"run_action with a key":       {"approval", `{"approvalId":"{}","idempotencyKey":"again"}`},
}

// TestForeignIDsAreUnknown (S6): a tool says of another agent's thing what it says
// of one that nobody has, to the byte.
func TestForeignIDsAreUnknown(t *testing.T) {
	t.Parallel()
	w := open(t, policy.Assisted)
	ids := w.things(t)
	stranger := connect(t, w.ada, w.ada.CreateAgent("stranger", policy.Autonomous).Key, nil)
	for _, want := range stranger.argumentsOfIDs() {
		if _, ok := idOf[want]; !ok {
			t.Errorf("a tool takes an id that nobody tries: %s", want)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(idOf)) {
		tool, _, _ := strings.Cut(name, " ")
		ask := func(id string) outcome {
			var arguments map[string]any
			if err := json.Unmarshal([]byte(strings.ReplaceAll(idOf[name].arguments, "{}", id)), &arguments); err != nil {
				t.Fatal(err)
			}
			return stranger.call(tool, arguments)
		}
		for range 2 {
			missing, other := ask(node.RandomIDs{}.New()), ask(ids[idOf[name].kind])
			if code := missing.refused(); code != "not_found" {
				t.Errorf("%s: %s", name, missing.text())
			}
			if diff := cmp.Diff(resultOf(t, missing), resultOf(t, other)); diff != "" {
				t.Errorf("%s (-unknown +foreign):\n%s", name, diff)
			}
		}
	}
}

// resultOf is the whole result as it came.
func resultOf(t *testing.T, o outcome) string {
	t.Helper()
	raw, err := json.Marshal(o.Result)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// things are the ids of one thing of scout's of each kind.
func (w table) things(t *testing.T) map[string]string {
	t.Helper()
	h := connect(t, w.ada, w.scout.Key, nil)
	book := map[string]any{"venue": "Da Piero", "date": "2031-05-09", "time": "19:30", "partySize": 2}
	first := h.call("request_approval", map[string]any{"action": "reservation.book", "parameters": book}).fine().Text("approvalId")
	w.ada.Approve(w.ada.Pending())
	run := h.call("run_action", map[string]any{"approvalId": first}).fine().Text("runId")
	second := h.call("request_approval", map[string]any{"action": "reservation.book", "parameters": book}).fine().Text("approvalId")
	task := h.call("start_task", map[string]any{"connectionId": w.connectionID, "type": "dinner.coordination", "title": "Dinner"}).fine().Text("taskUid")
	w.scout.Get("/v1/agent/tasks/" + task).Want(http.StatusOK)
	return map[string]string{"connection": w.connectionID, "task": task, "approval": second, "run": run}
}

// argumentsOfIDs are the arguments that take an id, as the list of tools says.
func (h hand) argumentsOfIDs() (names []string) {
	h.t.Helper()
	list, err := h.session.ListTools(h.t.Context(), &sdk.ListToolsParams{})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, tool := range list.Tools {
		schema, _ := tool.InputSchema.(map[string]any)
		properties, _ := schema["properties"].(map[string]any)
		for name, property := range properties {
			pattern, _ := property.(map[string]any)["pattern"].(string)
			if strings.Contains(pattern, "[0-9a-f]{12}") {
				names = append(names, tool.Name+" "+name)
			}
		}
	}
	if len(names) < 14 {
		h.t.Errorf("only %d arguments take an id: %v", len(names), names)
	}
	return names
}
