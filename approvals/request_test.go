package approvals_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/approvals"
	"agentlink/node"
	"agentlink/node/audit"
)

// TestRequest: what an approval of each kind is bound to.
func TestRequest(t *testing.T) {
	t.Parallel()
	for _, kind := range approvals.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			r := request(kind)
			asked := w.ask(r)
			stored := w.approval(asked.ID)
			if diff := cmp.Diff(asked, stored); diff != "" {
				t.Errorf("stored otherwise than given back:\n%s", diff)
			}
			hash, err := w.Hash(r.Action, r.Parameters)
			if err != nil || stored.Hash != hash {
				t.Errorf("hash is %s, want %s (%v)", stored.Hash, hash, err)
			}
			if want := node.MustCanonical(r.Parameters); !bytes.Equal(stored.Parameters, want) {
				t.Errorf("parameters are %s, want %s byte by byte", stored.Parameters, want)
			}
			if want := noon.Add(approvals.DefaultTTL); stored.Status != approvals.Pending || !stored.ExpiresAt.Equal(want) || len(stored.Salt) != 32 {
				t.Errorf("status %s, expires %s, salt %q", stored.Status, stored.ExpiresAt, stored.Salt)
			}
			if want := map[approvals.Kind]approvals.OnApproval{approvals.Action: approvals.Wait}[kind]; stored.OnApproval != want {
				t.Errorf("onApproval is %q, want %q", stored.OnApproval, want)
			}
			if diff := cmp.Diff([]audit.Type{audit.ApprovalRequested}, w.events()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestTTL: the configured life, never beyond what the approval is for.
func TestTTL(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		configured time.Duration
		by         time.Time
		want       time.Duration
	}{
		{"default", 0, time.Time{}, 24 * time.Hour},
		{"configured", time.Hour, time.Time{}, time.Hour},
		{"never beyond the task", time.Hour, noon.Add(time.Minute), time.Minute},
		{"the task lives longer", time.Hour, noon.Add(2 * time.Hour), time.Hour},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(c *approvals.Config) { c.TTL = test.configured })
			r := request(approvals.Action)
			r.ExpiresBy = test.by
			if got := w.ask(r).ExpiresAt.Sub(noon); got != test.want {
				t.Errorf("lives %s, want %s", got, test.want)
			}
		})
	}
}

// TestSameRequest: while an action's request is pending, the same one gives the
// same approval; another, or one after the decision, gives another.
func TestSameRequest(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		kind   approvals.Kind
		change func(*approvals.Request)
		before func(*world, approvals.Approval)
		same   bool
	}{
		{"equal", approvals.Action, func(*approvals.Request) {}, nil, true},
		{"other order and spelling of numbers", approvals.Action, func(r *approvals.Request) {
			r.Parameters = json.RawMessage(`{"taskUid":"task","partySize":4.0,"time":"19:30","date":"2026-12-04","venue":"Nonna <&> S\u00f6hne"}`)
		}, nil, true},
		{"other parameters", approvals.Action, func(r *approvals.Request) { r.Parameters = json.RawMessage(`{}`) }, nil, false},
		{"other action", approvals.Action, func(r *approvals.Request) { r.Action = "calendar.hold" }, nil, false},
		{"other agent", approvals.Action, func(r *approvals.Request) { r.AgentID = "second" }, nil, false},
		{"other accepted proposal", approvals.Action, func(r *approvals.Request) { r.AcceptedDigest = "newer" }, nil, false},
		{"other onApproval", approvals.Action, func(r *approvals.Request) { r.OnApproval = approvals.Run }, nil, false},
		{"messages are each their own", approvals.Message, func(*approvals.Request) {}, nil, false},
		{"connections are each their own", approvals.Connection, func(*approvals.Request) {}, nil, false},
		{"after the decision", approvals.Action, func(*approvals.Request) {}, func(w *world, a approvals.Approval) {
			w.must(w.decide(approvals.Decision{ID: a.ID, Hash: a.Hash, Approve: true}))
		}, false},
		{"after its time", approvals.Action, func(*approvals.Request) {}, func(w *world, _ approvals.Approval) {
			w.clock.Advance(approvals.DefaultTTL)
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			first := w.ask(request(test.kind))
			if test.before != nil {
				test.before(w, first)
			}
			r := request(test.kind)
			test.change(&r)
			if second := w.ask(r); (second.ID == first.ID) != test.same {
				t.Errorf("same approval is %v, want %v", second.ID == first.ID, test.same)
			}
		})
	}
}

// TestSameRequestAfterRestore: one from before a restore is not given again.
func TestSameRequestAfterRestore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.ask(request(approvals.Action))
	restored := w.after(func(c *approvals.Config) { c.Epoch = 2 })
	if second := restored.ask(request(approvals.Action)); second.ID == first.ID || restored.approval(first.ID).Status != approvals.Expired {
		t.Error("the approval of an earlier epoch was given again")
	}
}

// TestFlooding: at most MaxPending wait for one agent; each that ends makes room.
func TestFlooding(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var first approvals.Approval
	for i := range approvals.MaxPending {
		r := request(approvals.Kinds[i%len(approvals.Kinds)])
		r.Parameters = json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))
		if a := w.ask(r); i == 0 {
			first = a
		}
	}
	over := request(approvals.Action)
	if _, err := w.tryAsk(over); problem(err) != "rate_limited" {
		t.Fatalf("one too many gives %v", err)
	}
	again := request(approvals.Action)
	again.Parameters = json.RawMessage(`{"n":2}`)
	if _, err := w.tryAsk(again); err != nil {
		t.Errorf("a request that waits already gives %v", err)
	}
	other := request(approvals.Action)
	other.AgentID = "second"
	if _, err := w.tryAsk(other); err != nil {
		t.Errorf("another agent's request gives %v", err)
	}
	w.must(w.decide(approvals.Decision{ID: first.ID, Hash: first.Hash}))
	if _, err := w.tryAsk(over); err != nil {
		t.Errorf("after a decision: %v", err)
	}
	w.clock.Advance(approvals.DefaultTTL)
	if _, err := w.tryAsk(request(approvals.Message)); err != nil {
		t.Errorf("after all have lapsed, before any is swept: %v", err)
	}
}

// TestAutomatic: a run under an allow grant leaves an approval that is consumed.
func TestAutomatic(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var made approvals.Approval
	w.do(func(tx node.Tx) (err error) {
		made, err = w.Automatic(tx, agent, request(approvals.Action))
		return err
	})
	got := w.approval(made.ID)
	if got.Status != approvals.Consumed || !got.Automatic || got.Damaged || !got.DecidedAt.Equal(noon) {
		t.Errorf("automatic approval: %+v", got)
	}
	if _, err := w.use(made.ID, booking); problem(err) != "conflict approval_used" {
		t.Errorf("using it gives %v", err)
	}
	if diff := cmp.Diff([]audit.Type{audit.ApprovalConsumed}, w.events()); diff != "" {
		t.Error(diff)
	}
}
