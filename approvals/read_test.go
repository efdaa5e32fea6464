package approvals_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/approvals"
	"agentlink/node"
)

// TestApprovals: pending ones soonest expiry first, others newest first, page by page.
func TestApprovals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var ids []string
	for i := range 5 { // each lives shorter than the one before
		r := request(approvals.Action)
		r.Parameters = json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))
		r.ExpiresBy = noon.Add(time.Hour - time.Duration(i)*time.Minute)
		if i == 4 {
			r.AgentID, r.TaskUID = "second", "other"
		}
		ids = append(ids, w.ask(r).ID)
		w.clock.Advance(time.Second)
	}
	for _, id := range ids[:2] {
		a := w.approval(id)
		w.must(w.decide(approvals.Decision{ID: id, Hash: a.Hash, Approve: true}))
	}
	for _, test := range []struct {
		name   string
		filter approvals.Filter
		want   []int
	}{
		{"all", approvals.Filter{}, []int{4, 3, 2, 1, 0}},
		{"pending", approvals.Filter{Status: approvals.Pending}, []int{4, 3, 2}},
		{"approved", approvals.Filter{Status: approvals.Approved}, []int{1, 0}},
		{"rejected", approvals.Filter{Status: approvals.Rejected}, nil},
		{"an agent's", approvals.Filter{AgentID: "agent"}, []int{3, 2, 1, 0}},
		{"an agent's pending", approvals.Filter{AgentID: "second", Status: approvals.Pending}, []int{4}},
		{"a task's", approvals.Filter{TaskUID: "other"}, []int{4}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, limit := range []int{0, 1, 2} {
				test.filter.Limit = limit
				var want []string
				for _, i := range test.want {
					want = append(want, ids[i])
				}
				if diff := cmp.Diff(want, w.pages(test.filter)); diff != "" {
					t.Errorf("pages of %d:\n%s", limit, diff)
				}
			}
		})
	}
}

// pages reads a list to its end.
func (w *world) pages(filter approvals.Filter) (ids []string) {
	w.t.Helper()
	for {
		var page []approvals.Approval
		w.do(func(tx node.Tx) (err error) {
			page, err = w.Approvals(tx, filter)
			return err
		})
		for _, a := range page {
			ids = append(ids, a.ID)
			filter.BeforeAt, filter.BeforeID = a.CreatedAt, a.ID
			if filter.Status == approvals.Pending {
				filter.BeforeAt = a.ExpiresAt
			}
		}
		if len(page) == 0 || filter.Limit == 0 {
			return ids
		}
	}
}

// TestApprovalBelongsToItsAgent: another agent's approval is not there.
func TestApprovalBelongsToItsAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.ask(request(approvals.Action))
	for agentID, want := range map[string]string{"": "", "agent": "", "second": "not_found"} {
		err := w.try(func(tx node.Tx) error {
			_, err := w.Approval(tx, agentID, a.ID)
			return err
		})
		if problem(err) != want {
			t.Errorf("for %q: %v, want %q", agentID, err, want)
		}
	}
}

// TestLapsedIsNotPending: a list of what waits leaves out what can no longer be decided.
func TestLapsedIsNotPending(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ask(request(approvals.Message))
	w.clock.Advance(approvals.DefaultTTL)
	if got := w.pages(approvals.Filter{Status: approvals.Pending}); got != nil {
		t.Errorf("lapsed ones wait: %v", got)
	}
}

// TestReadyToRun: approved actions that the node runs itself, and no others.
func TestReadyToRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := request(approvals.Action)
	r.OnApproval = approvals.Run
	toRun := w.ask(r)
	waiting, _ := w.in(approvals.Action, approvals.Approved)
	ready := func() (ids []string) {
		w.do(func(tx node.Tx) error {
			list, err := w.ReadyToRun(tx, "", 10)
			for _, a := range list {
				ids = append(ids, a.ID)
			}
			return err
		})
		return ids
	}
	if got := ready(); got != nil {
		t.Errorf("before the decision: %v (the agent runs %s)", got, waiting.ID)
	}
	w.must(w.decide(approvals.Decision{ID: toRun.ID, Hash: toRun.Hash, Approve: true}))
	if diff := cmp.Diff([]string{toRun.ID}, ready()); diff != "" {
		t.Error(diff)
	}
	w.clock.Advance(approvals.DefaultTTL)
	if got := ready(); got != nil {
		t.Errorf("after its time: %v", got)
	}
}
