package approvals_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/approvals"
	"agentlink/node"
	"agentlink/node/audit"
)

// TestExpire: an approval of each kind that is still open ends with its time; its
// message or connection hears of it once. Nothing else changes.
func TestExpire(t *testing.T) {
	t.Parallel()
	for _, kind := range approvals.Kinds {
		for _, status := range approvals.Statuses {
			t.Run(string(kind)+"/"+string(status), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				a, possible := w.in(kind, status)
				if !possible {
					return
				}
				before := len(w.events())
				w.clock.Advance(approvals.DefaultTTL)
				w.sweep()
				w.sweep()
				want, calls, events := status, []string(nil), []audit.Type{}
				if status.Open() {
					want, calls, events = approvals.Expired, []string{"expired " + string(kind) + " expired"}, []audit.Type{audit.ApprovalExpired}
				}
				got := w.approval(a.ID)
				if got.Status != want || got.Damaged {
					t.Errorf("status is %s, want %s", got.Status, want)
				}
				if diff := cmp.Diff(calls, w.heard.calls); diff != "" {
					t.Error(diff)
				}
				if diff := cmp.Diff(events, w.events()[before:]); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func (w *world) sweep() (more bool) {
	w.t.Helper()
	more, err := w.ExpireStep(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return more
}

// TestNotBeforeItsTime: now ≥ ExpiresAt is over, and not a moment earlier. It is
// shown as expired before anything has swept it.
func TestNotBeforeItsTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.ask(request(approvals.Message))
	w.clock.Advance(approvals.DefaultTTL - time.Microsecond)
	w.sweep()
	if got := w.approval(a.ID).Status; got != approvals.Pending {
		t.Fatalf("one microsecond before: %s", got)
	}
	w.clock.Advance(time.Microsecond)
	if got := w.approval(a.ID).Status; got != approvals.Expired {
		t.Errorf("unswept it is shown as %s", got)
	}
	if _, err := w.decide(approvals.Decision{ID: a.ID, Hash: a.Hash, Approve: true}); problem(err) != "conflict approval_expired" {
		t.Errorf("unswept it can be decided: %v", err)
	}
	if len(w.heard.calls) != 0 {
		t.Errorf("reading has told somebody: %v", w.heard.calls)
	}
}

// TestRestore: a restore expires every open approval of before.
func TestRestore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.ask(request(approvals.Message))
	approved, _ := w.in(approvals.Action, approvals.Approved)
	restored := w.after(func(c *approvals.Config) { c.Epoch = 2 })
	young := restored.ask(request(approvals.Message))
	if _, err := restored.decide(approvals.Decision{ID: old.ID, Hash: old.Hash, Approve: true}); problem(err) != "conflict approval_expired" {
		t.Errorf("deciding an old one gives %v", err)
	}
	restored.sweep()
	for id, want := range map[string]approvals.Status{old.ID: approvals.Expired, approved.ID: approvals.Expired, young.ID: approvals.Pending} {
		if got := restored.approval(id).Status; got != want {
			t.Errorf("%s is %s, want %s", id, got, want)
		}
	}
}

// TestExpireTask: what is open for a task ends with it; D9.
func TestExpireTask(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name             string
		agent, task      string
		action           string
		butBooking       bool
		message, booking approvals.Status
	}{
		{"all of it", "agent", "task", "", false, approvals.Expired, approvals.Expired},
		{"one action", "agent", "task", "reservation.book", false, approvals.Pending, approvals.Expired},
		{"one action but one", "agent", "task", "reservation.book", true, approvals.Pending, approvals.Approved},
		{"all but one", "agent", "task", "", true, approvals.Expired, approvals.Approved},
		{"another task", "agent", "other", "", false, approvals.Pending, approvals.Approved},
		{"another agent's task", "second", "task", "", false, approvals.Pending, approvals.Approved},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			message := w.ask(request(approvals.Message))
			action, _ := w.in(approvals.Action, approvals.Approved)
			later := w.ask(request(approvals.Connection))
			but := ""
			if test.butBooking {
				but = action.ID
			}
			w.do(func(tx node.Tx) error { return w.ExpireTask(tx, test.agent, test.task, test.action, but) })
			for _, a := range []approvals.Approval{message, later} {
				if got := w.approval(a.ID).Status; got != test.message {
					t.Errorf("the %s approval is %s, want %s", a.Kind, got, test.message)
				}
			}
			if got := w.approval(action.ID).Status; got != test.booking {
				t.Errorf("action approval is %s, want %s", got, test.booking)
			}
		})
	}
}

