package peer

import (
	"time"

	"agentlink/node/budget"
)

// Limits of what a peer's node may send that is rejected. Each rejection leaves
// a row in the log and one with its answer: the first limit bounds how fast, the
// second how many.
const (
	rejectedPerMinute = 60
	rejectedPerDay    = 1000
)

// rejections counts them by the key of the peer's node.
type rejections struct{ minute, day *budget.Budget }

func newRejected() *rejections {
	return &rejections{
		minute: budget.New(rejectedPerMinute, time.Minute, maxCounted),
		day:    budget.New(rejectedPerDay, 24*time.Hour, maxCounted),
	}
}

// Over says whether a key has used up one of its budgets.
func (r *rejections) Over(key string, now time.Time) (pause time.Duration, over bool) {
	if pause, over = r.day.Over(key, now); over {
		return pause, true
	}
	return r.minute.Over(key, now)
}

// Spend counts one rejection.
func (r *rejections) Spend(key string, now time.Time) {
	r.minute.Spend(key, now)
	r.day.Spend(key, now)
}
