package store_test

import (
	"testing"
	"time"

	"agentlink/node"
	"agentlink/node/store"
	"agentlink/node/store/storetest"
)

func woken(c <-chan struct{}, within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
		return false
	}
}

// listening waits until the store hears what others announce: everybody is
// woken then.
func listening(t *testing.T, c <-chan struct{}) {
	t.Helper()
	if !woken(c, 10*time.Second) {
		t.Fatal("the store does not begin to listen")
	}
}

func notify(s *store.Store, topic string) func(node.Tx) error {
	return func(tx node.Tx) error { return s.Notify(tx, topic) }
}

// TestReplicasWakeEachOther: through PostgreSQL, by topic, and within one
// schema alone.
func TestReplicasWakeEachOther(t *testing.T) {
	t.Parallel()
	database := storetest.Postgres(t)
	a, b, stranger := database.Open(t), database.Open(t), storetest.OpenPostgres(t)
	feed, end := b.Subscribe(store.TopicFeed)
	defer end()
	outbox, end := b.Subscribe(store.TopicOutbox)
	defer end()
	listening(t, feed)
	for woken(outbox, 200*time.Millisecond) { // of beginning to listen
	}
	inTx(t, stranger, notify(stranger, store.TopicFeed))
	inTx(t, a, notify(a, store.TopicOutbox))
	if !woken(outbox, 5*time.Second) {
		t.Error("the other replica wakes nobody")
	}
	if woken(feed, 100*time.Millisecond) {
		t.Error("woken by another topic, or another schema")
	}
}

// TestListenerComesBack: when the listening connection is lost a new one is
// made, and what may have been missed meanwhile wakes everybody.
func TestListenerComesBack(t *testing.T) {
	t.Parallel()
	database := storetest.Postgres(t)
	a, b := database.Open(t), database.Open(t)
	feed, end := b.Subscribe(store.TopicFeed)
	defer end()
	listening(t, feed)
	inTx(t, a, func(tx node.Tx) error {
		ended := 0
		err := a.Each(tx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE query = 'LISTEN "agentlink_' || md5(current_schema()) || '"'`, nil, func(func(...any) error) error { ended++; return nil })
		if ended != 1 {
			t.Errorf("%d connections listen, want one for the one store with subscribers", ended)
		}
		return err
	})
	listening(t, feed)
	inTx(t, a, notify(a, store.TopicFeed))
	if !woken(feed, 5*time.Second) {
		t.Error("the new connection hears nothing")
	}
}

// TestReplicasShareLeases: what one replica holds the other does not get.
func TestReplicasShareLeases(t *testing.T) {
	t.Parallel()
	database := storetest.Postgres(t)
	for i, s := range []*store.Store{database.Open(t), database.Open(t)} {
		inTx(t, s, func(tx node.Tx) error {
			held, err := s.Lease(tx, "expiry", string(rune('a'+i)), time.Hour)
			if held != (i == 0) {
				t.Errorf("replica %d holds the lease: %v", i, held)
			}
			return err
		})
	}
}
