package hostile

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"agentlink/node"
)

// watch is a node's own clock, which may be wrong.
type watch struct {
	right *node.FakeClock
	ahead atomic.Int64
}

// Now implements node.Clock.
func (c *watch) Now() time.Time { return c.right.Now().Add(time.Duration(c.ahead.Load())) }

// TestClockJumps (S18): at each of twenty points of an evening the clock of one
// node jumps, its background work is done at that time, and the clock is set
// right. An hour ends nothing: the dinner is booked all the same. Ten years end
// what that clock says is over; nothing that is over comes back, and the next
// dinner is booked again.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	const decade = 10 * 365 * 24 * time.Hour
	for name, jump := range map[string]time.Duration{"an hour back": -time.Hour, "an hour ahead": time.Hour, "ten years ahead": decade} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 2)
			w.connect(w.homes[0], w.homes[1])
			points := len((&evening{}).steps())
			for point := range points {
				if raceDetector && point%4 != 2 { // it costs five times as much
					continue
				}
				for _, jumping := range w.homes {
					j := &jumps{t: t, world: w, by: jump, jumping: jumping}
					j.at(point)
				}
			}
			(&evening{world: w, ana: w.homes[0], ben: w.homes[1]}).whole(t)
			for _, h := range w.homes {
				h.VerifyAudit()
			}
			t.Logf("%d points, %d bookings", 2*points, w.homes[0].rooms.count())
		})
	}
}

// jumps is one evening with one jump.
type jumps struct {
	t       *testing.T
	world   *world
	by      time.Duration
	jumping *home
}

func (j *jumps) at(point int) {
	j.t.Helper()
	w := j.world
	e := &evening{world: w, ana: w.homes[0], ben: w.homes[1]}
	steps, booked := e.steps(), w.homes[0].rooms.count()
	for i, step := range steps[:point+1] {
		if step(); i < point {
			w.settle()
		}
	}
	j.jumping.clock.ahead.Store(int64(j.by))
	w.settle()
	j.jumping.clock.ahead.Store(0)
	over := j.over()
	j.replay()
	j.wait()
	for _, step := range steps[point+1:] {
		step()
		w.settle()
	}
	if now := j.over(); len(now) < len(over) {
		j.t.Errorf("point %d: %d approvals were over, now %d", point, len(over), len(now))
	}
	for id, status := range over {
		if now := j.over()[id]; now != status {
			j.t.Errorf("point %d: an approval was %s and is %q", point, status, now)
		}
	}
	if runs := w.homes[0].rooms.count() - booked; runs > 1 {
		j.t.Errorf("point %d: %d bookings", point, runs)
	}
	if j.by.Abs() <= time.Hour {
		e.wantBooked(j.t)
	}
}

// over are the approvals that are: used, refused or expired.
func (j *jumps) over() map[string]string {
	j.t.Helper()
	over := map[string]string{}
	for _, h := range j.world.homes {
		h.approvalsOver(j.t, over)
	}
	return over
}

func (h *home) approvalsOver(t *testing.T, over map[string]string) {
	t.Helper()
	rows, err := h.looker.db.Query(`SELECT id, status FROM approvals WHERE status IN ('consumed', 'rejected', 'expired')`) //nolint:noctx // a test's
	must(t, err)
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id, status string
		must(t, rows.Scan(&id, &status))
		over[id] = status
	}
	must(t, rows.Err())
}

// replay sends what came lately once more to the node whose clock was wrong: it
// may have thrown its answers away, and must not take a message twice.
func (j *jumps) replay() {
	j.t.Helper()
	count := func() int { return j.jumping.looker.count(j.t, "messages", "direction = 'in'") }
	before, seen := count(), j.jumping.door.seen()
	for _, p := range seen[max(0, len(seen)-6):] {
		if p.status != http.StatusOK {
			continue
		}
		if status, answer := j.jumping.receives(p.envelope); status >= 500 {
			j.t.Errorf("%s again: %d %s", p.claims().Type, status, answer)
		}
	}
	if after := count(); after != before {
		j.t.Errorf("%d messages were taken twice", after-before)
	}
}

// wait lets the nodes work until what was written at a wrong time is not of the
// future any more.
func (j *jumps) wait() {
	j.t.Helper()
	for range 20 {
		j.world.settle()
		j.world.clock.Advance(5 * time.Minute)
	}
}
