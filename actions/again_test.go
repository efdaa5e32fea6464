package actions_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlink/actions"
	"agentlink/approvals"
	"agentlink/policy"
)

// TestAlreadyRan is D7: the confirmation failed after the action ran. It can be
// asked for again, an allow grant never repeats it, and approving needs the word.
func TestAlreadyRan(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"confirmation failed", "outcome unknown"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			executor := &executor{execute: succeeds}
			w := newWorld(t, with(executor))
			w.task()
			w.tasks.set(func(f *tasks) { f.barred = true })
			if how == "outcome unknown" {
				executor.execute = func(context.Context, string) (actions.Result, error) { return actions.Result{}, fmt.Errorf("reset") }
			}
			first := w.mustRun(start(booking, w.approved(book(booking)).ID))
			if first.TaskConfirmation != "failed" || w.dinner().Status.Ended() || w.dinner().RunID != "" {
				t.Fatalf("confirmation %s, task %s", first.TaskConfirmation, w.dinner().Status)
			}
			executor.execute = succeeds
			w.tasks.set(func(f *tasks) { f.barred = false })
			w.rules.set(policy.GrantAllows)
			for range 20 { // an agent that tries and tries
				if _, err := w.run(start(booking, "")); problem(err) != "conflict already_ran" {
					t.Fatalf("an allow grant repeats: %v", err)
				}
			}
			second, err := w.ask(book(booking))
			if err != nil {
				t.Fatal(err)
			}
			for _, word := range []string{"", "Again", "yes"} {
				_, err = w.decide(approvals.Decision{ID: second.ID, Hash: second.Hash, Approve: true, Word: word})
				if diff := cmp.Diff([]string{"word"}, fields(err)); diff != "" || w.status(second.ID) != approvals.Pending {
					t.Errorf("with the word %q: %v, approval %s", word, err, w.status(second.ID))
				}
			}
			if _, err := w.decide(approvals.Decision{ID: second.ID, Hash: second.Hash, Approve: true, Word: "again"}); err != nil {
				t.Fatal(err)
			}
			run := w.mustRun(start(booking, second.ID))
			if !run.Repeat || run.ID == first.ID || run.Outcome() != actions.Done || executor.calls() != 2 {
				t.Errorf("second run: %+v, %d calls", run, executor.calls())
			}
		})
	}
}

// TestFailedRunIsNoRun: what is proven not to have been written may be tried again.
func TestFailedRunIsNoRun(t *testing.T) {
	t.Parallel()
	executor := &executor{execute: func(context.Context, string) (actions.Result, error) {
		return actions.Result{}, &actions.Stopped{Reason: actions.AppUnreachable}
	}}
	w := newWorld(t, with(executor))
	w.task()
	w.rules.set(policy.GrantAllows)
	if run := w.mustRun(start(booking, "")); run.Outcome() != actions.DidNotRun || !run.Meaning().SafeToRetry || w.dinner().Status.Ended() {
		t.Fatalf("run %+v, task %s", run, w.dinner().Status)
	}
	executor.execute = succeeds
	if run := w.mustRun(start(booking, "")); run.Outcome() != actions.Done || run.Repeat {
		t.Errorf("second try: %+v", run)
	}
}

// TestRunEndsOtherApprovals: reserving a run expires every other open approval of
// that task and action.
func TestRunEndsOtherApprovals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.task()
	used := w.approved(book(booking))
	other := w.approved(book(strings.Replace(booking, `"partySize":4`, `"partySize":5`, 1)))
	waiting, err := w.ask(book(strings.Replace(booking, `"partySize":4`, `"partySize":6`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := w.approved(book(aloneBooking))
	w.mustRun(start(booking, used.ID))
	for id, want := range map[string]approvals.Status{
		used.ID: approvals.Consumed, other.ID: approvals.Expired, waiting.ID: approvals.Expired, elsewhere.ID: approvals.Approved,
	} {
		if got := w.status(id); got != want {
			t.Errorf("approval %s is %s, want %s", id, got, want)
		}
	}
}
