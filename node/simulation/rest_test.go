package simulation

import (
	"fmt"
	"time"

	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/outbox"
	"agentlink/policy"
)

// heal makes everything work again: network, clocks, processes, rules. A deadline
// that had come for a side whose clock was ahead comes for the other one.
func (h *history) heal() {
	h.network.parted, h.network.drop, h.network.repeat = false, 0, 0
	h.clock.Advance(2 * maxSkew)
	for _, s := range h.sides {
		s.clock.off = 0
		s.start(h.t, h.network)
	}
	for _, s := range h.sides {
		h.status(s, policy.Active)
		h.ungrant(s)
	}
	h.log("healed")
}

// drain lets time pass until nothing waits to leave but what waits for a
// connection that has ended. Everything that waits has a time, so it ends.
func (h *history) drain() {
	for range 80 {
		for _, s := range h.sides {
			h.background(s)
		}
		for len(h.network.late) > 0 {
			h.network.deliverLate()
		}
		if h.quiet() {
			return
		}
		h.clock.Advance(h.untilDue())
	}
	h.breaks(nothingWaits, "after 80 rounds", h.waiting())
}

// waiting describes what waits.
func (h *history) waiting() (text string) {
	for _, s := range h.sides {
		s.in(h.t, func(tx node.Tx) error {
			c, err := s.connection(tx)
			if err != nil {
				return err
			}
			queued, err := s.store.QueuedMessages(tx, s.agent.ID, c.ID)
			if err != nil {
				return err
			}
			for _, m := range queued {
				text += fmt.Sprintf("\n  %s %s %s of %s code=%q seq=%d position=%d tries=%d expires=%s", s.name, m.Type, m.ID, m.TaskUID, m.Code, m.Seq, m.Position, m.Tries, m.ExpiresAt)
			}
			next, ok, err := s.store.NextOutbox(tx)
			text += fmt.Sprintf("\n  %s now=%s next=%s %v", s.name, tx.Now(), next, ok)
			return err
		})
	}
	return text
}

// quiet says whether nothing waits that can still arrive: all of an active
// connection, of an ended one the notices.
func (h *history) quiet() bool {
	for _, s := range h.sides {
		c, _ := s.known(h).who()
		for _, m := range s.known(h).queued() {
			if c.Status == coordination.ConnActive || m.Type.Notice() {
				return false
			}
		}
	}
	return true
}

func (h *history) untilDue() time.Duration {
	next := outbox.MaxPause
	for _, s := range h.sides {
		s.in(h.t, func(tx node.Tx) error {
			at, ok, err := s.store.NextOutbox(tx)
			if ok {
				next = min(next, max(at.Sub(tx.Now()), time.Second))
			}
			return err
		})
	}
	return next
}
