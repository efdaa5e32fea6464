package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"agentlink/policy"
)

// ownCase is an overlay with what it says written a second time, in Go: a word for
// each capability, or false where it gives no answer.
type ownCase struct {
	text string
	says func(r policy.Request, core []verdict) ([]string, bool)
}

func allSay(word string) func(policy.Request, []verdict) ([]string, bool) {
	return func(r policy.Request, _ []verdict) ([]string, bool) {
		return slices.Repeat([]string{word}, len(r.Capabilities)), slices.Contains([]string{"keep", "hold", "refuse"}, word)
	}
}

func (g generator) word() string {
	return one(g, "keep", "keep", "keep", "hold", "hold", "hold", "refuse", "refuse", "refuse", "allow")
}

// overlay draws one. Some of them always fail and some never narrow.
func (g generator) overlay() ownCase {
	a, b, contact := g.word(), g.word(), g.contact()
	either := func(condition string, holds func(policy.Request, []verdict) bool) ownCase {
		return ownCase{fmt.Sprintf("decision := %q if %s\nelse := %q", a, condition, b), func(r policy.Request, core []verdict) ([]string, bool) {
			if holds(r, core) {
				return allSay(a)(r, core)
			}
			return allSay(b)(r, core)
		}}
	}
	switch g.IntN(12) {
	case 0:
		return ownCase{fmt.Sprintf("decision := %q", a), allSay(a)}
	case 1:
		return either(fmt.Sprintf("input.contact == %q", contact), func(r policy.Request, _ []verdict) bool { return r.Contact == contact })
	case 2:
		return either("input.denyOnly", func(r policy.Request, _ []verdict) bool { return r.DenyOnly })
	case 3:
		return either(`"hold" in {answer | some answer in input.answers}`, func(_ policy.Request, core []verdict) bool {
			return slices.ContainsFunc(core, func(v verdict) bool { return v.outcome == "hold" })
		})
	case 4:
		return either("is_number(input.amount)", func(r policy.Request, _ []verdict) bool { return hasAmount(r) })
	case 5:
		return either("count(input.freeText) > 1", func(r policy.Request, _ []verdict) bool {
			return len(slices.DeleteFunc(slices.Clone(r.Capabilities), func(c string) bool { return !slices.Contains(r.FreeText, c) })) > 1
		})
	case 6:
		return either(`input.fields.cuisine == "thai"`, func(r policy.Request, _ []verdict) bool { return r.Fields["cuisine"] == "thai" })
	case 7: // undefined towards others
		return ownCase{fmt.Sprintf("decision := %q if input.contact == %q", a, contact), func(r policy.Request, core []verdict) ([]string, bool) {
			words, ok := allSay(a)(r, core)
			return words, ok && r.Contact == contact
		}}
	case 8: // contradicts itself towards one
		return ownCase{fmt.Sprintf("decision := \"hold\"\ndecision := \"keep\" if input.contact == %q", contact), func(r policy.Request, core []verdict) ([]string, bool) {
			return slices.Repeat([]string{"hold"}, len(r.Capabilities)), r.Contact != contact
		}}
	case 9:
		return ownCase{one(g, "decision := true", "decision := [\"keep\"]", "decision := {}", "decision := null"), allSay("")}
	}
	prefix := one(g, "disclose.", "action.", "task.", "message.send")
	return ownCase{
		fmt.Sprintf("decision := {c: word(c) | some c in input.capabilities}\nword(c) := %q if startswith(c, %q)\nelse := %q", a, prefix, b),
		func(r policy.Request, _ []verdict) (words []string, ok bool) {
			ok = true
			for _, capability := range r.Capabilities {
				word := b
				if strings.HasPrefix(capability, prefix) {
					word = a
				}
				words = append(words, word)
				ok = ok && word != "" && word != "allow"
			}
			return words, ok
		},
	}
}

// hasAmount says whether the request has an amount that JSON keeps exactly.
func hasAmount(r policy.Request) bool {
	value, err := plain(r.Fields[r.AmountField], 0)
	_, isNumber := value.(float64)
	return err == nil && isNumber && r.AmountField != ""
}

