package storetest

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/actions"
	"agentlink/node"
	"agentlink/node/store"
)

// Actions tests how runs are kept.
func Actions(t *testing.T, open func(t *testing.T) *store.Store) {
	for name, test := range map[string]func(*testing.T, *store.Store){
		"a run comes back":          runComesBack,
		"reserved once":             reservedOnce,
		"found":                     runsFound,
		"the last run of a task":    lastRun,
		"saved by its holder":       runSaved,
		"what may stand in a row":   runChecks,
		"claimed when left alone":   runClaimed,
		"claimed once":              runClaimedOnce,
		"the longest waiting first": runsClaimedInOrder,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// run is a reserved one whose lease lasts a minute; n tells several apart.
func run(now time.Time, n int, change ...func(*actions.Run)) actions.Run {
	r := actions.Run{
		ID: fmt.Sprintf("r%03d", n), OwnerID: "owner", AgentID: "agent", Action: "reservation.book",
		Parameters: json.RawMessage(`{"venue":"Nonna <&>   Söhne"}`), ParamsHash: fmt.Sprintf("%064d", n), TaskUID: "task",
		ApprovalID: fmt.Sprintf("a%03d", n), State: actions.Reserved, Reason: actions.InRun, Salt: "salt", ReservedAt: now,
		LeaseToken: "lease", LeaseUntil: now.Add(time.Minute),
	}
	for _, f := range change {
		f(&r)
	}
	return r
}

func insertRuns(t *testing.T, s *store.Store, count int, change func(n int, r *actions.Run)) (list []actions.Run) {
	t.Helper()
	inTx(t, s, func(tx node.Tx) error {
		list = nil
		for n := range count {
			r := run(tx.Now(), n, func(r *actions.Run) { change(n, r) })
			if fresh, err := s.InsertRun(tx, r); err != nil || !fresh {
				t.Errorf("run %d: fresh %v, %v", n, fresh, err)
				return err
			}
			r.Key = "" // kept as its hash
			list = append(list, r)
		}
		return nil
	})
	return list
}

func wantRun(t *testing.T, want, got actions.Run, err error) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v:\n%s", err, diff)
	}
}

func runComesBack(t *testing.T, s *store.Store) {
	for _, want := range insertRuns(t, s, 2, func(n int, r *actions.Run) {
		if n == 1 { // with and without everything
			r.TaskUID, r.Automatic, r.Repeat, r.Key = "", true, true, "key"
			r.State, r.Reason, r.FinishedAt, r.Settled = actions.Failed, actions.PolicyRefused, r.ReservedAt, true
		}
	}) {
		inTx(t, s, func(tx node.Tx) error {
			got, err := s.Run(tx, want.ID)
			wantRun(t, want, got, err)
			return nil
		})
	}
}

// reservedOnce: one run for each approval, and one for each key of an agent.
func reservedOnce(t *testing.T, s *store.Store) {
	insertRuns(t, s, 2, func(n int, r *actions.Run) {
		if n == 0 {
			r.Key = "key"
		}
	})
	for name, test := range map[string]struct {
		change func(*actions.Run)
		fresh  bool
	}{
		"another run":           {func(*actions.Run) {}, true},
		"the same approval":     {func(r *actions.Run) { r.ApprovalID = "a000" }, false},
		"the same key":          {func(r *actions.Run) { r.Key = "key" }, false},
		"another agent's key":   {func(r *actions.Run) { r.Key, r.AgentID = "key", "second" }, true},
		"another key":           {func(r *actions.Run) { r.Key = "other" }, true},
		"both without any key":  {func(*actions.Run) {}, true},
		"the same id of course": {func(r *actions.Run) { r.ID = "r000" }, false},
	} {
		inTx(t, s, func(tx node.Tx) error {
			next := run(tx.Now(), 500)
			next.ID, next.ApprovalID = "run of "+name, "approval of "+name
			test.change(&next)
			fresh, err := s.InsertRun(tx, next)
			if fresh != test.fresh {
				t.Errorf("%s: fresh is %v", name, fresh)
			}
			return err
		})
	}
}

