package actions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/actions"
	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/policy"
)

// TestDinner is the way of the demo: refused, asked for, approved, another party
// size refused, run with a code, the task confirmed, a second use refused.
func TestDinner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.task()
	_, err := w.run(start(booking, ""))
	wantDenied(t, err, "mode_not_autonomous", true)
	a, err := w.ask(book(booking))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.run(start(booking, a.ID)); problem(err) != "conflict approval_pending" {
		t.Errorf("before the decision: %v", err)
	}
	effect, err := w.decide(approvals.Decision{ID: a.ID, Hash: a.Hash, Approve: true})
	if err != nil || effect.Outcome != approvals.OutcomeApproved {
		t.Fatalf("approve: %+v, %v", effect, err)
	}
	if _, err := w.run(start(strings.Replace(booking, `"partySize":4`, `"partySize":5`, 1), a.ID)); problem(err) != "conflict hash_mismatch" {
		t.Errorf("another party size: %v", err)
	}
	run := w.mustRun(start(booking, a.ID))
	if run.Outcome() != actions.Done || run.Proof() != actions.ProofSimulated || !run.Simulated || run.TaskConfirmation != "sent" {
		t.Errorf("run: %+v", run)
	}
	if !regexp.MustCompile(`^AL-[0-9A-Z]{6,8}$`).MatchString(run.Code) {
		t.Errorf("code is %q", run.Code)
	}
	if want := fmt.Sprintf(`{"confirmationCode":%q,"simulated":true}`, run.Code); string(run.Result) != want {
		t.Errorf("result is %s, want %s", run.Result, want)
	}
	if got := w.dinner(); got.Status != coordination.Confirmed || w.status(a.ID) != approvals.Consumed {
		t.Errorf("task %s, approval %s", got.Status, w.status(a.ID))
	}
	want := []*coordination.Run{{ID: run.ID, Action: "reservation.book", Code: run.Code, ReservedAt: noon, Simulated: true, Receipt: run.Receipt, Salt: a.Salt}}
	if diff := cmp.Diff(want, w.tasks.ended); diff != "" {
		t.Error(diff)
	}
	if _, err := w.run(start(booking, a.ID)); problem(err) != "conflict task_ended" {
		t.Errorf("a second use: %v", err)
	}
	wantEvents := map[audit.Type]int{
		audit.PolicyDecided: 3, audit.ApprovalRequested: 1, audit.ApprovalApproved: 1, audit.ApprovalConsumed: 1,
		audit.ActionReserved: 1, audit.ActionExecuted: 1, audit.TaskConfirmed: 1,
	}
	if diff := cmp.Diff(wantEvents, w.events()); diff != "" {
		t.Error(diff)
	}
}

// TestRunState is step 2 of running: the task is checked before the approval is used.
func TestRunState(t *testing.T) {
	t.Parallel()
	for _, test := range append(slices.Clone(taskStates),
		taskState{"another run under way", func(t *coordination.Task) { t.RunID = "another" }, "conflict bad_state"},
		taskState{"something else agreed meanwhile", func(t *coordination.Task) { t.Copy.Proposals[0].Digest = "of another" }, "conflict stale_version"},
	) {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.task()
			a := w.approved(book(booking))
			w.task(test.change)
			run, err := w.run(start(booking, a.ID))
			if problem(err) != test.want {
				t.Fatalf("got %+v, %v, want %q", run, err, test.want)
			}
			if want := map[bool]approvals.Status{true: approvals.Consumed, false: approvals.Approved}[err == nil]; w.status(a.ID) != want {
				t.Errorf("approval is %s, want %s", w.status(a.ID), want)
			}
		})
	}
}

// TestRunGate: nothing runs before the other side knows that it is agreed, and
// the approval is not used up by trying.
func TestRunGate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.task()
	a := w.approved(book(booking))
	w.tasks.set(func(f *tasks) { f.unsettled = true })
	if _, err := w.run(start(booking, a.ID)); problem(err) != "conflict acceptance_not_delivered" {
		t.Errorf("got %v", err)
	}
	if got := w.status(a.ID); got != approvals.Approved {
		t.Errorf("approval is %s", got)
	}
	w.tasks.set(func(f *tasks) { f.unsettled = false })
	w.mustRun(start(booking, a.ID))
}

