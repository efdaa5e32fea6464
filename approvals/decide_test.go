package approvals_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlink/approvals"
	"agentlink/node"
	"agentlink/node/audit"
)

// TestDecide is what each decision does to each kind in each status.
func TestDecide(t *testing.T) {
	t.Parallel()
	for _, kind := range approvals.Kinds {
		for _, status := range approvals.Statuses {
			for _, yes := range []bool{true, false} {
				name := string(kind) + "/" + string(status) + "/" + map[bool]string{true: "approve", false: "reject"}[yes]
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					decideIn(t, kind, status, yes)
				})
			}
		}
	}
}

func decideIn(t *testing.T, kind approvals.Kind, status approvals.Status, yes bool) {
	w := newWorld(t)
	a, possible := w.in(kind, status)
	if !possible {
		if status != approvals.Cancelled && kind == approvals.Action {
			t.Error("an action cannot come into this status")
		}
		return
	}
	before := len(w.events())
	w.heard.effect = approvals.Effect{Outcome: approvals.OutcomeQueued}
	effect, err := w.decide(approvals.Decision{ID: a.ID, Hash: a.Hash, Approve: yes, Note: "fine"})
	if status != approvals.Pending {
		want := map[approvals.Status]string{approvals.Expired: "conflict approval_expired"}[status]
		if want == "" {
			want = "conflict bad_state"
		}
		if problem(err) != want || len(w.heard.calls) != 0 || len(w.events()) != before || w.approval(a.ID).Status != status {
			t.Errorf("a decided one gives %v, want %s and no change", err, want)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	event, call := audit.ApprovalApproved, "approved"
	if !yes {
		event, call = audit.ApprovalRejected, "rejected"
	}
	wantStatus := map[bool]approvals.Status{false: approvals.Rejected, true: approvals.Consumed}[yes]
	if yes && kind == approvals.Action {
		wantStatus = approvals.Approved
	}
	after := w.approval(a.ID)
	if after.Status != wantStatus || after.Note != "fine" || !after.DecidedAt.Equal(noon) || after.Damaged {
		t.Errorf("after the decision: %+v", after)
	}
	if diff := cmp.Diff(after, effect.Approval); diff != "" {
		t.Errorf("the effect's approval (-stored +given):\n%s", diff)
	}
	if diff := cmp.Diff([]string{call + " " + string(kind) + " " + string(wantStatus)}, w.heard.calls); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]audit.Type{event}, w.events()[before:]); diff != "" {
		t.Error(diff)
	}
}

// TestDecideChecks: what an owner's word has to fit.
func TestDecideChecks(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		actor  node.Actor
		change func(*approvals.Decision)
		want   string
	}{
		{"as shown", owner, func(*approvals.Decision) {}, ""},
		{"another hash", owner, func(d *approvals.Decision) { d.Hash = strings.Repeat("0", 64) }, "conflict hash_mismatch"},
		{"no hash", owner, func(d *approvals.Decision) { d.Hash = "" }, "conflict hash_mismatch"},
		{"rejecting with another hash", owner, func(d *approvals.Decision) { d.Hash, d.Approve = "x", false }, "conflict hash_mismatch"},
		{"an agent", agent, func(*approvals.Decision) {}, "unauthorized"},
		{"a peer", node.Actor{Kind: node.ActorPeer, OwnerID: "owner"}, func(*approvals.Decision) {}, "unauthorized"},
		{"the node", node.Actor{Kind: node.ActorNode, OwnerID: "owner"}, func(*approvals.Decision) {}, "unauthorized"},
		{"another owner", node.Actor{Kind: node.ActorOwner, OwnerID: "other"}, func(*approvals.Decision) {}, "not_found"},
		{"no such approval", owner, func(d *approvals.Decision) { d.ID = "none" }, "not_found"},
		{"the longest note", owner, func(d *approvals.Decision) { d.Note = strings.Repeat("ü", approvals.MaxNote) }, ""},
		{"a longer note", owner, func(d *approvals.Decision) { d.Note = strings.Repeat("ü", approvals.MaxNote+1) }, "bad_request"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a := w.ask(request(approvals.Message))
			d := approvals.Decision{ID: a.ID, Hash: a.Hash, Approve: true}
			test.change(&d)
			err := w.try(func(tx node.Tx) error {
				_, err := w.Decide(tx, test.actor, d)
				return err
			})
			if problem(err) != test.want {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if pending := w.approval(a.ID).Status == approvals.Pending; pending != (test.want != "") {
				t.Errorf("still pending is %v", pending)
			}
		})
	}
}

