package store_test

import (
	"testing"
	"time"

	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/store"
	"agentlink/node/store/storetest"
)

// TestFeedOfAgents: what is written about an agent wakes who waits for that agent,
// what is written about the node everybody, and all of it who follows the log.
func TestFeedOfAgents(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, open storetest.Opener) {
		s := open(t)
		log := audit.New(s, make([]byte, 32))
		a, endA := s.Subscribe(store.FeedOf("a"))
		defer endA()
		b, endB := s.Subscribe(store.FeedOf("b"))
		defer endB()
		all, endAll := s.Subscribe(store.TopicFeed)
		defer endAll()
		for woken(all, 200*time.Millisecond) || there(a) || there(b) { // of beginning to listen
		}
		for _, test := range []struct {
			agents []string
			a, b   bool
		}{{[]string{"a"}, true, false}, {[]string{"b"}, false, true}, {[]string{"a", "b"}, true, true}, {[]string{""}, true, true}} {
			inTx(t, s, func(tx node.Tx) error {
				for _, agent := range test.agents {
					if err := log.Append(tx, audit.Event{Type: audit.AgentCreated, Actor: node.Actor{Kind: node.ActorNode}, AgentID: agent}); err != nil {
						return err
					}
				}
				return nil
			})
			if toA, toB := there(a), there(b); !there(all) || toA != test.a || toB != test.b {
				t.Errorf("%q: it does not wake as it should: a %v, b %v, and who follows the log", test.agents, test.a, test.b)
			}
		}
	})
}

// there says whether a signal is there already: a commit gives it before it returns.
func there(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// TestManyTopicsAtOnce: a transaction about more agents than PostgreSQL can
// announce wakes those of another replica all the same.
func TestManyTopicsAtOnce(t *testing.T) {
	t.Parallel()
	database := storetest.Postgres(t)
	a, b := database.Open(t), database.Open(t)
	feed, end := b.Subscribe(store.FeedOf("agent 0"))
	defer end()
	listening(t, feed)
	inTx(t, a, func(tx node.Tx) error {
		for range 500 {
			if err := a.Notify(tx, store.FeedOf(node.RandomIDs{}.New())); err != nil {
				return err
			}
		}
		return nil
	})
	if !woken(feed, 5*time.Second) {
		t.Error("nobody is woken")
	}
}