// TestRunSchema is step 1 of running, with and without an approval.
func TestRunSchema(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, action, parameters, want string }{
		{"no such action", "reservation.cancel", `{}`, "action"},
		{"no parameters", "reservation.book", ``, "parameters"},
		{"parameters without an action", "", booking, "action"},
		{"bad day", "reservation.book", strings.Replace(booking, "2026-12-04", "2026-02-30", 1), "parameters.date"},
		{"claims to be approved", "reservation.book", strings.Replace(booking, "{", `{"approvalStatus":"approved",`, 1), "parameters.approvalStatus"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.task()
			a := w.approved(book(booking))
			for _, id := range []string{"", a.ID} {
				_, err := w.run(actions.Start{Action: test.action, Parameters: json.RawMessage(test.parameters), ApprovalID: id})
				if diff := cmp.Diff([]string{test.want}, fields(err)); diff != "" {
					t.Errorf("%v:\n%s", err, diff)
				}
			}
			if got := w.status(a.ID); got != approvals.Approved {
				t.Errorf("approval is %s", got)
			}
		})
	}
}

// TestRunDenied is step 3 of running: a deny refuses whatever was approved; the
// decision is kept, the approval is not used up.
func TestRunDenied(t *testing.T) {
	t.Parallel()
	for _, reason := range []policy.Reason{policy.GrantDenies, policy.AgentDisabled} {
		t.Run(string(reason), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.task()
			a := w.approved(book(booking))
			w.rules.set(reason)
			for _, id := range []string{a.ID, ""} {
				before := w.events()[audit.PolicyDecided]
				_, err := w.run(start(booking, id))
				wantDenied(t, err, string(reason), false)
				if got := w.events()[audit.PolicyDecided]; got != before+1 {
					t.Errorf("%d decisions are kept, want %d", got, before+1)
				}
			}
			if got := w.status(a.ID); got != approvals.Approved || w.dinner().RunID != "" {
				t.Errorf("approval is %s, run %q", got, w.dinner().RunID)
			}
		})
	}
}

// TestRunAsksOnlyForDenies: what the owner approved is asked for with DenyOnly,
// everything else in full.
func TestRunAsksOnlyForDenies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.task()
	a := w.approved(book(booking))
	w.rules.asked = nil
	_, err := w.run(start(booking, ""))
	wantDenied(t, err, "mode_not_autonomous", true)
	w.mustRun(start(booking, a.ID))
	if got := []bool{w.rules.asked[0].DenyOnly, w.rules.asked[1].DenyOnly}; got[0] || !got[1] {
		t.Errorf("DenyOnly was %v", got)
	}
}

// TestRunBelongs is step 4 of running: the approval is this agent's and of this kind.
func TestRunBelongs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mine := w.approved(book(aloneBooking))
	var message approvals.Approval
	w.do(func(tx node.Tx) (err error) {
		message, err = w.approvals.Request(tx, agent, approvals.Request{
			AgentID: "agent", OwnerID: "owner", Kind: approvals.Message, Action: "message.send", Parameters: json.RawMessage(`{}`),
		})
		return err
	})
	second := node.Actor{Kind: node.ActorAgent, OwnerID: "owner", AgentID: "second"}
	for _, test := range []struct {
		name  string
		actor node.Actor
		id    string
	}{
		{"another agent's", second, mine.ID},
		{"none", agent, "0193a0b0-0000-7000-8000-000000000000"},
		{"of a message", agent, message.ID},
	} {
		for _, request := range []actions.Start{start(aloneBooking, test.id), {ApprovalID: test.id}} {
			if _, err := w.Run(t.Context(), test.actor, request); problem(err) != "not_found" {
				t.Errorf("%s: got %v, want not_found", test.name, err)
			}
		}
	}
	if _, err := w.Run(t.Context(), agent, actions.Start{Action: "calendar.hold", ApprovalID: mine.ID, Parameters: json.RawMessage(
		`{"title":"Dinner","date":"2026-12-04","time":"19:30","durationMinutes":90}`)}); problem(err) != "conflict hash_mismatch" {
		t.Errorf("another action: %v", err)
	}
	w.mustRun(start(aloneBooking, mine.ID))
}

