package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
	"agentlink/node/outbox"
	"agentlink/node/store"
)

// Outbox tests what waits to leave.
func Outbox(t *testing.T, open func(t *testing.T) *store.Store) {
	for name, test := range map[string]func(*testing.T, *store.Store){
		"an item comes back":    itemComesBack,
		"queued once":           queuedOnce,
		"the oldest first":      oldestFirst,
		"lanes":                 lanes,
		"lanes of other agents": lanesOfOthers,
		"an earlier one comes":  earlierComes,
		"leases end":            leasesEnd,
		"settled by its holder": settledByHolder,
		"put off":               putOff,
		"woken":                 wokenLane,
		"dropped":               dropped,
		"announced":             announced,
		"claimed at once":       claimedOnce,
		"claimed in order":      claimedInOrder,
		"claimed while it may":  claimedWhileItMay,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// queue inserts items that are due at the given number of seconds from now.
func queue(t *testing.T, s *store.Store, id, lane string, order int64, seconds int) {
	t.Helper()
	inTx(t, s, func(tx node.Tx) error {
		return s.InsertOutbox(tx, outbox.Item{
			ID: id, OwnerID: "o1", AgentID: "a1", Kind: outbox.Envelope, Lane: lane, Order: order, Ref: "ref of " + id,
			NextAt: tx.Now().Add(time.Duration(seconds) * time.Second), CreatedAt: tx.Now(),
		})
	})
}

// claimNext leases the item that is to leave next.
func claimNext(tx node.Tx, s *store.Store, token string, until time.Time) (item outbox.Item, ok bool, err error) {
	due, ok, err := s.DueOutbox(tx)
	if err != nil || !ok {
		return outbox.Item{}, false, err
	}
	return s.ClaimOutbox(tx, due.ID, token, until)
}

// take claims an item for a number of seconds and gives its id, "" for none.
func take(t *testing.T, s *store.Store, seconds int) (id string) {
	t.Helper()
	inTx(t, s, func(tx node.Tx) error {
		item, ok, err := claimNext(tx, s, "token", tx.Now().Add(time.Duration(seconds)*time.Second))
		if id = item.ID; ok != (id != "") {
			t.Errorf("claimed is %v for item %q", ok, id)
		}
		return err
	})
	return id
}

func wantTaken(t *testing.T, s *store.Store, want ...string) {
	t.Helper()
	for _, id := range want {
		if got := take(t, s, 60); got != id {
			t.Errorf("claimed %q, want %q", got, id)
		}
	}
}

// next is in how many seconds something is due, -1 for never.
func next(t *testing.T, s *store.Store) (seconds int) {
	t.Helper()
	inTx(t, s, func(tx node.Tx) error {
		at, ok, err := s.NextOutbox(tx)
		if seconds = -1; ok {
			seconds = int(max(0, at.Sub(tx.Now())).Round(time.Second).Seconds())
		}
		return err
	})
	return seconds
}

func settle(t *testing.T, s *store.Store, id string) {
	t.Helper()
	inTx(t, s, func(tx node.Tx) error {
		ok, err := s.DeleteOutbox(tx, id, "token")
		if !ok {
			t.Errorf("%s is not ours to delete", id)
		}
		return err
	})
}

func itemComesBack(t *testing.T, s *store.Store) {
	var want outbox.Item
	inTx(t, s, func(tx node.Tx) error {
		want = outbox.Item{
			ID: "i1", OwnerID: "o1", AgentID: "a1", Kind: outbox.Envelope, Lane: "task", Order: 7, Ref: "m1",
			NextAt: tx.Now(), CreatedAt: tx.Now().Add(-time.Hour),
		}
		return s.InsertOutbox(tx, want)
	})
	inTx(t, s, func(tx node.Tx) error {
		want.Attempts, want.LeaseToken, want.LeaseUntil = 1, "token", tx.Now().Add(time.Minute)
		got, ok, err := claimNext(tx, s, "token", want.LeaseUntil)
		if diff := cmp.Diff(want, got); diff != "" || !ok {
			t.Errorf("claimed is %v; item (-want +got):\n%s", ok, diff)
		}
		return err
	})
}

func queuedOnce(t *testing.T, s *store.Store) {
	queue(t, s, "i1", "l", 1, 0)
	err := s.InTx(t.Context(), func(tx node.Tx) error {
		return s.InsertOutbox(tx, outbox.Item{ID: "i2", AgentID: "a1", Kind: outbox.Envelope, Lane: "m", Ref: "ref of i1", NextAt: tx.Now()})
	})
	wantCode(t, err, node.Conflict)
	wantTaken(t, s, "i1", "")
}

func oldestFirst(t *testing.T, s *store.Store) {
	if got := next(t, s); got != -1 {
		t.Errorf("an empty outbox is due in %d s", got)
	}
	queue(t, s, "later", "l1", 1, 3600)
	if got := next(t, s); got != 3600 {
		t.Errorf("due in %d s, want 3600", got)
	}
	queue(t, s, "new", "l2", 1, -1)
	queue(t, s, "old", "l3", 1, -60)
	queue(t, s, "older", "l4", 1, -120)
	if got := next(t, s); got != 0 {
		t.Errorf("due in %d s, want 0", got)
	}
	wantTaken(t, s, "older", "old", "new", "")
	if got := next(t, s); got != 60 {
		t.Errorf("due in %d s, want the first lease's end", got)
	}
}

func lanes(t *testing.T, s *store.Store) {
	queue(t, s, "a2", "a", 2, -300) // older, and yet second in its lane
	queue(t, s, "a1", "a", 1, -200)
	queue(t, s, "a3", "a", 3, -400)
	queue(t, s, "b1", "b", 1, -100)
	wantTaken(t, s, "a1", "b1", "")
	settle(t, s, "a1")
	wantTaken(t, s, "a2", "")
	settle(t, s, "b1")
	settle(t, s, "a2")
	wantTaken(t, s, "a3", "")
}

func lanesOfOthers(t *testing.T, s *store.Store) {
	inTx(t, s, func(tx node.Tx) error {
		for i, agent := range []string{"a1", "a2"} { // both sides of a task on one node
			item := outbox.Item{ID: agent, AgentID: agent, Kind: outbox.Envelope, Lane: "task", Order: int64(i), Ref: "m", NextAt: tx.Now()}
			if err := s.InsertOutbox(tx, item); err != nil {
				return err
			}
		}
		return nil
	})
	wantTaken(t, s, "a1", "a2", "")
}

// earlierComes: what comes before an item in flight waits for it; two of one
// lane are never in flight.
func earlierComes(t *testing.T, s *store.Store) {
	queue(t, s, "second", "l", 2, -2)
	wantTaken(t, s, "second")
	queue(t, s, "first", "l", 1, -1)
	wantTaken(t, s, "")
	if got := next(t, s); got != 60 {
		t.Errorf("due in %d s, want the lease's end: until then nothing can be claimed", got)
	}
	inTx(t, s, func(tx node.Tx) error { _, err := s.RescheduleOutbox(tx, "second", "token", tx.Now()); return err })
	wantTaken(t, s, "first", "")
	settle(t, s, "first")
	wantTaken(t, s, "second")
}

func leasesEnd(t *testing.T, s *store.Store) {
	queue(t, s, "i1", "l", 1, 0)
	for attempt := 1; attempt <= 3; attempt++ {
		inTx(t, s, func(tx node.Tx) error { // a worker that vanishes at once
			item, ok, err := claimNext(tx, s, fmt.Sprint("token ", attempt), tx.Now())
			if !ok || item.Attempts != attempt {
				t.Errorf("claimed is %v with attempt %d, want attempt %d", ok, item.Attempts, attempt)
			}
			return err
		})
	}
	inTx(t, s, func(tx node.Tx) error {
		for _, token := range []string{"token 1", "token 2", ""} {
			deleted, err := s.DeleteOutbox(tx, "i1", token)
			moved, err2 := s.RescheduleOutbox(tx, "i1", token, tx.Now())
			if deleted || moved {
				t.Errorf("token %q settles the item of another", token)
			}
			if err := errors.Join(err, err2); err != nil {
				return err
			}
		}
		return nil
	})
}

func settledByHolder(t *testing.T, s *store.Store) {
	queue(t, s, "i1", "l", 1, 0)
	inTx(t, s, func(tx node.Tx) error { // not claimed by anybody
		deleted, err := s.DeleteOutbox(tx, "i1", "")
		moved, err2 := s.RescheduleOutbox(tx, "i1", "", tx.Now())
		if deleted || moved {
			t.Error("an item without a lease was settled")
		}
		return errors.Join(err, err2)
	})
	wantTaken(t, s, "i1")
	settle(t, s, "i1")
	inTx(t, s, func(tx node.Tx) error {
		deleted, err := s.DeleteOutbox(tx, "i1", "token")
		if deleted {
			t.Error("deleted twice")
		}
		return err
	})
}

// putOff: what waits behind an item is put off with it, and due again at its
// own time once the item is gone.
func putOff(t *testing.T, s *store.Store) {
	queue(t, s, "i1", "l", 1, -10)
	queue(t, s, "i2", "l", 2, -9)
	queue(t, s, "i3", "l", 3, 1800)
	wantTaken(t, s, "i1")
	inTx(t, s, func(tx node.Tx) error {
		moved, err := s.RescheduleOutbox(tx, "i1", "token", tx.Now().Add(15*time.Minute))
		if !moved {
			t.Error("not rescheduled")
		}
		return err
	})
	wantTaken(t, s, "")
	if got := next(t, s); got != 900 {
		t.Errorf("due in %d s, want 900", got)
	}
	inTx(t, s, func(tx node.Tx) error { return s.DropOutbox(tx, "a1", outbox.Envelope, "ref of i1") })
	wantTaken(t, s, "i2", "")
	settle(t, s, "i2")
	if got := next(t, s); got != 1800 {
		t.Errorf("due in %d s, want 1800", got)
	}
}

func wokenLane(t *testing.T, s *store.Store) {
	queue(t, s, "i1", "l", 1, 900)
	queue(t, s, "i2", "l", 2, 901)
	queue(t, s, "other", "m", 1, 900)
	inTx(t, s, func(tx node.Tx) error { return s.WakeOutbox(tx, "a2", "l") })
	wantTaken(t, s, "")
	inTx(t, s, func(tx node.Tx) error { return s.WakeOutbox(tx, "a1", "l") })
	wantTaken(t, s, "i1", "")
	inTx(t, s, func(tx node.Tx) error { return s.WakeOutbox(tx, "a1", "l") })
	wantTaken(t, s, "") // i1 is in flight
	settle(t, s, "i1")
	wantTaken(t, s, "i2", "")
}

func dropped(t *testing.T, s *store.Store) {
	queue(t, s, "i1", "l", 1, 0)
	queue(t, s, "i2", "l", 2, 0)
	wantTaken(t, s, "i1")
	inTx(t, s, func(tx node.Tx) error {
		return errors.Join(
			s.DropOutbox(tx, "a1", outbox.Envelope, "ref of i1"), // leased or not
			s.DropOutbox(tx, "a1", outbox.Envelope, "unknown"),
			s.DropOutbox(tx, "a2", outbox.Envelope, "ref of i2"))
	})
	wantTaken(t, s, "i2", "")
	inTx(t, s, func(tx node.Tx) error {
		deleted, err := s.DeleteOutbox(tx, "i1", "token")
		if deleted {
			t.Error("deleted what was dropped")
		}
		return err
	})
}

func announced(t *testing.T, s *store.Store) {
	changed, end := s.Subscribe(store.TopicOutbox)
	defer end()
	drain(changed)
	queue(t, s, "i1", "l", 1, 60)
	if !woken(changed, 5*time.Second) {
		t.Error("a queued item wakes nobody")
	}
	inTx(t, s, func(tx node.Tx) error { return s.WakeOutbox(tx, "a1", "l") })
	if !woken(changed, 5*time.Second) {
		t.Error("a woken lane wakes nobody")
	}
}

// claimedWhileItMay: an item that was due when somebody looked is claimed only if
// it still is.
func claimedWhileItMay(t *testing.T, s *store.Store) {
	queue(t, s, "i1", "l", 1, 0)
	queue(t, s, "i2", "l", 2, 0)
	queue(t, s, "later", "m", 1, 60)
	mayBe := func(want string, ids ...string) {
		t.Helper()
		for _, id := range ids {
			inTx(t, s, func(tx node.Tx) error {
				item, ok, err := s.ClaimOutbox(tx, id, "another", tx.Now().Add(time.Minute))
				if ok != (id == want) || item.ID != "" != ok {
					t.Errorf("claiming %s gives %q, %v", id, item.ID, ok)
				}
				return err
			})
		}
	}
	mayBe("", "i2", "later", "unknown")
	wantTaken(t, s, "i1")
	mayBe("", "i1", "i2")
	settle(t, s, "i1")
	mayBe("i2", "i1", "i2")
}

// claimedOnce: many workers empty the outbox and no item is met twice.
func claimedOnce(t *testing.T, s *store.Store) {
	const items, workers = 120, 12
	inTx(t, s, func(tx node.Tx) error {
		for i := range items {
			id := fmt.Sprintf("i%03d", i)
			err := s.InsertOutbox(tx, outbox.Item{ID: id, AgentID: "a1", Kind: outbox.Envelope, Lane: id, Ref: id, NextAt: tx.Now()})
			if err != nil {
				return err
			}
		}
		return nil
	})
	var mu sync.Mutex
	seen := map[string]int{}
	each := func(item outbox.Item) {
		mu.Lock()
		defer mu.Unlock()
		seen[item.ID]++
	}
	work(t, s, workers, each)
	for id, times := range seen {
		if times != 1 {
			t.Errorf("%s was claimed %d times", id, times)
		}
	}
	if len(seen) != items {
		t.Errorf("%d items were claimed, want %d", len(seen), items)
	}
}

// claimedInOrder: several workers empty a few long lanes, each in its order.
func claimedInOrder(t *testing.T, s *store.Store) {
	const lanes, length = 4, 25
	inTx(t, s, func(tx node.Tx) error {
		for i := range lanes * length {
			id := fmt.Sprintf("i%03d", i)
			item := outbox.Item{ID: id, AgentID: "a1", Kind: outbox.Envelope, Lane: fmt.Sprint(i % lanes), Order: int64(i), Ref: id, NextAt: tx.Now()}
			if err := s.InsertOutbox(tx, item); err != nil {
				return err
			}
		}
		return nil
	})
	var mu sync.Mutex
	last := map[string]int64{}
	count := 0
	work(t, s, 8, func(item outbox.Item) {
		mu.Lock()
		defer mu.Unlock()
		if item.Order < last[item.Lane] {
			t.Errorf("%d of lane %s comes after %d", item.Order, item.Lane, last[item.Lane])
		}
		last[item.Lane] = item.Order
		count++
	})
	if count != lanes*length {
		t.Errorf("%d items left, want %d", count, lanes*length)
	}
}

// work lets workers claim and settle until nothing is queued.
func work(t *testing.T, s *store.Store, workers int, each func(outbox.Item)) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var done sync.WaitGroup
	for worker := range workers {
		done.Go(func() {
			for more := true; more; {
				var err error
				if more, err = workOnce(ctx, s, fmt.Sprint("worker ", worker), each); err != nil {
					t.Errorf("worker %d: %v", worker, err)
					return
				}
			}
		})
	}
	done.Wait()
}

// workOnce claims one item, and settles it in a transaction of its own.
func workOnce(ctx context.Context, s *store.Store, token string, each func(outbox.Item)) (more bool, err error) {
	var item outbox.Item
	var ok bool
	err = s.InTx(ctx, func(tx node.Tx) error {
		if item, ok, err = claimNext(tx, s, token, tx.Now().Add(time.Minute)); err != nil || ok {
			return err
		}
		_, more, err = s.NextOutbox(tx)
		return err
	})
	if err != nil || !ok {
		return more, err
	}
	each(item)
	return true, s.InTx(ctx, func(tx node.Tx) error {
		deleted, err := s.DeleteOutbox(tx, item.ID, token)
		if err == nil && !deleted {
			err = fmt.Errorf("%s was lost", item.ID)
		}
		return err
	})
}