var strictness = map[string]int{"allow": 0, "keep": 0, "hold": 1, "refuse": 2}

// narrowed is the second reading of "the answer is the stricter of core and
// overlay".
func (o ownCase) narrowed(r policy.Request, core []verdict) []verdict {
	words, answered := o.says(r, core)
	nothingLeft := !slices.ContainsFunc(core, func(v verdict) bool { return v.outcome != "refuse" })
	result := slices.Clone(core)
	for i := range result {
		outcome, reason := "refuse", "own_rules_failed"
		if answered {
			outcome, reason = words[i], "own_rules_"+words[i]
		}
		if r.DenyOnly && outcome == "hold" {
			continue
		}
		if strictness[outcome] > strictness[result[i].outcome] && !nothingLeft {
			result[i].outcome, result[i].reason = outcome, reason
		}
	}
	return result
}

// TestNoOverlayWidens asks randomCases requests under random overlays: each answer is
// the one that the second reading gives, and none is looser than the node's.
func TestNoOverlayWidens(t *testing.T) {
	t.Parallel()
	const shards = 8
	var mu sync.Mutex
	met := map[string]int{}
	t.Run("shards", func(t *testing.T) {
		for shard := range shards {
			t.Run(fmt.Sprint("seed=", shard), func(t *testing.T) {
				t.Parallel()
				turns := map[string]int{}
				narrowShard(t, uint64(shard), randomCases/shards, turns)
				mu.Lock()
				defer mu.Unlock()
				for turn, n := range turns {
					met[turn] += n
				}
			})
		}
	})
	t.Logf("%d cases: %v", randomCases, met)
	for _, turn := range []string{"allow hold own_rules_hold", "allow refuse own_rules_refuse", "allow refuse own_rules_failed", "hold refuse own_rules_refuse", "hold refuse own_rules_failed"} {
		if met[turn] < randomCases/1000 {
			t.Errorf("only %d answers turned %s", met[turn], turn)
		}
	}
}

// rulesPerOverlay is how many sets of rules each overlay is met with: compiling one
// takes as long as fifty answers.
const rulesPerOverlay = 10

func narrowShard(t *testing.T, seed uint64, cases int, turns map[string]int) {
	g := generator{rand.New(rand.NewPCG(seed, 20260602))}
	b := newBench(t)
	b.store.forget = true
	var overlay ownCase
	for done := 0; done < cases; {
		if done%(requestsPerRules*rulesPerOverlay) == 0 {
			overlay = g.overlay()
			b.setOwn(ownHead + overlay.text)
		}
		agent := fmt.Sprint("agent ", done)
		mode, grants := g.mode(), g.grants()
		b.setRulesOf(agent, mode, policy.Active, grants)
		for range requestsPerRules {
			request := g.request(agent)
			done++
			q := question{
				now: noon, mode: string(mode), grants: grants, contact: request.Contact, connection: request.Connection,
				structuredOnly: request.StructuredOnly, freeText: setOf(request.FreeText), fields: request.Fields,
				amountField: request.AmountField, denyOnly: request.DenyOnly,
			}
			core := make([]verdict, len(request.Capabilities))
			for i, capability := range request.Capabilities {
				core[i] = q.ask(capability)
			}
			want := overlay.narrowed(request, core)
			decision := b.decide(t, request)
			for i, answer := range decision.Answers {
				got := verdict{string(answer.Outcome), string(answer.Reason), answer.GrantID}
				if got != want[i] {
					t.Fatalf("seed %d, case %d: %s: the engine says %v, the oracle %v, without overlay %v\n%s\n%s", seed, done, answer.Capability, got, want[i], core[i], overlay.text, shown(request))
				}
				if strictness[got.outcome] < strictness[core[i].outcome] {
					t.Fatalf("seed %d, case %d: %s was widened from %v to %v by\n%s", seed, done, answer.Capability, core[i], got, overlay.text)
				}
				if got != core[i] {
					turns[core[i].outcome+" "+got.outcome+" "+got.reason]++
				}
			}
		}
		delete(b.store.rules, agent)
	}
}
