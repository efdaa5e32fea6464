package store

import (
	"slices"
	"strings"
	"sync"

	"agentlink/node"
)

// The topics that a transaction can announce.
const (
	TopicOutbox = "outbox" // something was queued, or became due
	TopicFeed   = "feed"   // something was appended to the audit log
	// everything wakes everybody.
	everything = "*"
)

// FeedOf is the topic of what is appended to the audit log about one agent; that
// of "" is about the node itself, and concerns every agent.
func FeedOf(agentID string) string { return TopicFeed + "/" + agentID }

// Notify wakes the subscribers of a topic once the transaction is durable: in
// this process, and on PostgreSQL in every other that shares the schema.
func (s *Store) Notify(tx node.Tx, topic string) error {
	t, err := s.use(tx, "notify "+topic)
	if err != nil {
		return err
	}
	if !slices.Contains(t.topics, topic) {
		t.topics = append(t.topics, topic)
	}
	return nil
}

// Subscribe gives a channel that gets a value after each change that concerns
// the topic; several changes may give one value. It is a hint, which may also come
// without a change: while there is no connection to PostgreSQL that could tell,
// everybody is woken every 5 seconds. The channel is never closed; cancel ends
// the subscription.
func (s *Store) Subscribe(topic string) (changed <-chan struct{}, cancel func()) {
	changed, cancel = s.wake.subscribe(topic)
	s.engine.listen(s.wake)
	return changed, cancel
}

type wakeHub struct {
	mu     sync.Mutex
	topics map[string]map[chan struct{}]bool
}

func newWakeHub() *wakeHub { return &wakeHub{topics: map[string]map[chan struct{}]bool{}} }

func (h *wakeHub) subscribe(topic string) (<-chan struct{}, func()) {
	c := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.topics[topic] == nil {
		h.topics[topic] = map[chan struct{}]bool{}
	}
	h.topics[topic][c] = true
	return c, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if delete(h.topics[topic], c); len(h.topics[topic]) == 0 {
			delete(h.topics, topic) // agents come and go
		}
	}
}

func (h *wakeHub) wake(topics ...string) {
	if len(topics) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, topic := range topics {
		switch topic {
		case everything:
			h.wakeThose(func(string) bool { return true })
		case FeedOf(""):
			h.wakeThose(func(topic string) bool { return strings.HasPrefix(topic, FeedOf("")) })
		default:
			h.wakeTopic(topic)
		}
	}
}

func (h *wakeHub) wakeThose(meant func(topic string) bool) {
	for topic := range h.topics {
		if meant(topic) {
			h.wakeTopic(topic)
		}
	}
}

func (h *wakeHub) wakeTopic(topic string) {
	for c := range h.topics[topic] {
		select {
		case c <- struct{}{}:
		default: // woken already, and not yet up
		}
	}
}

func (h *wakeHub) wakeAll() { h.wake(everything) }
