package actions_test

import (
	"encoding/json"
	"strings"
	"testing"

	"agentlink/actions"
	"agentlink/node"
	"agentlink/policy"
)

// TestKey: the same key and request give the same run; another request under it
// is a conflict.
func TestKey(t *testing.T) {
	t.Parallel()
	executor := &executor{execute: succeeds}
	w := newWorld(t, with(executor))
	a, b := w.approved(book(aloneBooking)), w.approved(book(strings.Replace(aloneBooking, "19:30", "20:00", 1)))
	keyed := func(s actions.Start, key string) actions.Start {
		s.Key = key
		return s
	}
	first := w.mustRun(keyed(start(aloneBooking, a.ID), "k1"))
	for name, test := range map[string]struct {
		request actions.Start
		want    string
	}{
		"the same":                  {keyed(start(aloneBooking, a.ID), "k1"), ""},
		"written otherwise":         {keyed(start(strings.Replace(aloneBooking, `4}`, `4.0}`, 1), a.ID), "k1"), ""},
		"by the approval alone":     {keyed(actions.Start{ApprovalID: a.ID}, "k1"), ""},
		"another approval":          {keyed(start(aloneBooking, b.ID), "k1"), "conflict idempotency_reuse"},
		"other parameters":          {keyed(start(strings.Replace(aloneBooking, "19:30", "20:00", 1), a.ID), "k1"), "conflict idempotency_reuse"},
		"without the approval":      {keyed(start(aloneBooking, ""), "k1"), "conflict idempotency_reuse"},
		"another action":            {keyed(actions.Start{Action: "calendar.hold", Parameters: json.RawMessage(`{}`), ApprovalID: a.ID}, "k1"), "conflict idempotency_reuse"},
		"another key":               {keyed(start(aloneBooking, a.ID), "k2"), "conflict approval_used"},
		"without a key":             {start(aloneBooking, a.ID), "conflict approval_used"},
		"unsafe number under a key": {keyed(start(strings.Replace(aloneBooking, `4}`, `9007199254740993}`, 1), a.ID), "k1"), "conflict idempotency_reuse"},
	} {
		run, err := w.run(test.request)
		if problem(err) != test.want || (err == nil && run.ID != first.ID) {
			t.Errorf("%s: got run %s, %v; want %q", name, run.ID, err, test.want)
		}
	}
	if executor.calls() != 1 {
		t.Errorf("the executor was called %d times", executor.calls())
	}
	second := node.Actor{Kind: node.ActorAgent, OwnerID: "owner", AgentID: "second"}
	w.rules.set(policy.GrantAllows)
	if run, err := w.Run(t.Context(), second, keyed(start(aloneBooking, ""), "k1")); err != nil || run.ID == first.ID {
		t.Errorf("another agent's request under its own key: %s, %v", run.ID, err)
	}
}

// TestKeyAutomatic: an automatic run is found by its key too.
func TestKeyAutomatic(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rules.set(policy.GrantAllows)
	request := start(aloneBooking, "")
	first, second := w.mustRun(request), w.mustRun(request)
	if first.ID == second.ID {
		t.Error("without a key each request is a run of its own")
	}
	request.Key = "k"
	if first, second := w.mustRun(request), w.mustRun(request); first.ID != second.ID {
		t.Error("one key gave two runs")
	}
}
