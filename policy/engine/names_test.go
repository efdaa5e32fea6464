package engine

import (
	"math/rand/v2"
	"slices"
	"testing"

	"agentlink/policy"
)

// TestNamesAreTheSameInGoAndRego: Go refuses grants for what is no capability, the
// rules refuse requests for it; both mean the same names.
func TestNamesAreTheSameInGoAndRego(t *testing.T) {
	t.Parallel()
	g := generator{rand.New(rand.NewPCG(11, 20260601))}
	names := append(slices.Clone(exactNames), strange...)
	for range 4_000 {
		names = append(names, g.name())
	}
	slices.Sort(names)
	names = slices.Compact(names)
	b := newBench(t)
	b.setRules(policy.Autonomous, grant("", "disclose.*", policy.Allow), grant("", "action.*", policy.Allow))
	valid := 0
	for batch := range slices.Chunk(names, 100) {
		for _, answer := range b.decide(t, toAnna(batch...)).Answers {
			known := answer.Reason != policy.UnknownCapability
			if known != policy.ValidCapability(answer.Capability) {
				t.Errorf("%q: the rules say %s, ValidCapability %v", answer.Capability, answer.Reason, !known)
			}
			if known {
				valid++
			}
		}
	}
	if valid < 200 || valid > len(names)-200 {
		t.Errorf("%d of %d names are valid, which proves little", valid, len(names))
	}
}

// name is close to a capability, and often one.
func (g generator) name() string {
	name := one(g, "disclose", "action", "task", "message", "Action", "disclose.disclose")
	for range g.IntN(4) {
		name += one(g, ".", ".", ".", "", "..")
		for range g.IntN(70) {
			name += one(g, "a", "z", "0", "9", "-", "_", "a", "b", "c", "m", "o", "p")
		}
		if g.IntN(12) == 0 {
			name += one(g, "A", "é", " ", "\n", "*", "\x00", "/", "ſ")
		}
	}
	return name
}
