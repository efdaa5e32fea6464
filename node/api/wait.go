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
	free, err := d.Wait(caller)
	if err != nil {
		return err
	}
	defer free()
	signal, stop := d.Wake.Subscribe(feedOf(caller))
	defer stop()
	end := time.NewTimer(patience)
	defer end.Stop()
	poll := time.NewTicker(Poll)
	defer poll.Stop()
	for {
		if settled, err := look(); settled || err != nil {
			return err
		}
		select {
		case <-signal:
		case <-poll.C:
		case <-end.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
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
