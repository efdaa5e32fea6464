package actions_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlink/actions"
	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/node"
)

func (w *world) explain(a approvals.Approval) (view actions.View) {
	w.t.Helper()
	w.do(func(tx node.Tx) (err error) {
		view, err = w.Explain(tx, a)
		return err
	})
	return view
}

// TestExplain is what the owner sees beside the parameters.
func TestExplain(t *testing.T) {
	t.Parallel()
	const dinner = "Book Trattoria Nonna for 4 on Friday 4 December 2026 at 19:30"
	for _, test := range []struct {
		name       string
		parameters string
		role       coordination.Role
		want       actions.View
	}{
		{"as agreed", booking, coordination.Initiator, actions.View{Summary: dinner}},
		{"without a task", aloneBooking, coordination.Initiator, actions.View{Summary: dinner}},
		{
			"the other side is to run it", booking, coordination.Responder,
			actions.View{Summary: dinner, Warnings: []actions.Warning{{Kind: "not_executing_role", Text: "bob@b.example is to run this, not your agent. If both run it, it is done twice."}}},
		},
		{
			"not what was agreed", strings.NewReplacer("Nonna", "Nonno", `"partySize":4`, `"partySize":5`).Replace(booking), coordination.Initiator,
			actions.View{
				Summary: "Book Trattoria Nonno for 5 on Friday 4 December 2026 at 19:30",
				Difference: []actions.Difference{
					{Parameter: "partySize", Accepted: 4.0, Asked: 5.0}, {Parameter: "venue", Accepted: "Trattoria Nonna", Asked: "Trattoria Nonno"},
				},
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.task(func(task *coordination.Task) { task.Role = test.role })
			a, err := w.ask(book(test.parameters))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, w.explain(a)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestExplainAlreadyRan: when it ran, with which code, and the word to type. Once
// decided there is nothing more to warn of.
func TestExplainAlreadyRan(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		execute func(context.Context, string) (actions.Result, error)
		want    string
	}{
		"done": {func(context.Context, string) (actions.Result, error) {
			return actions.Result{Code: "AL-7K2M9Q", Simulated: true}, nil
		}, `This already ran on Tuesday 1 December 2026 at 12:00 UTC with the code AL-7K2M9Q. To run it a second time, type the word "again".`},
		"done without a code": {func(context.Context, string) (actions.Result, error) {
			return actions.Result{Simulated: true}, nil
		}, `This already ran on Tuesday 1 December 2026 at 12:00 UTC. To run it a second time, type the word "again".`},
		"unknown": {func(context.Context, string) (actions.Result, error) {
			return actions.Result{}, errors.New("reset")
		}, `This began on Tuesday 1 December 2026 at 12:00 UTC and nobody knows whether it was carried out. Check first. To run it a second time, type the word "again".`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, with(&executor{execute: test.execute}))
			w.task()
			w.tasks.set(func(f *tasks) { f.barred = true })
			w.mustRun(start(booking, w.approved(book(booking)).ID))
			a, err := w.ask(book(booking))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]actions.Warning{{Kind: "already_ran", Text: test.want}}, w.explain(a).Warnings); diff != "" {
				t.Error(diff)
			}
			w.decideOrFail(a, false)
			a.Status = approvals.Rejected
			if got := w.explain(a).Warnings; got != nil {
				t.Errorf("after the decision: %v", got)
			}
		})
	}
}

// TestExplainNothing: a damaged approval, and one of another kind.
func TestExplainNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, a := range []approvals.Approval{
		{Kind: approvals.Action, Action: "reservation.book", Damaged: true},
		{Kind: approvals.Message, Action: "message.send", Parameters: json.RawMessage(`{}`)},
	} {
		if diff := cmp.Diff(actions.View{}, w.explain(a)); diff != "" {
			t.Error(diff)
		}
	}
}
