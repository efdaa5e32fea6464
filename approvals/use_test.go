package approvals_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/approvals"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/store"
	"agentlink/node/store/storetest"
)

// TestUse is what using an approval of each kind in each status gives.
func TestUse(t *testing.T) {
	t.Parallel()
	want := map[approvals.Status]string{
		approvals.Pending: "conflict approval_pending", approvals.Approved: "", approvals.Rejected: "conflict approval_rejected",
		approvals.Expired: "conflict approval_expired", approvals.Consumed: "conflict approval_used",
	}
	for _, kind := range approvals.Kinds {
		for _, status := range approvals.Statuses {
			t.Run(string(kind)+"/"+string(status), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				a, possible := w.in(kind, status)
				if !possible {
					return
				}
				expected := want[status]
				if kind != approvals.Action {
					expected = "not_found" // only actions are used
				}
				if _, err := w.use(a.ID, a.Parameters); problem(err) != expected {
					t.Errorf("got %v, want %q", err, expected)
				}
			})
		}
	}
}

// TestUseChecks: an approval opens exactly what it was given for.
func TestUseChecks(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		actor      node.Actor
		action     string
		parameters string
		wait       time.Duration
		want       string
	}{
		{"exactly", agent, "reservation.book", string(booking), 0, ""},
		{"written otherwise", agent, "reservation.book", `{"time":"19:30","taskUid":"task","date":"2026-12-04","partySize":4e0,"venue":"Nonna \u003c&> Söhne"}`, 0, ""},
		{"another party size", agent, "reservation.book", `{"venue":"Nonna <&> Söhne","date":"2026-12-04","time":"19:30","partySize":5,"taskUid":"task"}`, 0, "conflict hash_mismatch"},
		{"one parameter more", agent, "reservation.book", `{"venue":"Nonna <&> Söhne","date":"2026-12-04","time":"19:30","partySize":4,"taskUid":"task","notes":""}`, 0, "conflict hash_mismatch"},
		{"without the task", agent, "reservation.book", `{"venue":"Nonna <&> Söhne","date":"2026-12-04","time":"19:30","partySize":4}`, 0, "conflict hash_mismatch"},
		{"another action", agent, "calendar.hold", string(booking), 0, "conflict hash_mismatch"},
		{"unsafe number", agent, "reservation.book", `{"partySize":9007199254740993}`, 0, "bad_request"},
		{"another agent", node.Actor{Kind: node.ActorAgent, OwnerID: "owner", AgentID: "second"}, "reservation.book", string(booking), 0, "not_found"},
		{"another owner", node.Actor{Kind: node.ActorAgent, OwnerID: "other", AgentID: "agent"}, "reservation.book", string(booking), 0, "not_found"},
		{"one microsecond before its end", agent, "reservation.book", string(booking), approvals.DefaultTTL - time.Microsecond, ""},
		{"at its end", agent, "reservation.book", string(booking), approvals.DefaultTTL, "conflict approval_expired"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a, _ := w.in(approvals.Action, approvals.Approved)
			w.clock.Advance(test.wait)
			err := w.try(func(tx node.Tx) error {
				_, err := w.Use(tx, test.actor, a.ID, test.action, json.RawMessage(test.parameters))
				return err
			})
			if problem(err) != test.want {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// TestUseAfterRestore: an approval of an earlier epoch opens nothing.
func TestUseAfterRestore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, _ := w.in(approvals.Action, approvals.Approved)
	restored := w.after(func(c *approvals.Config) { c.Epoch = 2 })
	if _, err := restored.use(a.ID, booking); problem(err) != "conflict approval_expired" {
		t.Errorf("using it gives %v", err)
	}
	if got := restored.approval(a.ID).Status; got != approvals.Expired {
		t.Errorf("shown as %s, want expired", got)
	}
}

// TestUsedOnce is 1,000 uses of one approval at once, spread over two replicas
// where the database allows that: one has it, all others get a clean conflict.
func TestUsedOnce(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, fresh func(t *testing.T) storetest.Database) {
		database := fresh(t)
		first := on(t, database.Open(t))
		replicas := []*world{first, first}
		if t.Name() == "TestUsedOnce/postgres" {
			replicas[1] = on(t, database.Open(t))
		}
		a := first.ask(request(approvals.Action))
		first.must(first.decide(approvals.Decision{ID: a.ID, Hash: a.Hash, Approve: true}))
		got := race(1000, func(i int) string {
			_, err := replicas[i%2].use(a.ID, booking)
			return problem(err)
		})
		if diff := cmp.Diff(map[string]int{"": 1, "conflict approval_used": 999}, got); diff != "" {
			t.Error(diff)
		}
		used := 0
		for _, event := range first.events() {
			if event == audit.ApprovalConsumed {
				used++
			}
		}
		if used != 1 {
			t.Errorf("%d rows say that it was used", used)
		}
	})
}

// TestAskedOnce (S13) is 1,000 equal requests at once: one approval.
func TestAskedOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, open storetest.Opener) {
		w := on(t, open(t))
		got := race(1000, func(int) string {
			a, err := w.tryAsk(request(approvals.Action))
			return problem(err) + a.ID
		})
		if len(got) != 1 {
			t.Errorf("the requests gave %v", got)
		}
	})
}

// TestFloodedAtOnce (S13) is 10,000 different requests at once: MaxPending of them
// wait, and no row is there for any other.
func TestFloodedAtOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, open storetest.Opener) {
		w := on(t, open(t))
		const asked = 10_000
		got := race(asked, func(i int) string {
			r := request(approvals.Action)
			r.Parameters = json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))
			_, err := w.tryAsk(r)
			return problem(err)
		})
		if diff := cmp.Diff(map[string]int{"": approvals.MaxPending, "rate_limited": asked - approvals.MaxPending}, got); diff != "" {
			t.Error(diff)
		}
		w.do(func(tx node.Tx) error {
			rows, err := w.Approvals(tx, approvals.Filter{AgentID: agent.AgentID, Limit: 100})
			if len(rows) != approvals.MaxPending {
				t.Errorf("%d rows", len(rows))
			}
			return err
		})
	})
}

// TestDecidedOnce is 100 decisions at once, yes and no: one counts.
func TestDecidedOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, open storetest.Opener) {
		w := on(t, open(t))
		a := w.ask(request(approvals.Action))
		got := race(100, func(i int) string {
			_, err := w.decide(approvals.Decision{ID: a.ID, Hash: a.Hash, Approve: i%2 == 0})
			return problem(err)
		})
		if diff := cmp.Diff(map[string]int{"": 1, "conflict bad_state": 99}, got); diff != "" {
			t.Error(diff)
		}
	})
}

// race runs f n times at once and counts what it gives.
func race(n int, f func(i int) string) map[string]int {
	var mu sync.Mutex
	counts := map[string]int{}
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			result := f(i)
			mu.Lock()
			defer mu.Unlock()
			counts[result]++
		})
	}
	all.Wait()
	return maps.Clone(counts)
}

var _ approvals.Store = (*store.Store)(nil)