func runsFound(t *testing.T, s *store.Store) {
	want := insertRuns(t, s, 2, func(n int, r *actions.Run) { r.Key = fmt.Sprintf("key %d", n) })
	inTx(t, s, func(tx node.Tx) error {
		byKey, err := s.RunByKey(tx, "agent", "key 1")
		wantRun(t, want[1], byKey, err)
		byApproval, err := s.RunByApproval(tx, "a001")
		wantRun(t, want[1], byApproval, err)
		for name, find := range map[string]func() (actions.Run, error){
			"id":                  func() (actions.Run, error) { return s.Run(tx, "none") },
			"key":                 func() (actions.Run, error) { return s.RunByKey(tx, "agent", "none") },
			"no key":              func() (actions.Run, error) { return s.RunByKey(tx, "agent", "") },
			"another agent's key": func() (actions.Run, error) { return s.RunByKey(tx, "second", "key 1") },
			"approval":            func() (actions.Run, error) { return s.RunByApproval(tx, "none") },
		} {
			if _, err := find(); node.CodeOf(err) != node.NotFound {
				t.Errorf("by %s: %v", name, err)
			}
		}
		return nil
	})
}

// lastRun is the latest that wrote something or may have.
func lastRun(t *testing.T, s *store.Store) {
	want := insertRuns(t, s, 6, func(n int, r *actions.Run) {
		r.ReservedAt = r.ReservedAt.Add(time.Duration(n) * time.Second)
		switch n {
		case 2:
			r.State, r.FinishedAt = actions.Failed, r.ReservedAt
		case 3:
			r.TaskUID = "other"
		case 4:
			r.AgentID = "second"
		case 5:
			r.Action = "calendar.hold"
		}
	})
	inTx(t, s, func(tx node.Tx) error {
		got, err := s.LastRun(tx, "agent", "task", "reservation.book")
		wantRun(t, want[1], got, err)
		_, err = s.LastRun(tx, "agent", "none", "reservation.book")
		wantCode(t, err, node.NotFound)
		return nil
	})
}

// runSaved: the guard of an UPDATE is the state that it comes from and the lease.
func runSaved(t *testing.T, s *store.Store) {
	for name, test := range map[string]struct {
		change func(*actions.Run)
		from   actions.State
		held   bool
	}{
		"its holder":    {func(*actions.Run) {}, actions.Reserved, true},
		"another state": {func(*actions.Run) {}, actions.Running, false},
		"another lease": {func(r *actions.Run) { r.LeaseToken = "other" }, actions.Reserved, false},
	} {
		inTx(t, s, func(tx node.Tx) error {
			r := run(tx.Now(), 0, func(r *actions.Run) { r.ID, r.ApprovalID = name, name })
			if _, err := s.InsertRun(tx, r); err != nil {
				return err
			}
			changed := r
			changed.State, changed.Reason, changed.Simulated, changed.TaskConfirmation, changed.Settled = actions.Succeeded, actions.SavedAndChecked, true, "sent", true
			changed.Result, changed.Code, changed.Receipt = json.RawMessage(`{"note":"<&>"}`), "AL-1", "receipt"
			changed.StartedAt, changed.FinishedAt = tx.Now(), tx.Now()
			test.change(&changed)
			held, err := s.SaveRun(tx, changed, test.from)
			if held != test.held {
				t.Errorf("%s: held is %v", name, held)
			}
			want := r
			if test.held {
				want = changed
			}
			got, missing := s.Run(tx, name)
			wantRun(t, want, got, missing)
			return err
		})
	}
}

