package simulation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSimulationRepeats: a seed decides all that happens, whatever happened before
// in the same world.
func TestSimulationRepeats(t *testing.T) {
	t.Parallel()
	seeds := []uint64{1, firstEager, 16, 184, firstEager + 7}
	if raceDetector {
		seeds = seeds[:2]
	}
	for _, seed := range seeds {
		fresh := newContacts(t)
		first := fresh.told(t, seed)
		fresh.close()
		w := borrowWorld(t)
		w.told(t, seed+1)
		w.giveBack()
		w = borrowWorld(t)
		again := w.told(t, seed)
		w.giveBack()
		if diff := cmp.Diff(first, again, cmp.AllowUnexported(tale{}, entry{})); diff != "" {
			t.Errorf("seed %d went otherwise in a world that was used before (-first +again):\n%s", seed, diff)
		}
		if len(first.trace) < steps/2 || len(first.logs[0]) < 20 {
			t.Errorf("seed %d: %d lines, %d entries", seed, len(first.trace), len(first.logs[0]))
		}
	}
}

// tale is what a history did, and what the audit logs of both sides say of it.
type tale struct {
	trace []string
	logs  [2]map[entry]int
}

func (w *world) told(t testing.TB, seed uint64) tale {
	h := w.history(t, seed)
	h.lives()
	return tale{h.trace, [2]map[entry]int{h.sides[0].entries(h), h.sides[1].entries(h)}}
}
