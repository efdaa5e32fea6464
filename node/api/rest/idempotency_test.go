package rest

import (
	"slices"
	"strings"
	"testing"

	"agentlink/actions"
	"agentlink/node"
)

// TestIdempotentWrites: the same key and request give the stored answer and
// call nothing again; another request with the key is a conflict.
func TestIdempotentWrites(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.ask("POST", "/v1/agent/messages", message1(`"a"`), "Idempotency-Key", "k")
	w.behind.result.ID = nobodyID
	again := w.ask("POST", "/v1/agent/messages", message1(`"a"`), "Idempotency-Key", "k")
	if first.status != 201 || again.status != first.status || again.body != first.body {
		t.Errorf("%d %s, then %d %s", first.status, first.body, again.status, again.body)
	}
	if w.behind.calls() != 1 {
		t.Errorf("called %v", w.behind.called)
	}
	reuses := []struct{ path, body string }{
		{"/v1/agent/messages", message1(`"b"`)},
		{"/v1/agent/messages", message1(` "a"`)}, // the bytes count
		{"/v1/agent/tasks/" + taskUID + "/cancel", message1(`"a"`)},
		{"/v1/agent/tasks/" + nobodyID + "/cancel", message1(`"a"`)},
		{"/v1/agent/actions", `{"approvalId":"` + approvalID + `"}`},
		{"/v1/agent/connections", `{"address":"eve@away.example"}`},
		{"/v1/agent/approvals", `{"action":"reservation.book","parameters":{}}`},
	}
	for _, reuse := range reuses {
		a := w.ask("POST", reuse.path, reuse.body, "Idempotency-Key", "k")
		if a.status != 409 || a.details(t)["reason"] != string(node.ReasonIdempotencyReuse) {
			t.Errorf("%s: %d %s", reuse.path, a.status, a.body)
		}
	}
	if w.behind.calls() != 1 {
		t.Errorf("called %v", w.behind.called)
	}
	if a := w.ask("POST", "/v1/agent/messages", message1(`"a"`)); a.status != 201 || a.body == first.body {
		t.Errorf("without a key it is another message: %d %s", a.status, a.body)
	}
}

// TestKeysAreTheCallers: two agents with one key do not meet.
func TestKeysAreTheCallers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ask("POST", "/v1/agent/messages", message1(`"a"`), "Idempotency-Key", "k")
	a := w.askAs(w.bearer(bobID), "POST", "/v1/agent/messages", message1(`"a"`), "Idempotency-Key", "k")
	if a.status != 404 {
		t.Errorf("bob got %d %s", a.status, a.body)
	}
}

// TestWhatIsNotStored: errors are rolled back with their key, and a refusal
// commits without it, so that the same request works once it can.
func TestWhatIsNotStored(t *testing.T) {
	t.Parallel()
	requests := []struct{ path, body, call string }{
		{"/v1/agent/messages", message1(`"a"`), "SendMessage a"},
		{"/v1/agent/connections", `{"address":"eve@away.example"}`, "Connect"},
		{"/v1/agent/approvals", `{"action":"reservation.book","parameters":{}}`, "RequestApproval"},
		{"/v1/agent/actions", `{"action":"reservation.book","parameters":{}}`, "Run k"},
	}
	failures := map[string]error{
		"conflict":    node.ConflictFor(node.ReasonInDoubt, "wait"),
		"rate":        node.Errorf(node.RateLimited, "slower"),
		"denied":      &node.Error{Code: node.PolicyDenied, Message: "no", Details: map[string]any{"approvalRequired": true}},
		"unavailable": node.Errorf(node.Unavailable, "gone"),
	}
	for _, request := range requests {
		for name, failure := range failures {
			t.Run(request.call+" "+name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.behind.fail[request.call] = failure
				a := w.ask("POST", request.path, request.body, "Idempotency-Key", "k")
				if a.code(t) != node.CodeOf(failure) || len(w.db.kept) != 0 {
					t.Fatalf("%d %s, kept %v", a.status, a.body, w.db.kept)
				}
				delete(w.behind.fail, request.call)
				if a := w.ask("POST", request.path, request.body, "Idempotency-Key", "k"); a.status != 201 {
					t.Errorf("again: %d %s", a.status, a.body)
				}
			})
		}
	}
}

// TestRefusalCommits: a refusal is an answer of the transaction, which commits.
func TestRefusalCommits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.behind.refusal = &node.Error{Code: node.PolicyDenied, Message: "The owner's rules do not allow this.",
		Details: map[string]any{"denied": []string{"message.send"}, "reasons": map[string]string{"message.send": "grant_denies"}}}
	a := w.ask("POST", "/v1/agent/messages", message1(`"a"`), "Idempotency-Key", "k")
	if a.status != 403 || w.db.committed != 1 || len(w.db.kept) != 0 {
		t.Errorf("%d %s, %d commits, kept %v", a.status, a.body, w.db.committed, w.db.kept)
	}
	if denied := a.details(t)["denied"].([]any); len(denied) != 1 || denied[0] != "message.send" {
		t.Errorf("%s", a.body)
	}
	w.behind.refusal = nil
	if a := w.ask("POST", "/v1/agent/messages", message1(`"a"`), "Idempotency-Key", "k"); a.status != 201 {
		t.Errorf("after a new grant: %d %s", a.status, a.body)
	}
}

// TestRunsAnswerFromTheRun: the key goes to the run, which is asked each time, so
// that a second look sees how it went on.
func TestRunsAnswerFromTheRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.behind.run.Reason = actions.InRun
	body := `{"approvalId":"` + approvalID + `"}`
	first := w.ask("POST", "/v1/agent/actions", body, "Idempotency-Key", "k")
	if first.status != 202 || first.member(t, "outcome") != "running" {
		t.Errorf("%d %s", first.status, first.body)
	}
	w.behind.run.Reason = actions.SavedAndChecked
	second := w.ask("POST", "/v1/agent/actions", body, "Idempotency-Key", "k")
	if second.status != 201 || second.member(t, "outcome") != "done" {
		t.Errorf("%d %s", second.status, second.body)
	}
	if !slices.Equal(w.behind.called, []string{"Run k", "Run k"}) {
		t.Errorf("called %v", w.behind.called)
	}
	other := w.ask("POST", "/v1/agent/actions", strings.Replace(body, approvalID, nobodyID, 1), "Idempotency-Key", "k")
	if other.status != 409 || w.behind.calls() != 2 {
		t.Errorf("%d %s", other.status, other.body)
	}
}

// TestConnectAnswersFromTheStore: a repeated request to connect is answered
// before anything is looked up again.
func TestConnectAnswersFromTheStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.ask("POST", "/v1/agent/connections", `{"address":"eve@away.example"}`, "Idempotency-Key", "k")
	before := w.behind.calls()
	again := w.ask("POST", "/v1/agent/connections", `{"address":"eve@away.example"}`, "Idempotency-Key", "k")
	if first.status != 201 || again.body != first.body || w.behind.calls() != before {
		t.Errorf("%d %s, %v", again.status, again.body, w.behind.called)
	}
}
