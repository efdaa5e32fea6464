package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/approvals"
	"agentlink/node"
	"agentlink/node/store"
)

// Approvals tests how approvals are kept.
func Approvals(t *testing.T, open func(t *testing.T) *store.Store) {
	for name, test := range map[string]func(*testing.T, *store.Store){
		"an approval comes back":   approvalComesBack,
		"the same request once":    sameRequestOnce,
		"the same request at once": sameRequestAtOnce,
		"saved while open":         approvalSaved,
		"expired":                  approvalExpired,
		"what may stand in a row":  approvalChecks,
		"pending are counted":      pendingCounted,
		"one request at a time":    oneRequestAtATime,
		"lists":                    approvalLists,
		"open for a task":          openForTask,
		"overdue":                  overdueApprovals,
		"ready to run":             readyApprovals,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// approval is a pending one that lives an hour; n tells several apart.
func approval(now time.Time, n int, change ...func(*approvals.Approval)) approvals.Approval {
	a := approvals.Approval{
		ID: fmt.Sprintf("a%03d", n), OwnerID: "owner", AgentID: "agent", Kind: approvals.Action, Action: "reservation.book",
		ConnectionID: "connection", Contact: "bob@b.example", TaskUID: "task", Subject: "",
		Parameters: json.RawMessage(`{"venue":"Nonna <&>   Söhne"}`), Hash: fmt.Sprintf("%064d", n),
		Held: map[string]string{"action.reservation.book": "grant_asks"}, AcceptedDigest: "digest", OnApproval: approvals.Wait,
		Status: approvals.Pending, Salt: strings.Repeat("0", 32), Epoch: 3, CreatedAt: now, ExpiresAt: now.Add(time.Hour), MAC: "mac",
	}
	for _, f := range change {
		f(&a)
	}
	return a
}

// insertApprovals writes some, made at the transaction's time.
func insertApprovals(t *testing.T, s *store.Store, count int, change func(n int, a *approvals.Approval)) (list []approvals.Approval) {
	t.Helper()
	inTx(t, s, func(tx node.Tx) error {
		list = nil
		for n := range count {
			a := approval(tx.Now(), n, func(a *approvals.Approval) { change(n, a) })
			list = append(list, a)
			if fresh, err := s.InsertApproval(tx, a); err != nil || !fresh {
				t.Errorf("approval %d: fresh %v, %v", n, fresh, err)
				return err
			}
		}
		return nil
	})
	return list
}

func approvalComesBack(t *testing.T, s *store.Store) {
	want := insertApprovals(t, s, 3, func(n int, a *approvals.Approval) {
		switch n {
		case 1: // everything that can be empty is
			*a = approvals.Approval{
				ID: a.ID, OwnerID: a.OwnerID, AgentID: a.AgentID, Kind: approvals.Message, Action: "message.send", Subject: "message",
				Parameters: json.RawMessage(`null`), Hash: a.Hash, Held: map[string]string{}, Status: approvals.Pending,
				CreatedAt: a.CreatedAt, ExpiresAt: a.ExpiresAt,
			}
		case 2:
			a.Status, a.Automatic, a.Override, a.Repeat, a.DecidedAt = approvals.Consumed, true, true, true, a.CreatedAt
		}
	})
	for _, a := range want {
		for name, read := range map[string]func(node.Tx, string) (approvals.Approval, error){"Approval": s.Approval, "LockApproval": s.LockApproval} {
			inTx(t, s, func(tx node.Tx) error {
				got, err := read(tx, a.ID)
				if diff := cmp.Diff(a, got); diff != "" {
					t.Errorf("%s:\n%s", name, diff)
				}
				_, none := read(tx, "none")
				wantCode(t, none, node.NotFound)
				return err
			})
		}
	}
}

func sameRequestOnce(t *testing.T, s *store.Store) {
	first := insertApprovals(t, s, 1, func(int, *approvals.Approval) {})[0]
	for name, test := range map[string]struct {
		change func(*approvals.Approval)
		fresh  bool
	}{
		"equal":             {func(*approvals.Approval) {}, false},
		"another agent":     {func(a *approvals.Approval) { a.AgentID = "second" }, true},
		"another action":    {func(a *approvals.Approval) { a.Action = "calendar.hold" }, true},
		"other parameters":  {func(a *approvals.Approval) { a.Hash = strings.Repeat("f", 64) }, true},
		"another agreement": {func(a *approvals.Approval) { a.AcceptedDigest = "other" }, true},
		"run by the node":   {func(a *approvals.Approval) { a.OnApproval = approvals.Run }, true},
		"a message":         {func(a *approvals.Approval) { a.Kind, a.OnApproval = approvals.Message, "" }, true},
		"one that was used": {func(a *approvals.Approval) { a.Status, a.DecidedAt = approvals.Consumed, a.CreatedAt }, true},
	} {
		inTx(t, s, func(tx node.Tx) error {
			next := first
			next.ID = "next " + name
			test.change(&next)
			fresh, err := s.InsertApproval(tx, next)
			if fresh != test.fresh {
				t.Errorf("%s: fresh is %v", name, fresh)
			}
			if !test.fresh {
				met, err := s.SamePending(tx, next)
				if err != nil || met.ID != first.ID {
					t.Errorf("%s: met %s, %v", name, met.ID, err)
				}
			}
			return err
		})
	}
	inTx(t, s, func(tx node.Tx) error {
		first.Hash = strings.Repeat("e", 64)
		_, err := s.SamePending(tx, first)
		wantCode(t, err, node.NotFound)
		return nil
	})
}

func sameRequestAtOnce(t *testing.T, s *store.Store) {
	var mu sync.Mutex
	var all sync.WaitGroup
	fresh := 0
	for n := range 50 {
		all.Go(func() {
			inTx(t, s, func(tx node.Tx) error {
				was, err := s.InsertApproval(tx, approval(tx.Now(), n, func(a *approvals.Approval) { a.Hash = strings.Repeat("1", 64) }))
				if was {
					mu.Lock()
					defer mu.Unlock()
					fresh++
				}
				return err
			})
		})
	}
	all.Wait()
	if fresh != 1 {
		t.Errorf("%d of the same request wait", fresh)
	}
}

// approvalSaved: the guard of an UPDATE is the status that it comes from, and its time.
func approvalSaved(t *testing.T, s *store.Store) {
	for name, test := range map[string]struct {
		from  approvals.Status
		lives time.Duration
		code  node.Code
	}{
		"pending":               {approvals.Pending, time.Hour, ""},
		"no longer pending":     {approvals.Approved, time.Hour, node.Conflict},
		"past its time":         {approvals.Pending, -time.Microsecond, node.Conflict},
		"exactly past its time": {approvals.Pending, 0, node.Conflict},
	} {
		t.Run(name, func(t *testing.T) {
			inTx(t, s, func(tx node.Tx) error {
				a := approval(tx.Now(), 0, func(a *approvals.Approval) {
					a.ID, a.AgentID, a.ExpiresAt = name, name, tx.Now().Add(test.lives)
				})
				if _, err := s.InsertApproval(tx, a); err != nil {
					return err
				}
				changed := a
				changed.Status, changed.Note, changed.Override, changed.Repeat, changed.DecidedAt, changed.MAC = approvals.Approved, "ja", true, true, tx.Now(), "new"
				err := s.SaveApproval(tx, changed, test.from)
				want := changed
				if test.code != "" {
					wantCode(t, err, test.code)
					want, err = a, nil
				}
				got, missing := s.Approval(tx, a.ID)
				if diff := cmp.Diff(want, got); diff != "" || missing != nil {
					t.Errorf("%v:\n%s", missing, diff)
				}
				return err
			})
		})
	}
}

func approvalExpired(t *testing.T, s *store.Store) {
	a := insertApprovals(t, s, 1, func(int, *approvals.Approval) {})[0]
	inTx(t, s, func(tx node.Tx) error {
		a.Status, a.MAC = approvals.Expired, "new"
		wantCode(t, s.ExpireApproval(tx, a, approvals.Approved), node.Conflict)
		if err := s.ExpireApproval(tx, a, approvals.Pending); err != nil {
			return err
		}
		wantCode(t, s.ExpireApproval(tx, a, approvals.Expired), node.Conflict)
		got, err := s.Approval(tx, a.ID)
		if diff := cmp.Diff(a, got); diff != "" {
			t.Error(diff)
		}
		return err
	})
}

// approvalChecks: the database repeats what an approval can be.
func approvalChecks(t *testing.T, s *store.Store) {
	for name, change := range map[string]func(*approvals.Approval){
		"unknown status":     func(a *approvals.Approval) { a.Status = "granted" },
		"unknown kind":       func(a *approvals.Approval) { a.Kind = "payment" },
		"unknown onApproval": func(a *approvals.Approval) { a.OnApproval = "later" },
		"an approved message": func(a *approvals.Approval) {
			a.Kind, a.OnApproval, a.Status = approvals.Message, "", approvals.Approved
		},
		"a message that runs":       func(a *approvals.Approval) { a.Kind = approvals.Message },
		"an action that does not":   func(a *approvals.Approval) { a.OnApproval = "" },
		"a short hash":              func(a *approvals.Approval) { a.Hash = "abc" },
		"used without a decision":   func(a *approvals.Approval) { a.Status = approvals.Consumed },
		"approved without decision": func(a *approvals.Approval) { a.Status = approvals.Approved },
	} {
		err := s.InTx(t.Context(), func(tx node.Tx) error {
			_, err := s.InsertApproval(tx, approval(tx.Now(), 1, change))
			return err
		})
		if err == nil {
			t.Errorf("%s: was written", name)
		}
	}
}

func pendingCounted(t *testing.T, s *store.Store) {
	insertApprovals(t, s, 6, func(n int, a *approvals.Approval) {
		switch n {
		case 1:
			a.Status, a.DecidedAt = approvals.Approved, a.CreatedAt
		case 2:
			a.ExpiresAt = a.CreatedAt
		case 3:
			a.Epoch = 2
		case 4:
			a.AgentID = "second"
		}
	})
	inTx(t, s, func(tx node.Tx) error {
		for agentID, want := range map[string]int{"agent": 2, "second": 1, "": 3, "nobody": 0} {
			count, err := s.CountPending(tx, agentID, 3)
			if err != nil {
				return err
			}
			if count != want {
				t.Errorf("%d are pending for %q, want %d", count, agentID, want)
			}
		}
		return nil
	})
}

// oneRequestAtATime: of two transactions that ask for one agent the second waits
// for the first to end.
func oneRequestAtATime(t *testing.T, s *store.Store) {
	var mu sync.Mutex
	var all sync.WaitGroup
	inside, most := 0, 0
	for range 10 {
		all.Go(func() {
			inTx(t, s, func(tx node.Tx) error {
				if err := s.LockRequests(tx, "agent"); err != nil {
					return err
				}
				mu.Lock()
				inside++
				most = max(most, inside)
				mu.Unlock()
				time.Sleep(time.Millisecond)
				mu.Lock()
				inside--
				mu.Unlock()
				return nil
			})
		})
	}
	all.Wait()
	if most != 1 {
		t.Errorf("%d asked at once", most)
	}
}

func approvalLists(t *testing.T, s *store.Store) {
	insertApprovals(t, s, 6, func(n int, a *approvals.Approval) {
		a.CreatedAt = a.CreatedAt.Add(time.Duration(n) * time.Second)
		a.ExpiresAt = a.CreatedAt.Add(time.Hour - time.Duration(n)*time.Minute)
		switch n {
		case 1:
			a.Status, a.DecidedAt = approvals.Approved, a.CreatedAt
		case 2:
			a.Status, a.DecidedAt, a.AgentID = approvals.Consumed, a.CreatedAt, "second"
		case 3:
			a.ExpiresAt = a.CreatedAt.Add(-time.Hour) // over, and not swept yet
		case 4:
			a.Epoch, a.TaskUID = 2, "other"
		}
	})
	for name, test := range map[string]struct {
		filter approvals.Filter
		want   []string
	}{
		"all":              {approvals.Filter{Limit: 10}, []string{"a005", "a004", "a003", "a002", "a001", "a000"}},
		"a page":           {approvals.Filter{Limit: 2}, []string{"a005", "a004"}},
		"pending":          {approvals.Filter{Limit: 10, Status: approvals.Pending}, []string{"a005", "a000"}},
		"approved":         {approvals.Filter{Limit: 10, Status: approvals.Approved}, []string{"a001"}},
		"consumed":         {approvals.Filter{Limit: 10, Status: approvals.Consumed}, []string{"a002"}},
		"an agent's":       {approvals.Filter{Limit: 10, AgentID: "second"}, []string{"a002"}},
		"a task's":         {approvals.Filter{Limit: 10, TaskUID: "other"}, []string{"a004"}},
		"nothing so":       {approvals.Filter{Limit: 10, TaskUID: "other", Status: approvals.Rejected}, nil},
		"a whole page too": {approvals.Filter{Limit: 1, AgentID: "agent", Status: approvals.Pending}, []string{"a005"}},
	} {
		inTx(t, s, func(tx node.Tx) error {
			list, err := s.Approvals(tx, test.filter, 3)
			if diff := cmp.Diff(test.want, approvalIDs(list)); diff != "" {
				t.Errorf("%s:\n%s", name, diff)
			}
			return err
		})
	}
	inTx(t, s, func(tx node.Tx) error {
		newest, err := s.Approvals(tx, approvals.Filter{Limit: 3}, 3)
		if err != nil {
			return err
		}
		last := newest[len(newest)-1]
		older, err := s.Approvals(tx, approvals.Filter{Limit: 3, BeforeAt: last.CreatedAt, BeforeID: last.ID}, 3)
		if diff := cmp.Diff([]string{"a002", "a001", "a000"}, approvalIDs(older)); diff != "" {
			t.Errorf("the next page:\n%s", diff)
		}
		return err
	})
}

func approvalIDs(list []approvals.Approval) (ids []string) {
	for _, a := range list {
		ids = append(ids, a.ID)
	}
	return ids
}

func openForTask(t *testing.T, s *store.Store) {
	insertApprovals(t, s, 6, func(n int, a *approvals.Approval) {
		switch n {
		case 1:
			a.Status, a.DecidedAt = approvals.Approved, a.CreatedAt
		case 2:
			a.Status, a.DecidedAt = approvals.Rejected, a.CreatedAt
		case 3:
			a.TaskUID = "other"
		case 4:
			a.AgentID = "second"
		case 5:
			a.Kind, a.OnApproval, a.Action = approvals.Message, "", "task.propose"
		}
	})
	inTx(t, s, func(tx node.Tx) error {
		all, err := s.OpenOfTask(tx, "agent", "task", "")
		if diff := cmp.Diff([]string{"a000", "a001", "a005"}, all); diff != "" || err != nil {
			t.Errorf("%v:\n%s", err, diff)
		}
		booking, err := s.OpenOfTask(tx, "agent", "task", "reservation.book")
		if diff := cmp.Diff([]string{"a000", "a001"}, booking); diff != "" {
			t.Error(diff)
		}
		return err
	})
}

func overdueApprovals(t *testing.T, s *store.Store) {
	insertApprovals(t, s, 6, func(n int, a *approvals.Approval) {
		switch n {
		case 1:
			a.ExpiresAt = a.CreatedAt.Add(-time.Minute)
		case 2:
			a.ExpiresAt, a.Status, a.DecidedAt = a.CreatedAt.Add(-2*time.Minute), approvals.Approved, a.CreatedAt
		case 3:
			a.ExpiresAt, a.Status, a.DecidedAt = a.CreatedAt, approvals.Consumed, a.CreatedAt
		case 4:
			a.Epoch = 2
		}
	})
	inTx(t, s, func(tx node.Tx) error {
		all, err := s.Overdue(tx, 3, 10)
		if diff := cmp.Diff([]string{"a002", "a001", "a004"}, all); diff != "" || err != nil {
			t.Errorf("%v:\n%s", err, diff)
		}
		some, err := s.Overdue(tx, 3, 1)
		if diff := cmp.Diff([]string{"a002"}, some); diff != "" {
			t.Error(diff)
		}
		return err
	})
}

func readyApprovals(t *testing.T, s *store.Store) {
	insertApprovals(t, s, 6, func(n int, a *approvals.Approval) {
		a.OnApproval, a.Status, a.DecidedAt = approvals.Run, approvals.Approved, a.CreatedAt
		switch n {
		case 1:
			a.OnApproval = approvals.Wait
		case 2:
			a.Status, a.DecidedAt = approvals.Pending, time.Time{}
		case 3:
			a.ExpiresAt = a.CreatedAt
		case 4:
			a.Epoch = 2
		}
	})
	inTx(t, s, func(tx node.Tx) error {
		all, err := s.ReadyToRun(tx, 3, "", 10)
		if diff := cmp.Diff([]string{"a000", "a005"}, approvalIDs(all)); diff != "" || err != nil {
			t.Errorf("%v:\n%s", err, diff)
		}
		rest, err := s.ReadyToRun(tx, 3, "a000", 10)
		if diff := cmp.Diff([]string{"a005"}, approvalIDs(rest)); diff != "" {
			t.Error(diff)
		}
		return err
	})
}
