package actions_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/actions"
	"agentlink/node/audit"
)

// TestTransitions walks every state × event against a golden.
func TestTransitions(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	for _, from := range actions.States {
		for _, event := range actions.Events {
			to := "-"
			if state, ok := actions.Next(from, event); ok {
				to = string(state)
			}
			fmt.Fprintf(&got, "%-9s %-7s %s\n", from, event, to)
		}
	}
	golden(t, "transitions", got.String())
}

// reasons lists every reason, for tests that have to be complete.
var reasons = []actions.Reason{
	actions.InRun, actions.SavedAndChecked,
	actions.PersonNeeded, actions.RecordNotConfirmed, actions.UnexpectedScreen, actions.NoRecordCheck, actions.StoppedForReview,
	actions.SaveNotConfirmed, actions.NotChecked, actions.ChangeReversed, actions.TimedOut, actions.ResultUnreadable, actions.Interrupted,
	actions.PolicyRefused, actions.Canceled, actions.PlatformError, actions.AppUnreachable,
}

// TestReasons is what follows from each reason, against a golden.
func TestReasons(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	for _, reason := range reasons {
		m := actions.MeaningOf(reason)
		fmt.Fprintf(&got, "%-17s %-23s changed=%-7s retry=%-5v %s\n", m.Outcome, reason, m.Changed, m.SafeToRetry, m.Text)
	}
	golden(t, "reasons", got.String())
}

// TestReasonsPromiseNothingUnproven: the rules that hold for every reason.
func TestReasonsPromiseNothingUnproven(t *testing.T) {
	t.Parallel()
	want := map[actions.Outcome]actions.Changed{
		actions.Done: actions.ChangedYes, actions.NeedsReview: actions.ChangedNo, actions.DidNotRun: actions.ChangedNo,
		actions.NotSureIfSaved: actions.ChangedUnknown, actions.InProgress: actions.ChangedUnknown,
	}
	for _, reason := range append([]actions.Reason{"a reason that nobody knows"}, reasons...) {
		m := actions.MeaningOf(reason)
		if m.Changed != want[m.Outcome] {
			t.Errorf("%s: %s says recordChanged %s", reason, m.Outcome, m.Changed)
		}
		if m.SafeToRetry && (m.Outcome != actions.DidNotRun || m.Changed != actions.ChangedNo) {
			t.Errorf("%s: safe to retry without a proof", reason)
		}
		if m.Text == "" || (m.Event == "") != (reason == actions.InRun) {
			t.Errorf("%s: %+v", reason, m)
		}
	}
	if got := actions.MeaningOf("a reason that nobody knows").Outcome; got != actions.NotSureIfSaved {
		t.Errorf("an unknown reason is %s", got)
	}
}

// TestOutcomes is what comes of each way in which an executor ends.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	stops := func(reason actions.Reason) func(context.Context, string) (actions.Result, error) {
		return func(context.Context, string) (actions.Result, error) {
			return actions.Result{Code: "leaked"}, &actions.Stopped{Reason: reason, Err: errors.New("secret cause")}
		}
	}
	gives := func(result actions.Result) func(context.Context, string) (actions.Result, error) {
		return func(context.Context, string) (actions.Result, error) { return result, nil }
	}
	tests := []struct {
		name    string
		execute func(context.Context, string) (actions.Result, error)
		state   actions.State
		reason  actions.Reason
		proof   actions.Proof
		confirm string
	}{
		{"checked", gives(actions.Result{Code: "AL-1", Checked: true}), actions.Succeeded, actions.SavedAndChecked, actions.ProofLocal, "sent"},
		{"simulated", gives(actions.Result{Code: "AL-1", Simulated: true}), actions.Succeeded, actions.SavedAndChecked, actions.ProofSimulated, "sent"},
		{"not checked", gives(actions.Result{Code: "AL-1"}), actions.Unknown, actions.NotChecked, actions.ProofNone, "failed"},
		{"an unreadable result", gives(actions.Result{Checked: true, Data: map[string]any{"f": func() {}}}), actions.Unknown, actions.ResultUnreadable, actions.ProofNone, "failed"},
		{"an error", func(context.Context, string) (actions.Result, error) {
			return actions.Result{}, errors.New("connection reset")
		}, actions.Unknown, actions.SaveNotConfirmed, actions.ProofNone, "failed"},
		{"a panic", func(context.Context, string) (actions.Result, error) { panic("oops") }, actions.Unknown, actions.ResultUnreadable, actions.ProofNone, "failed"},
		{"too slow, and listens", func(ctx context.Context, _ string) (actions.Result, error) {
			<-ctx.Done()
			return actions.Result{}, ctx.Err()
		}, actions.Unknown, actions.TimedOut, actions.ProofNone, "failed"},
		{"too slow, and does not listen", func(context.Context, string) (actions.Result, error) {
			time.Sleep(2 * time.Second)
			return actions.Result{Checked: true}, nil
		}, actions.Unknown, actions.TimedOut, actions.ProofNone, "failed"},
		{"claims to be done by an error", stops(actions.SavedAndChecked), actions.Unknown, actions.ResultUnreadable, actions.ProofNone, "failed"},
		{"claims to run", stops(actions.InRun), actions.Unknown, actions.ResultUnreadable, actions.ProofNone, "failed"},
		{"an unknown reason", stops("made_up"), actions.Unknown, actions.ResultUnreadable, actions.ProofNone, "failed"},
	}
	for _, reason := range reasons {
		state := map[actions.Outcome]actions.State{actions.NeedsReview: actions.Failed, actions.DidNotRun: actions.Failed, actions.NotSureIfSaved: actions.Unknown}[actions.MeaningOf(reason).Outcome]
		if state != "" {
			test := tests[0]
			test.name, test.execute, test.state, test.reason, test.proof, test.confirm = string(reason), stops(reason), state, reason, actions.ProofNone, "failed"
			tests = append(tests, test)
		}
	}
	event := map[actions.State]audit.Type{actions.Succeeded: audit.ActionExecuted, actions.Failed: audit.ActionFailed, actions.Unknown: audit.ActionUnknown}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, with(&executor{execute: test.execute}), func(c *actions.Config) { c.Timeout = 300 * time.Millisecond })
			w.task()
			run := w.mustRun(start(booking, w.approved(book(booking)).ID))
			if diff := cmp.Diff(run, w.stored(run.ID)); diff != "" {
				t.Errorf("stored otherwise than given back:\n%s", diff)
			}
			if run.State != test.state || run.Reason != test.reason || run.Proof() != test.proof || run.TaskConfirmation != test.confirm || !run.Settled {
				t.Errorf("got %s, %s, proof %s, confirmation %s, settled %v", run.State, run.Reason, run.Proof(), run.TaskConfirmation, run.Settled)
			}
			if done := test.state == actions.Succeeded; (run.Receipt != "") != done || (w.dinner().Status == "confirmed") != done {
				t.Errorf("receipt %q, task %s", run.Receipt, w.dinner().Status)
			}
			if known := test.state == actions.Succeeded || test.name == "not checked"; (run.Code != "") != known {
				t.Errorf("code %q", run.Code)
			}
			if events := w.events(); events[event[test.state]] != 1 || events[audit.ActionReserved] != 1 {
				t.Errorf("audit log: %v", events)
			}
			if w.dinner().RunID != "" {
				t.Error("the task still has a run under way")
			}
		})
	}
}
