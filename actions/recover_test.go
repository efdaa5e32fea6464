package actions_test

import (
	"context"
	"errors"
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

// power is a database whose machine can lose its power.
type power struct {
	node.DB
	left int // transactions until the power goes; negative: it stays
}

var errPower = errors.New("the power is gone")

func (p *power) InTx(ctx context.Context, f func(node.Tx) error) error {
	if p.left == 0 {
		return errPower
	}
	p.left--
	return p.DB.InTx(ctx, f)
}

// crash runs a dinner on a machine whose power goes after some transactions of
// the run: 1 leaves it reserved, 2 running. The world it gives is the restarted node.
func crash(t *testing.T, transactions int, executor *executor) (*world, actions.Run, approvals.Approval) {
	t.Helper()
	w := newWorld(t, with(executor))
	w.task()
	a := w.approved(book(booking))
	failing := &power{DB: w.store, left: transactions}
	run, err := w.restarted(func(c *actions.Config) { c.DB = failing }).run(start(booking, a.ID))
	if err != nil || run.State.Final() || run.Outcome() != actions.InProgress {
		t.Fatalf("before the crash: %+v, %v", run, err)
	}
	return w, run, a
}

// over lets every lease run out.
func (w *world) over() { w.clock.Advance(time.Minute) }

// TestRecovery is what becomes of a run that a crash cut off.
func TestRecovery(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name         string
		transactions int
		idempotent   bool
		meanwhile    func(*world)
		state        actions.State
		reason       actions.Reason
		calls        int // of the executor, in all
		status       coordination.Status
	}{
		{"reserved: nothing began, it starts", 1, false, nil, actions.Succeeded, actions.SavedAndChecked, 1, coordination.Confirmed},
		{"reserved, then the task was cancelled", 1, true, func(w *world) { w.changeDinner(func(t *coordination.Task) { t.Status = coordination.CancelledTask }) },
			actions.Failed, actions.Canceled, 0, coordination.CancelledTask},
		{"reserved, then denied", 1, true, func(w *world) { w.rules.set(policy.GrantDenies) }, actions.Failed, actions.PolicyRefused, 0, coordination.AwaitingApproval},
		{"reserved, then disabled", 1, true, func(w *world) { w.rules.set(policy.AgentDisabled) }, actions.Failed, actions.PolicyRefused, 0, coordination.AwaitingApproval},
		{"running, and idempotent by key: finished with the same key", 2, true, nil, actions.Succeeded, actions.SavedAndChecked, 2, coordination.Confirmed},
		{"running, idempotent, then cancelled: it may have begun", 2, true, func(w *world) { w.changeDinner(func(t *coordination.Task) { t.Status = coordination.CancelledTask }) },
			actions.Succeeded, actions.SavedAndChecked, 2, coordination.Confirmed},
		{"running, and not idempotent: nobody knows", 2, false, nil, actions.Unknown, actions.Interrupted, 1, coordination.AwaitingApproval},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			executor := &executor{idempotent: test.idempotent, execute: succeeds}
			w, run, a := crash(t, test.transactions, executor)
			if test.meanwhile != nil {
				test.meanwhile(w)
			}
			if w.recover() || w.stored(run.ID).State.Final() {
				t.Fatal("a run was taken from a replica that may still drive it")
			}
			w.over()
			if !w.recover() {
				t.Fatal("nothing was recovered")
			}
			got := w.stored(run.ID)
			if got.State != test.state || got.Reason != test.reason || !got.Settled {
				t.Errorf("got %s, %s, settled %v; want %s, %s", got.State, got.Reason, got.Settled, test.state, test.reason)
			}
			if executor.calls() != test.calls || (test.calls == 2 && executor.keys[0] != executor.keys[1]) {
				t.Errorf("the executor was called with %v", executor.keys)
			}
			if dinner := w.dinner(); dinner.Status != test.status || dinner.RunID != "" {
				t.Errorf("task %s, in run %q", dinner.Status, dinner.RunID)
			}
			if w.status(a.ID) != approvals.Consumed || w.recover() {
				t.Error("the approval is open again, or there is more to recover")
			}
		})
	}
}

// changeDinner changes the task as it is now.
func (w *world) changeDinner(change func(*coordination.Task)) {
	w.t.Helper()
	w.do(func(tx node.Tx) error {
		task, err := w.tasks.LockTask(tx, "agent", "dinner")
		if err != nil {
			return err
		}
		change(&task)
		return w.tasks.put(tx, task)
	})
}

// TestRecoveredOnce: of several replicas one recovers a run.
func TestRecoveredOnce(t *testing.T) {
	t.Parallel()
	executor := &executor{idempotent: true, execute: succeeds}
	w, run, _ := crash(t, 2, executor)
	w.over()
	two := [2]*world{w, w.restarted()}
	got := race(20, func(i int) string {
		if _, err := two[i%2].RecoverStep(t.Context()); err != nil {
			return err.Error()
		}
		return "fine"
	})
	if diff := cmp.Diff(map[string]int{"fine": 20}, got); diff != "" {
		t.Error(diff)
	}
	if executor.calls() != 2 || w.stored(run.ID).State != actions.Succeeded || w.events()[audit.ActionExecuted] != 1 {
		t.Errorf("%d calls, run %s", executor.calls(), w.stored(run.ID).State)
	}
}

