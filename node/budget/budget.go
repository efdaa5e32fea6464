// Package budget counts what strangers cost: so many events for a key in each
// window of time.
//
// The counts are kept in memory, on purpose. They only slow down who misbehaves
// and decide nothing: a restart forgives, and each replica counts for itself.
package budget

import (
	"sync"
	"time"
)

// Budget allows Limit events for a key in each window. It is safe for
// concurrent use.
type Budget struct {
	limit   int
	window  time.Duration
	maxKeys int

	mu   sync.Mutex
	keys map[string]count
}

type count struct {
	since time.Time
	n     int
}

// New makes a budget that remembers at most maxKeys keys at once.
func New(limit int, window time.Duration, maxKeys int) *Budget {
	return &Budget{limit: limit, window: window, maxKeys: maxKeys, keys: map[string]count{}}
}

// Over says whether the key has used up its budget, and after which pause it has
// one again.
func (b *Budget) Over(key string, now time.Time) (pause time.Duration, over bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c, known := b.keys[key]
	if !known || !b.current(c, now) || c.n < b.limit {
		return 0, false
	}
	return c.since.Add(b.window).Sub(now), true
}

// Spend counts one event.
func (b *Budget) Spend(key string, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c, known := b.keys[key]
	if !known {
		b.makeRoom(now)
	}
	if !known || !b.current(c, now) {
		c = count{since: now}
	}
	c.n++
	b.keys[key] = c
}

// current also ends a window that lies in the future: the clock was set back.
func (b *Budget) current(c count, now time.Time) bool {
	age := now.Sub(c.since)
	return age >= 0 && age < b.window
}

// makeRoom forgets the windows that are over and, where all are current, any
// one. Who owns that many addresses is not stopped by counting them.
func (b *Budget) makeRoom(now time.Time) {
	if len(b.keys) < b.maxKeys {
		return
	}
	for key, c := range b.keys {
		if !b.current(c, now) {
			delete(b.keys, key)
		}
	}
	for key := range b.keys {
		if len(b.keys) < b.maxKeys {
			return
		}
		delete(b.keys, key)
	}
}