// TestWithdraw ends one open approval and leaves an ended one as it is.
func TestWithdraw(t *testing.T) {
	t.Parallel()
	for _, status := range []approvals.Status{approvals.Pending, approvals.Approved, approvals.Rejected, approvals.Consumed} {
		t.Run(string(status), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a, _ := w.in(approvals.Action, status)
			w.do(func(tx node.Tx) error { return w.Withdraw(tx, a.ID) })
			want := status
			if status.Open() {
				want = approvals.Expired
			}
			if got := w.approval(a.ID).Status; got != want {
				t.Errorf("status is %s, want %s", got, want)
			}
			if err := w.try(func(tx node.Tx) error { return w.Withdraw(tx, "none") }); problem(err) != "not_found" {
				t.Errorf("one that is not there: %v", err)
			}
		})
	}
}

// TestOneFailureKeepsNoOther: an approval that cannot be expired keeps no other.
func TestOneFailureKeepsNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bad := w.ask(request(approvals.Message))
	w.Handle(approvals.Message, &resolver{fails: map[string]error{"expired": errResolver}})
	good := w.ask(request(approvals.Connection))
	w.clock.Advance(approvals.DefaultTTL)
	if _, err := w.ExpireStep(t.Context()); err == nil {
		t.Error("the failure is not told")
	}
	w.Handle(approvals.Message, w.heard)
	stored := func(id string) (a approvals.Approval) {
		w.do(func(tx node.Tx) (err error) {
			a, err = w.store.Approval(tx, id)
			return err
		})
		return a
	}
	if stored(good.ID).Status != approvals.Expired || stored(bad.ID).Status != approvals.Pending {
		t.Errorf("good %s, bad %s", stored(good.ID).Status, stored(bad.ID).Status)
	}
	w.sweep()
	if got := stored(bad.ID).Status; got != approvals.Expired {
		t.Errorf("after the repair it is %s", got)
	}
}

// TestExpireInBatches: a step is bounded and says that there is more.
func TestExpireInBatches(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 120 {
		r := request(approvals.Action)
		r.AgentID = fmt.Sprintf("agent %d", i/40)
		r.Parameters = json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))
		w.ask(r)
	}
	w.clock.Advance(approvals.DefaultTTL)
	if !w.sweep() || len(w.heard.calls) != 100 {
		t.Errorf("the first step expired %d", len(w.heard.calls))
	}
	if w.sweep() || len(w.heard.calls) != 120 {
		t.Errorf("after the second step %d are expired", len(w.heard.calls))
	}
}

// TestAFailingBatchIsNotRepeated: a whole batch that fails is not begun again at
// once, for it would fail again; one that gets something done is.
func TestAFailingBatchIsNotRepeated(t *testing.T) {
	t.Parallel()
	for name, allFail := range map[string]bool{"all fail": true, "all but one fail": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.Handle(approvals.Message, &resolver{fails: map[string]error{"expired": errResolver}})
			if !allFail {
				w.ask(request(approvals.Connection))
				w.clock.Advance(time.Second)
			}
			for i := range 120 {
				r := request(approvals.Message)
				r.AgentID, r.Subject = fmt.Sprintf("agent %d", i/40), fmt.Sprint(i)
				w.ask(r)
			}
			w.clock.Advance(approvals.DefaultTTL)
			more, err := w.ExpireStep(t.Context())
			if more == allFail || err == nil {
				t.Errorf("more is %v, err %v", more, err)
			}
		})
	}
}

// TestDamagedStaysDamaged: expiring a row that was tampered with does not make it
// look whole, and does not fail for ever over what it names.
func TestDamagedStaysDamaged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.ask(request(approvals.Action))
	broken := w.after(func(c *approvals.Config) {
		c.Store = tampering{c.Store, func(a *approvals.Approval) { a.Subject = "another" }}
	})
	w.clock.Advance(approvals.DefaultTTL)
	broken.heard.fails["expired"] = node.Errorf(node.NotFound, "There is no such message.")
	broken.sweep()
	if got := broken.approval(a.ID); got.Status != approvals.Expired || !got.Damaged {
		t.Errorf("status %s, damaged %v", got.Status, got.Damaged)
	}
}

// TestOnlyDamagedRowsNameNothing: that what an approval names is not there is
// passed over for a row that was tampered with, and for nothing else.
func TestOnlyDamagedRowsNameNothing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		damaged bool
		err     error
		fails   bool
	}{
		"whole, not there":    {false, node.Errorf(node.NotFound, "There is no such message."), true},
		"whole, broken":       {false, errResolver, true},
		"damaged, not there":  {true, node.Errorf(node.NotFound, "There is no such message."), false},
		"damaged, and broken": {true, errResolver, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.ask(request(approvals.Message))
			w.clock.Advance(approvals.DefaultTTL)
			swept := w.after(func(c *approvals.Config) {
				c.Store = tampering{c.Store, func(a *approvals.Approval) {
					if test.damaged {
						a.Subject = "another"
					}
				}}
			})
			swept.heard.fails["expired"] = test.err
			if _, err := swept.ExpireStep(t.Context()); (err != nil) != test.fails {
				t.Errorf("the step says %v", err)
			}
		})
	}
}
