package api

import (
	"context"
	"sync"
	"time"

	"agentlink/node"
	"agentlink/node/api/problem"
)

// Wake tells when something was committed.
type Wake interface {
	// Subscribe gives a channel that receives after commits that concern the
	// topic. Signals may be merged; none is kept for later subscribers.
	Subscribe(topic string) (signal <-chan struct{}, stop func())
}

// feedOf is woken by each new row of the audit log that concerns an agent, and so
// by each change that the agent can see. Those of others wake nobody: with many
// agents waiting, each commit would otherwise let all of them look.
func feedOf(agentID string) string { return "feed/" + agentID }

// Poll is how often a waiting request looks without having been woken, for what
// time alone has changed. Signals that are lost with a connection to PostgreSQL
// are the store's business.
const Poll = 15 * time.Second

// MaxWaiting is how many requests of one agent may wait at a time.
const MaxWaiting = 32

// await looks until it is settled, or time is up. It subscribes before the
// first look, so nothing is missed between looking and waiting, and holds
// no transaction while it waits. Code: rate_limited over MaxWaiting.
func (d *Door) await(ctx context.Context, caller string, patience time.Duration, look func() (settled bool, err error)) error {
	if patience <= 0 {
		_, err := look()
		return err
	}
	w, err := d.listen(caller, patience)
	if err != nil {
		return err
	}
	defer w.leave()
	for {
		if settled, err := look(); settled || err != nil {
			return err
		}
		select {
		case <-w.signal:
		case <-w.timer.C:
			if w.over() {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// listener is one request that waits.
type listener struct {
	signal     <-chan struct{}
	timer      *time.Timer
	left       time.Duration // behind the timer
	free, stop func()
}

func (d *Door) listen(caller string, patience time.Duration) (*listener, error) {
	free, err := d.Wait(caller)
	if err != nil {
		return nil, err
	}
	w := &listener{timer: time.NewTimer(patience), left: patience, free: free}
	w.next()
	w.signal, w.stop = d.Wake.Subscribe(feedOf(caller))
	return w, nil
}

// next sets the timer to the next look, or to the end.
func (w *listener) next() {
	pause := min(w.left, Poll)
	w.left -= pause
	w.timer.Reset(pause)
}

// over says whether the timer that has run down was the last.
func (w *listener) over() bool {
	if w.left <= 0 {
		return true
	}
	w.next()
	return false
}

func (w *listener) leave() {
	w.stop()
	w.timer.Stop()
	w.free()
}

// Wait takes one of the caller's places for requests that wait. Code:
// rate_limited.
func (d *Door) Wait(caller string) (free func(), err error) {
	if !d.waiting.take(caller, MaxWaiting) {
		return nil, &node.Error{
			Code: node.RateLimited, Message: "Too many requests of this agent are waiting. Let one of them end first.",
			Details: map[string]any{problem.RetryAfterDetail: 1},
		}
	}
	return func() { d.waiting.free(caller) }, nil
}

// slots counts what is under way, by caller. The zero value is ready.
type slots struct {
	mu   sync.Mutex
	used map[string]int
}

func (s *slots) take(caller string, most int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used == nil {
		s.used = map[string]int{}
	}
	if s.used[caller] >= most {
		return false
	}
	s.used[caller]++
	return true
}

func (s *slots) free(caller string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used[caller]--; s.used[caller] <= 0 {
		delete(s.used, caller)
	}
}
