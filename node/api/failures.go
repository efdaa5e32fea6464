package api

import (
	"crypto/sha256"
	"sync"
	"time"
)

// Failures counts failed tries by what they came from, over a window that
// begins with the first of them. It lives in memory and is bounded: what it
// slows down is guessing, which the length of the keys forbids anyway.
type Failures struct {
	Most   int
	Window time.Duration

	mu   sync.Mutex
	seen map[[sha256.Size]byte]failing
}

type failing struct {
	count int
	until time.Time
}

// maxFailing is how many sources are remembered at a time.
const maxFailing = 10_000

// Blocked says how long the source has to wait; 0 where it may try.
func (f *Failures) Blocked(source string, now time.Time) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	entry, ok := f.seen[sha256.Sum256([]byte(source))]
	if !ok || entry.count < f.Most || !now.Before(entry.until) {
		return 0
	}
	return entry.until.Sub(now)
}

// Add counts one more.
func (f *Failures) Add(source string, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen == nil {
		f.seen = map[[sha256.Size]byte]failing{}
	}
	key := sha256.Sum256([]byte(source))
	entry, ok := f.seen[key]
	if !ok || !now.Before(entry.until) {
		if f.makeRoom(now); len(f.seen) >= maxFailing {
			return
		}
		entry = failing{until: now.Add(f.Window)}
	}
	entry.count++
	f.seen[key] = entry
}

func (f *Failures) makeRoom(now time.Time) {
	if len(f.seen) < maxFailing {
		return
	}
	for key, entry := range f.seen {
		if !now.Before(entry.until) {
			delete(f.seen, key)
		}
	}
}