// TestOverslept: a replica whose lease was over writes nothing over what another
// one has settled.
func TestOverslept(t *testing.T) {
	t.Parallel()
	var w *world
	executor := &executor{}
	executor.execute = func(ctx context.Context, key string) (actions.Result, error) {
		if executor.calls() == 1 { // while it is out, another replica finds its run left alone
			w.over()
			if !w.recover() {
				return actions.Result{}, errors.New("nothing was recovered")
			}
		}
		return succeeds(ctx, key)
	}
	w = newWorld(t, with(executor))
	w.task()
	run := w.mustRun(start(booking, w.approved(book(booking)).ID))
	if run.State != actions.Unknown || run.Reason != actions.Interrupted {
		t.Errorf("the late replica says %s, %s", run.State, run.Reason)
	}
	if events := w.events(); events[audit.ActionUnknown] != 1 || events[audit.ActionExecuted] != 0 {
		t.Errorf("audit log: %v", events)
	}
}

// TestTaskCannotBeTold: the task's part of the end fails. The result stands, the
// answer says failed, and the confirmation is made up for.
func TestTaskCannotBeTold(t *testing.T) {
	t.Parallel()
	executor := &executor{execute: succeeds}
	w := newWorld(t, with(executor))
	w.task()
	w.tasks.set(func(f *tasks) { f.endErr = errors.New("the disk is full") })
	run := w.mustRun(start(booking, w.approved(book(booking)).ID))
	if run.State != actions.Succeeded || run.TaskConfirmation != "failed" || run.Settled || run.Code == "" || run.Receipt == "" {
		t.Errorf("run: %+v", run)
	}
	if diff := cmp.Diff(run, w.stored(run.ID)); diff != "" {
		t.Error(diff)
	}
	if events := w.events(); events[audit.ActionExecuted] != 1 || events[audit.TaskConfirmFailed] != 1 {
		t.Errorf("audit log: %v", events)
	}
	w.over()
	if _, err := w.RecoverStep(t.Context()); err == nil {
		t.Error("the failure is not told")
	}
	w.tasks.set(func(f *tasks) { f.endErr = nil })
	w.over()
	if !w.recover() {
		t.Error("nothing was made up for")
	}
	got := w.stored(run.ID)
	if got.TaskConfirmation != "sent" || !got.Settled || got.Code != run.Code || w.dinner().Status != coordination.Confirmed || executor.calls() != 1 {
		t.Errorf("made up for: %+v, task %s, %d calls", got, w.dinner().Status, executor.calls())
	}
	if w.recover() {
		t.Error("there is more to recover")
	}
}

// TestTaskCannotBeToldOfFailure: what did not succeed owes no confirmation.
func TestTaskCannotBeToldOfFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t, with(&executor{execute: func(context.Context, string) (actions.Result, error) { return actions.Result{}, errors.New("reset") }}))
	w.task()
	w.tasks.set(func(f *tasks) { f.endErr = errors.New("the disk is full") })
	run := w.mustRun(start(booking, w.approved(book(booking)).ID))
	if run.State != actions.Unknown || run.Settled || w.events()[audit.TaskConfirmFailed] != 0 {
		t.Errorf("run %+v, audit log %v", run, w.events())
	}
	w.tasks.set(func(f *tasks) { f.endErr = nil })
	w.over()
	w.recover()
	if got := w.stored(run.ID); !got.Settled || got.TaskConfirmation != "failed" || w.dinner().RunID != "" {
		t.Errorf("made up for: %+v", got)
	}
}

// TestActionNoLongerKnown: a newer node that lacks the action settles what the
// older one left.
func TestActionNoLongerKnown(t *testing.T) {
	t.Parallel()
	for transactions, want := range map[int]actions.Reason{1: actions.PlatformError, 2: actions.Interrupted} {
		w, run, _ := crash(t, transactions, &executor{idempotent: true, execute: succeeds})
		newer := w.restarted(func(c *actions.Config) { c.Executors = nil })
		newer.over()
		newer.recover()
		if got := newer.stored(run.ID); got.Reason != want || !got.Settled {
			t.Errorf("after %d transactions: %s, settled %v, want %s", transactions, got.Reason, got.Settled, want)
		}
	}
}

// TestResultCannotBeStored: the database is away when the executor comes back. An
// executor that is idempotent by key is asked again later.
func TestResultCannotBeStored(t *testing.T) {
	t.Parallel()
	executor := &executor{idempotent: true, execute: succeeds}
	w, run, _ := crash(t, 2, executor)
	if executor.calls() != 1 || w.stored(run.ID).State != actions.Running {
		t.Fatalf("%d calls, run %s", executor.calls(), w.stored(run.ID).State)
	}
	w.over()
	w.recover()
	if got := w.stored(run.ID); got.State != actions.Succeeded || executor.calls() != 2 {
		t.Errorf("run %s, %d calls", got.State, executor.calls())
	}
}

