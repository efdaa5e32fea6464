package engine

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlink/policy"
)

// TestImagineIsWhatWouldBe: rules that are imagined answer as the same rules do
// once they are in force, whatever they are and whatever is changed.
func TestImagineIsWhatWouldBe(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	g := generator{rand.New(rand.NewPCG(11, 20260601))}
	turned := 0
	for range forecastRounds {
		mode, status, list := g.mode(), g.status(), g.grants()
		change := policy.Change{Mode: g.mode(), Set: g.grants()}
		if len(list) > 0 {
			change.Remove = []string{list[0].ID}
		}
		b.setRulesOf(agentID, mode, status, list)
		before := b.imagine(t, policy.Change{})
		after := b.imagine(t, change)
		changed := b.changed(b.store.rules[agentID], change)
		changed.AgentID = "changed"
		b.store.rules["changed"] = changed
		for range requestsPerRules {
			r := g.request(agentID)
			was, would := before.Decide(r), after.Decide(r)
			if diff := cmp.Diff(b.decide(t, r).Answers, was); diff != "" {
				t.Fatalf("as it is (-decided +imagined):\n%s", diff)
			}
			r.AgentID = "changed"
			if diff := cmp.Diff(b.decide(t, r).Answers, would); diff != "" {
				t.Fatalf("as it would be (-decided +imagined):\n%s", diff)
			}
			asked, err := b.Capabilities(at(noon), r, r.Capabilities)
			if diff := cmp.Diff(asked, after.Capabilities(r, r.Capabilities)); diff != "" || err != nil {
				t.Fatalf("asked beforehand (-is +imagined): %v\n%s", err, diff)
			}
			if !cmp.Equal(was, would) {
				turned++
			}
		}
	}
	if turned < forecastRounds/2 {
		t.Errorf("the changes made a difference to %d requests only", turned)
	}
}

func (b *bench) imagine(t *testing.T, change policy.Change) policy.Imagined {
	t.Helper()
	imagined, err := b.Imagine(at(noon), agentID, change)
	if err != nil {
		t.Fatal(err)
	}
	return imagined
}

// TestImagineLeavesNoTrace: nothing is recorded or remembered, and what a caller
// does with an answer is its own affair.
func TestImagineLeavesNoTrace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.setRules(policy.Assisted)
	r := policy.Request{AgentID: agentID, Contact: anna, Connection: "active", Capabilities: []string{policy.MessageSend}}
	imagined := b.imagine(t, policy.Change{Mode: policy.Manual})
	first := imagined.Decide(r)
	kept := slices.Clone(first)
	first[0].Outcome = policy.Refused
	if diff := cmp.Diff(kept, imagined.Decide(r)); diff != "" || kept[0].Outcome != policy.Held {
		t.Errorf("the second time:\n%s", diff)
	}
	if len(b.store.decisions) != 0 || len(b.store.rows) != 0 {
		t.Error("what was imagined is recorded")
	}
	if got := b.decide(t, r); got.Outcome != policy.Allowed {
		t.Errorf("what was imagined is remembered: %s", got.Outcome)
	}
}

// TestImagineEvaluatesOnce: what no constraint reads makes no difference.
func TestImagineEvaluatesOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.setRules(policy.Assisted, grant("", "disclose.budget", policy.Allow, maxAmount(30)), grant("", "disclose.*", policy.Allow, allowed("cuisine", "thai")))
	imagined := b.imagine(t, policy.Change{})
	ask := func(fields map[string]any) policy.Outcome {
		return imagined.Decide(policy.Request{
			AgentID: agentID, Contact: anna, Connection: "active", AmountField: "budget", Fields: fields,
			Capabilities: []string{policy.DiscloseBudget, policy.DisclosePreferences},
		})[0].Outcome
	}
	for i := range 10 {
		if got := ask(map[string]any{"budget": 25.0, "cuisine": "thai", "notes": float64(i)}); got != policy.Allowed {
			t.Errorf("got %s", got)
		}
	}
	if got := len(imagined.(*imaginedRules).answers); got != 1 {
		t.Errorf("evaluated %d times, want once", got)
	}
	if got := ask(map[string]any{"budget": 31.0, "cuisine": "thai"}); got != policy.Held {
		t.Errorf("over the limit: got %s", got)
	}
}

// TestImagineReadsALimitAlone: the amount counts where a limit is the only constraint.
func TestImagineReadsALimitAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.setRules(policy.Assisted, grant("", "disclose.budget", policy.Allow, maxAmount(30)))
	imagined := b.imagine(t, policy.Change{})
	for budget, want := range map[float64]policy.Outcome{25: policy.Allowed, 31: policy.Held} {
		got := imagined.Decide(policy.Request{
			AgentID: agentID, Contact: anna, Connection: "active", AmountField: "budget", Fields: map[string]any{"budget": budget},
			Capabilities: []string{policy.DiscloseBudget},
		})[0].Outcome
		if got != want {
			t.Errorf("%v: got %s, want %s", budget, got, want)
		}
	}
}

// TestImagineGivesUp: rules of the owner's that run out of time are not asked for each
// of thousands of decisions.
func TestImagineGivesUp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.setOwn(ownHead + `decision := "keep"`)
	b.setRules(policy.Autonomous)
	imagined := b.imagine(t, policy.Change{}).(*imaginedRules)
	for range maxStuck { // so that each counts as out of time at once
		imagined.set.overlay.stuck <- struct{}{}
	}
	for range 3 * maxLate {
		if got := imagined.Decide(toAnna("message.send"))[0]; got.Outcome != policy.Refused || got.Reason != policy.OwnRulesFailed {
			t.Errorf("got %+v", got)
		}
	}
	if imagined.late != maxLate {
		t.Errorf("they ran out of time %d times, want %d", imagined.late, maxLate)
	}
}