// runChecks: the database repeats what a run can be.
func runChecks(t *testing.T, s *store.Store) {
	for name, change := range map[string]func(*actions.Run){
		"unknown state":             func(r *actions.Run) { r.State = "paused" },
		"unknown confirmation":      func(r *actions.Run) { r.TaskConfirmation = "perhaps" },
		"settled while it runs":     func(r *actions.Run) { r.Settled = true },
		"ended without a time":      func(r *actions.Run) { r.State = actions.Unknown },
		"a time without an end":     func(r *actions.Run) { r.FinishedAt = r.ReservedAt },
		"confirmed without success": func(r *actions.Run) { r.State, r.FinishedAt, r.TaskConfirmation = actions.Failed, r.ReservedAt, "sent" },
		"a short hash":              func(r *actions.Run) { r.ParamsHash = "abc" },
	} {
		err := s.InTx(t.Context(), func(tx node.Tx) error {
			_, err := s.InsertRun(tx, run(tx.Now(), 1, change))
			return err
		})
		if err == nil {
			t.Errorf("%s: was written", name)
		}
	}
}

// claimRun claims for a minute and gives the run's id, "" for none.
func claimRun(t *testing.T, s *store.Store, token string) (id string) {
	t.Helper()
	inTx(t, s, func(tx node.Tx) error {
		lost, err := s.LostRun(tx)
		if err != nil {
			return err
		}
		r, ok, err := s.ClaimRun(tx, token, tx.Now().Add(time.Minute))
		if ok && !lost {
			t.Errorf("run %s was claimed and not seen", r.ID)
		}
		if id = r.ID; ok != (id != "") || (ok && r.LeaseToken != token) {
			t.Errorf("claimed is %v for run %q with lease %q", ok, id, r.LeaseToken)
		}
		return err
	})
	return id
}

func runClaimed(t *testing.T, s *store.Store) {
	insertRuns(t, s, 4, func(n int, r *actions.Run) {
		r.LeaseUntil = r.ReservedAt.Add(-time.Second)
		switch n {
		case 0:
			r.LeaseUntil = r.ReservedAt.Add(time.Hour) // somebody drives it
		case 1:
			r.State, r.FinishedAt, r.Settled = actions.Succeeded, r.ReservedAt, true // over
		case 2:
			r.State, r.FinishedAt, r.LeaseUntil = actions.Succeeded, r.ReservedAt, r.ReservedAt.Add(-time.Minute) // its task was not told
		}
	})
	for _, want := range []string{"r002", "r003", ""} {
		if got := claimRun(t, s, "new"); got != want {
			t.Errorf("claimed %q, want %q", got, want)
		}
	}
	inTx(t, s, func(tx node.Tx) error {
		r, err := s.Run(tx, "r003")
		if err != nil {
			return err
		}
		r.State = actions.Running
		if held, err := s.SaveRun(tx, r, actions.Reserved); !held || err != nil {
			t.Errorf("who claimed it cannot save it: %v, %v", held, err)
		}
		r.LeaseToken = "lease"
		if held, err := s.SaveRun(tx, r, actions.Running); held || err != nil {
			t.Errorf("who lost it can save it: %v, %v", held, err)
		}
		return nil
	})
}

func runClaimedOnce(t *testing.T, s *store.Store) {
	insertRuns(t, s, 5, func(_ int, r *actions.Run) { r.LeaseUntil = r.ReservedAt })
	var mu sync.Mutex
	var all sync.WaitGroup
	claimed := map[string]int{}
	for n := range 30 {
		all.Go(func() {
			for range 5 { // on PostgreSQL a claim that lost comes back with nothing, though there is more
				id := claimRun(t, s, fmt.Sprintf("replica %d", n))
				mu.Lock()
				claimed[id]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	delete(claimed, "")
	if diff := cmp.Diff(map[string]int{"r000": 1, "r001": 1, "r002": 1, "r003": 1, "r004": 1}, claimed); diff != "" {
		t.Error(diff)
	}
}

func runsClaimedInOrder(t *testing.T, s *store.Store) {
	insertRuns(t, s, 3, func(n int, r *actions.Run) { r.LeaseUntil = r.ReservedAt.Add(-time.Duration(n+1) * time.Minute) })
	for _, want := range []string{"r002", "r001", "r000"} {
		if got := claimRun(t, s, "new"); got != want {
			t.Errorf("claimed %q, want %q", got, want)
		}
	}
}