// TestRunStatuses is step 4 of running: approved, in time, and once.
func TestRunStatuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		bring func(*world, approvals.Approval)
		want  string
	}{
		{"pending", func(*world, approvals.Approval) {}, "conflict approval_pending"},
		{"rejected", func(w *world, a approvals.Approval) { w.decideOrFail(a, false) }, "conflict approval_rejected"},
		{"approved", func(w *world, a approvals.Approval) { w.decideOrFail(a, true) }, ""},
		{"approved, and its time is over", func(w *world, a approvals.Approval) {
			w.decideOrFail(a, true)
			w.clock.Advance(approvals.DefaultTTL)
		}, "conflict approval_expired"},
		{"consumed", func(w *world, a approvals.Approval) {
			w.decideOrFail(a, true)
			w.mustRun(start(aloneBooking, a.ID))
		}, "conflict approval_used"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a, err := w.ask(book(aloneBooking))
			if err != nil {
				t.Fatal(err)
			}
			test.bring(w, a)
			for _, request := range []actions.Start{start(aloneBooking, a.ID), {ApprovalID: a.ID}} {
				run, err := w.run(request)
				if problem(err) != test.want {
					t.Errorf("got %+v, %v, want %q", run, err, test.want)
				}
				if test.want == "" {
					return
				}
			}
		})
	}
}

func (w *world) decideOrFail(a approvals.Approval, approve bool) {
	w.t.Helper()
	if _, err := w.decide(approvals.Decision{ID: a.ID, Hash: a.Hash, Approve: approve}); err != nil {
		w.t.Fatal(err)
	}
}

// TestRunByApprovalAlone: the node takes the stored parameters.
func TestRunByApprovalAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.task()
	a := w.approved(book(booking))
	run := w.mustRun(actions.Start{ApprovalID: a.ID})
	if diff := cmp.Diff(string(a.Parameters), string(run.Parameters)); diff != "" || run.Action != "reservation.book" || run.TaskUID != "dinner" {
		t.Errorf("run %+v:\n%s", run, diff)
	}
}

// TestCallerLeaves: a client that leaves does not end a run that is reserved.
func TestCallerLeaves(t *testing.T) {
	t.Parallel()
	ctx, leave := context.WithCancel(t.Context())
	executor := &executor{execute: func(ctx context.Context, key string) (actions.Result, error) {
		leave()
		select {
		case <-ctx.Done():
			return actions.Result{}, ctx.Err()
		case <-time.After(50 * time.Millisecond):
			return succeeds(ctx, key)
		}
	}}
	w := newWorld(t, with(executor))
	w.task()
	a := w.approved(book(booking))
	run, err := w.Run(ctx, agent, start(booking, a.ID))
	if err != nil || w.stored(run.ID).State != actions.Succeeded || w.dinner().Status != coordination.Confirmed {
		t.Errorf("got %+v, %v; task %s", run, err, w.dinner().Status)
	}
}

// TestFind: another agent's run is not there.
func TestFind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.mustRun(start(aloneBooking, w.approved(book(aloneBooking)).ID))
	for agentID, want := range map[string]string{"": "", "agent": "", "second": "not_found"} {
		for name, find := range map[string]func(tx node.Tx) (actions.Run, error){
			"by id":          func(tx node.Tx) (actions.Run, error) { return w.Find(tx, agentID, run.ID) },
			"by approval":    func(tx node.Tx) (actions.Run, error) { return w.OfApproval(tx, agentID, run.ApprovalID) },
			"that is absent": func(tx node.Tx) (actions.Run, error) { return w.Find(tx, agentID, "none") },
		} {
			wanted := want
			if name == "that is absent" {
				wanted = "not_found"
			}
			err := w.try(func(tx node.Tx) error {
				_, err := find(tx)
				return err
			})
			if problem(err) != wanted {
				t.Errorf("%s for %q: %v, want %q", name, agentID, err, wanted)
			}
		}
	}
}
