package delivery

import (
	"sync"
	"time"

	"agentlink/node/outbox"
)

// maxInFlight is how many requests to one host run at once, so that a slow peer
// cannot take every worker.
const maxInFlight = 4

// forgetAfter is when a host that was silent, and that nothing was sent to since,
// is no longer remembered.
const forgetAfter = 24 * time.Hour

// hosts is what a worker remembers of the hosts that it sends to. A host that
// does not answer is asked by one message at a time, however many wait for it.
// It lives in the process: each replica learns for itself.
type hosts struct {
	mu    sync.Mutex
	known map[string]*host
}

type host struct {
	inFlight int
	// failed is the lane that failed last, "" where the host has answered since. One
	// lane alone says nothing of its host: its message may be the cause.
	failed string
	rounds int       // how often in a row the host was found not to answer
	until  time.Time // nothing is sent to it before
	last   time.Time // when it was silent last
}

func newHosts() *hosts { return &hosts{known: map[string]*host{}} }

// enter begins a request to a host. Where that has to wait, it says until when.
func (h *hosts) enter(name string, now time.Time) (until time.Time, entered bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	x := h.known[name]
	if x == nil {
		x = &host{}
		h.known[name] = x
	}
	room := maxInFlight
	if x.rounds > 0 {
		room = 1
	}
	switch {
	case now.Before(x.until):
		return x.until, false
	case x.inFlight >= room:
		return now.Add(time.Second), false
	}
	x.inFlight++
	return time.Time{}, true
}

func (h *hosts) leave(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if x := h.known[name]; x != nil {
		x.inFlight--
		h.forget(name, x)
	}
}

func (h *hosts) forget(name string, x *host) {
	if x.inFlight <= 0 && x.failed == "" {
		delete(h.known, name)
	}
}

// answered says that a host is well.
func (h *hosts) answered(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if x := h.known[name]; x != nil {
		x.failed, x.rounds, x.until = "", 0, time.Time{}
		h.forget(name, x)
	}
}

// silent says that a host gave no answer to a message of a lane, or asked for a
// pause. It gives the time before which nothing is sent there, the zero time
// where others may still try.
func (h *hosts) silent(name, lane string, now time.Time, asked time.Duration, jitter float64) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sweep(now)
	x := h.known[name]
	if x == nil {
		x = &host{}
		h.known[name] = x
	}
	alone := x.rounds == 0 && (x.failed == "" || x.failed == lane)
	x.failed, x.last = lane, now
	if now.Before(x.until) || alone && asked == 0 {
		return x.until // of the same round, or of none
	}
	x.rounds++
	// Databases keep microseconds: what is due then must not be too early.
	x.until = now.Add(max(roundPause(x.rounds, jitter), asked)).Truncate(time.Microsecond)
	return x.until
}

// roundPause grows twice as fast as that of a message: 1 s, 4 s, 16 s and so on,
// since what waits is not lost and a host that is away is mostly away for long.
func roundPause(rounds int, jitter float64) time.Duration {
	return outbox.Pause(2*min(rounds, 100)-1, jitter)
}

func (h *hosts) sweep(now time.Time) {
	for name, x := range h.known {
		if x.inFlight <= 0 && now.Sub(x.last) > forgetAfter {
			delete(h.known, name)
		}
	}
}