// runnable asks for an approval with onApproval run.
func (w *world) runnable(parameters string) approvals.Approval {
	w.t.Helper()
	ask := book(parameters)
	ask.OnApproval = approvals.Run
	a, err := w.ask(ask)
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// TestRunOnApproval: the node runs the stored request as soon as the owner has
// approved it, and once.
func TestRunOnApproval(t *testing.T) {
	t.Parallel()
	woken := 0
	w := newWorld(t, func(c *actions.Config) { c.Wake = func() { woken++ } })
	w.task()
	a := w.runnable(booking)
	if w.recover() {
		t.Error("it ran before the decision")
	}
	effect, err := w.decide(approvals.Decision{ID: a.ID, Hash: a.Hash, Approve: true})
	if err != nil || effect.Outcome != approvals.OutcomeRunning || woken != 1 {
		t.Fatalf("got %+v, %v, woken %d times", effect, err, woken)
	}
	if !w.recover() || w.recover() {
		t.Error("it did not run once")
	}
	var run actions.Run
	w.do(func(tx node.Tx) (err error) {
		run, err = w.OfApproval(tx, "agent", a.ID)
		return err
	})
	if run.Outcome() != actions.Done || w.dinner().Status != coordination.Confirmed || w.status(a.ID) != approvals.Consumed {
		t.Errorf("run %+v, task %s", run, w.dinner().Status)
	}
}

// TestRunOnApprovalWaits for the acceptance to arrive, and for a run under way.
func TestRunOnApprovalWaits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name         string
		block, clear func(*world)
	}{
		{"acceptance", func(w *world) { w.tasks.set(func(f *tasks) { f.unsettled = true }) }, func(w *world) { w.tasks.set(func(f *tasks) { f.unsettled = false }) }},
		{"in doubt", func(w *world) { w.changeDinner(func(t *coordination.Task) { t.InDoubt = true }) }, func(w *world) { w.changeDinner(func(t *coordination.Task) { t.InDoubt = false }) }},
		{"another run", func(w *world) { w.changeDinner(func(t *coordination.Task) { t.RunID = "other" }) }, func(w *world) { w.changeDinner(func(t *coordination.Task) { t.RunID = "" }) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.task()
			a := w.runnable(booking)
			w.decideOrFail(a, true)
			test.block(w)
			before := w.events()
			if w.recover() || w.status(a.ID) != approvals.Approved {
				t.Errorf("it did not wait: approval %s", w.status(a.ID))
			}
			if diff := cmp.Diff(before, w.events()); diff != "" {
				t.Errorf("waiting has left rows:\n%s", diff)
			}
			test.clear(w)
			if !w.recover() || w.status(a.ID) != approvals.Consumed {
				t.Errorf("it did not run: approval %s", w.status(a.ID))
			}
		})
	}
}

// TestRunOnApprovalDenied: a deny that came after the approval ends it visibly,
// with the approval used up, and is not tried for ever.
func TestRunOnApprovalDenied(t *testing.T) {
	t.Parallel()
	executor := &executor{execute: succeeds}
	w := newWorld(t, with(executor))
	w.task()
	a := w.runnable(booking)
	w.decideOrFail(a, true)
	w.rules.set(policy.GrantDenies)
	w.recover()
	var run actions.Run
	w.do(func(tx node.Tx) (err error) {
		run, err = w.OfApproval(tx, "agent", a.ID)
		return err
	})
	if run.State != actions.Failed || run.Reason != actions.PolicyRefused || run.TaskConfirmation != "failed" || executor.calls() != 0 {
		t.Errorf("run: %+v", run)
	}
	if w.status(a.ID) != approvals.Consumed || w.dinner().RunID != "" || w.recover() || w.events()[audit.ActionFailed] != 1 {
		t.Errorf("approval %s, audit log %v", w.status(a.ID), w.events())
	}
}

// TestRunOnApprovalByTheAgent: the agent may run it too; then the node does not.
func TestRunOnApprovalByTheAgent(t *testing.T) {
	t.Parallel()
	executor := &executor{execute: succeeds}
	w := newWorld(t, with(executor))
	a := w.runnable(aloneBooking)
	w.decideOrFail(a, true)
	w.mustRun(start(aloneBooking, a.ID))
	if w.recover() || executor.calls() != 1 {
		t.Errorf("%d calls", executor.calls())
	}
}

// TestManyReady: more approved runs than fit on a page, the first ones waiting.
func TestManyReady(t *testing.T) {
	t.Parallel()
	executor := &executor{execute: succeeds}
	w := newWorld(t, with(executor))
	w.task()
	w.tasks.set(func(f *tasks) { f.unsettled = true })
	for i := range 70 {
		parameters := aloneBooking
		if i < 60 {
			parameters = booking
		}
		parameters = parameters[:len(parameters)-1] + `,"notes":"` + string(rune('a'+i)) + `"}`
		a := w.runnable(parameters)
		w.decideOrFail(a, true)
	}
	if !w.recover() || executor.calls() != 10 {
		t.Errorf("%d ran, want the 10 that need no task", executor.calls())
	}
	if w.recover() {
		t.Error("it goes on for ever")
	}
}
