package simulation

import (
	"fmt"
	"os"
	"strconv"
	"testing"
)

// maxHunt is in how many histories a planted fault may stay hidden.
const maxHunt = 2000

// TestSimulationFindsPlantedFaults plants one fault after the other and runs
// seeds until one of them breaks an invariant.
func TestSimulationFindsPlantedFaults(t *testing.T) {
	if raceDetector {
		t.Skip("planted faults are hunted without -race: make sim")
	}
	t.Parallel()
	for i := range faults {
		f := &faults[i]
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			seed, found := hunt(t, f)
			if found == nil {
				t.Fatalf("not found in %d seeds", maxHunt)
			}
			t.Logf("%s: found by %s with seed %d", f.name, found.invariant, seed)
			if found.invariant == "" {
				t.Errorf("found by no invariant:\n%s", found.report)
			}
		})
	}
}

// TestSimulationFault replays one planted fault with one seed, and fails as the
// simulation does: AGENTLINK_SIM_FAULT is its place in the list, from 1.
func TestSimulationFault(t *testing.T) {
	which, seed := os.Getenv("AGENTLINK_SIM_FAULT"), os.Getenv("AGENTLINK_SIM_SEED")
	if which == "" {
		return // only by hand
	}
	n, err := strconv.Atoi(which)
	must(t, err)
	number, err := strconv.ParseUint(seed, 10, 64)
	must(t, err)
	w := borrowWorld(t)
	defer w.close()
	w.fault = &faults[n-1]
	w.run(t, number)
}

// finding is how a seed failed.
type finding struct{ invariant, report string }

func hunt(t *testing.T, f *fault) (seed uint64, found *finding) {
	if found = tryFault(t, f, f.seed); found != nil {
		return f.seed, found
	}
	for place := range maxHunt {
		seed = nth(place)
		if found = tryFault(t, f, seed); found != nil {
			return seed, found
		}
	}
	return 0, nil
}

func tryFault(t *testing.T, f *fault, seed uint64) (found *finding) {
	w := borrowWorld(t)
	w.fault = f
	quiet := &hunted{TB: t}
	var h *history
	defer func() {
		if r := recover(); r != nil {
			report, ok := r.(string)
			if !ok {
				panic(r)
			}
			found = &finding{h.broken, report}
			w.close()
			return
		}
		w.giveBack()
	}()
	h = w.history(quiet, seed)
	h.lives()
	return nil
}

// hunted is a test in which a failure is what is hoped for.
type hunted struct{ testing.TB }

func (h *hunted) Fatal(args ...any)                 { panic(fmt.Sprint(args...)) }
func (h *hunted) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