// TestCheckFailsAfterApproval: the approval is used up although nothing was sent.
func TestCheckFailsAfterApproval(t *testing.T) {
	t.Parallel()
	for _, kind := range []approvals.Kind{approvals.Message, approvals.Connection} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a := w.ask(request(kind))
			w.heard.effect = approvals.Effect{Outcome: approvals.OutcomeFailed, Code: "stale_version"}
			effect, err := w.decide(approvals.Decision{ID: a.ID, Hash: a.Hash, Approve: true})
			if err != nil || effect.Outcome != approvals.OutcomeFailed || effect.Code != "stale_version" {
				t.Errorf("got %+v, %v", effect, err)
			}
			if got := w.approval(a.ID).Status; got != approvals.Consumed {
				t.Errorf("status is %s, want consumed", got)
			}
		})
	}
}

// TestResolverUndoes: an error of the resolver undoes the decision.
func TestResolverUndoes(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"approved", "rejected"} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a := w.ask(request(approvals.Action))
			w.heard.fails[call] = node.BadFields(node.Field{Field: "word", Problem: "is missing"})
			d := approvals.Decision{ID: a.ID, Hash: a.Hash, Approve: call == "approved", Note: "n"}
			if _, err := w.decide(d); problem(err) != "bad_request" {
				t.Errorf("got %v", err)
			}
			if got := w.approval(a.ID); got.Status != approvals.Pending || got.Note != "" || got.Damaged {
				t.Errorf("the decision was not undone: %+v", got)
			}
			w.heard.fails = nil
			w.must(w.decide(d))
		})
	}
}

// TestOwnersWords: what the owner said to a warning stands in the row.
func TestOwnersWords(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name             string
		decision         approvals.Decision
		override, repeat bool
	}{
		{"nothing", approvals.Decision{}, false, false},
		{"override", approvals.Decision{Override: true}, true, false},
		{"the word", approvals.Decision{Word: "again"}, false, true},
		{"another word", approvals.Decision{Word: "Again"}, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a := w.ask(request(approvals.Action))
			test.decision.ID, test.decision.Hash, test.decision.Approve = a.ID, a.Hash, true
			w.must(w.decide(test.decision))
			if got := w.approval(a.ID); got.Override != test.override || got.Repeat != test.repeat || got.Damaged {
				t.Errorf("override %v, repeat %v", got.Override, got.Repeat)
			}
		})
	}
}

// locker locks first what it will change.
type locker struct {
	*resolver
	order *[]string
}

func (l locker) Lock(node.Tx, approvals.Approval) error {
	*l.order = append(*l.order, "task")
	return nil
}

type noting struct {
	approvals.Store
	order *[]string
}

func (n noting) LockApproval(tx node.Tx, id string) (approvals.Approval, error) {
	*n.order = append(*n.order, "approval")
	return n.Store.LockApproval(tx, id)
}

// TestLockOrder: what a resolver changes is locked before the approval.
func TestLockOrder(t *testing.T) {
	t.Parallel()
	var order []string
	w := newWorld(t, func(c *approvals.Config) { c.Store = noting{c.Store, &order} })
	w.Handle(approvals.Message, locker{w.heard, &order})
	a := w.ask(request(approvals.Message))
	w.must(w.decide(approvals.Decision{ID: a.ID, Hash: a.Hash, Approve: true}))
	b := w.ask(request(approvals.Message))
	w.do(func(tx node.Tx) error { return w.ExpireTask(tx, b.AgentID, b.TaskUID, "", "") })
	if diff := cmp.Diff([]string{"task", "approval", "task", "approval"}, order); diff != "" {
		t.Error(diff)
	}
}
