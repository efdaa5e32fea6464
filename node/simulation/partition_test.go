package simulation

import (
	"testing"
	"time"

	"agentlink/node"
	"agentlink/node/outbox"
)

// TestSimulationHealsAfterSixHours is G11: two nodes that were cut off from each
// other for six hours, and went on all the while, have sent everything, and agree,
// within twice the longest pause between attempts.
func TestSimulationHealsAfterSixHours(t *testing.T) {
	t.Parallel()
	for seed := uint64(1); seed <= 20; seed++ {
		w := borrowWorld(t)
		w.history(t, seed).partition(6 * time.Hour)
		w.giveBack()
	}
}

func (h *history) partition(length time.Duration) {
	h.lasting = true
	h.watches()
	h.connect()
	for _, s := range h.sides {
		h.opening(s)
	}
	for range 40 {
		h.step()
	}
	begin := h.clock.Now()
	for h.clock.Now().Sub(begin) < length {
		h.step()
		h.network.parted = true
		h.clock.Advance(time.Minute)
	}
	h.heal()
	h.arrivesWithin(2 * outbox.MaxPause)
	h.check("after the partition")
}

// arrivesWithin lets the workers go on until nothing waits, for so long.
func (h *history) arrivesWithin(limit time.Duration) {
	h.t.Helper()
	for end := h.clock.Now().Add(limit); ; h.clock.Advance(10 * time.Second) {
		for _, s := range h.sides {
			h.background(s)
		}
		for len(h.network.late) > 0 {
			h.network.deliverLate()
		}
		if h.outboxEmpty() {
			return
		}
		if h.clock.Now().After(end) {
			h.fail("after %s something still waits:%s", limit, h.waiting())
		}
	}
}

func (h *history) outboxEmpty() bool {
	waits := false
	for _, s := range h.sides {
		s.in(h.t, func(tx node.Tx) error {
			_, ok, err := s.store.NextOutbox(tx)
			waits = waits || ok
			return err
		})
	}
	return !waits
}
