package engine

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlink/policy"
)

func TestCapabilities(t *testing.T) {
	t.Parallel()
	limit := maxAmount(30)
	values := allowed("venue", "Lola")
	tests := []struct {
		name       string
		mode       policy.Mode
		grants     []policy.Grant
		structured bool
		want       policy.Answer
	}{
		{"an allow under constraints", policy.Assisted, grants(grant("", "disclose.*", policy.Allow, limit)), false,
			policy.Answer{Capability: "disclose.budget", Outcome: policy.Allowed, Reason: policy.GrantAllows, GrantID: "agent disclose.* allow", Constraints: &limit, Otherwise: policy.Held}},
		{"an allow without", policy.Assisted, grants(grant("", "disclose.*", policy.Allow)), false,
			policy.Answer{Capability: "disclose.budget", Outcome: policy.Allowed, Reason: policy.GrantAllows, GrantID: "agent disclose.* allow"}},
		{"an ask", policy.Assisted, grants(grant("", "disclose.*", policy.Ask)), false,
			policy.Answer{Capability: "disclose.budget", Outcome: policy.Held, Reason: policy.GrantAsks, GrantID: "agent disclose.* ask"}},
		{"an action of an autonomous agent", policy.Autonomous, grants(grant("", "action.*", policy.Allow, values)), false,
			policy.Answer{Capability: "action.reservation.book", Outcome: policy.Allowed, Reason: policy.GrantAllows, GrantID: "agent action.* allow", Constraints: &values, Otherwise: policy.Held}},
		{"an action that is held anyway", policy.Assisted, grants(grant("", "action.*", policy.Allow, values)), false,
			policy.Answer{Capability: "action.reservation.book", Outcome: policy.Held, Reason: policy.ModeNotAutonomous, GrantID: "agent action.* allow"}},
		{"a chat message is free text", policy.Assisted, nil, true,
			policy.Answer{Capability: "message.send", Outcome: policy.Held, Reason: policy.StructuredOnly}},
		{"a response may carry free text", policy.Assisted, nil, true,
			policy.Answer{Capability: "task.respond", Outcome: policy.Allowed, Reason: policy.ModeAllows, Otherwise: policy.Held}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.setRules(test.mode, test.grants...)
			request := policy.Request{AgentID: agentID, Contact: anna, Connection: "active", StructuredOnly: test.structured}
			got, err := b.Capabilities(at(noon), request, []string{test.want.Capability})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]policy.Answer{test.want}, got); diff != "" {
				t.Error(diff)
			}
			if len(b.store.decisions) != 0 || len(b.store.rows) != 0 {
				t.Error("a question was recorded as a decision")
			}
		})
	}
}

// TestCapabilitiesAndDecideNeverDisagree: whatever Capabilities says, Decide says
// for a request that fits, and where there is an Otherwise, that for one that
// does not.
func TestCapabilitiesAndDecideNeverDisagree(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.store.forget = true
	g := generator{rand.New(rand.NewPCG(7, 20260601))}
	otherwise := 0
	for range forecastRounds {
		list := fitting(g.grants())
		b.setRulesOf(agentID, g.mode(), g.status(), list)
		r := g.request(agentID)
		r.DenyOnly = false
		names := append(slices.Clone(exactNames), strange...)
		answers, err := b.Capabilities(at(noon), r, names)
		if err != nil {
			t.Fatal(err)
		}
		for i, answer := range answers {
			fits, misses := requestsFor(r, list, answer)
			if got := b.decide(t, fits).Outcome; got != answer.Outcome {
				t.Fatalf("%s: Capabilities says %+v, Decide %s\ngrants: %s\nrequest: %s", names[i], answer, got, shown(list), shown(fits))
			}
			want := answer.Outcome
			if answer.Otherwise != "" {
				want, otherwise = answer.Otherwise, otherwise+1
			}
			if got := b.decide(t, misses).Outcome; got != want {
				t.Fatalf("%s: Capabilities says %+v, Decide %s otherwise\ngrants: %s\nrequest: %s", names[i], answer, got, shown(list), shown(misses))
			}
		}
	}
	if otherwise < forecastRounds/10 {
		t.Errorf("only %d answers had an otherwise", otherwise)
	}
}

// fitting makes every constraint one that some request fits and another does not.
func fitting(list []policy.Grant) []policy.Grant {
	for i, g := range list {
		if g.Constraints.MaxAmount != nil {
			limit := 25.0
			list[i].Constraints.MaxAmount = &limit
		}
		for field := range g.Constraints.AllowedValues {
			list[i].Constraints.AllowedValues[field] = []any{25.0, "vegan"}
		}
	}
	return list
}

// requestsFor makes a request that fits the constraints of the grant that won and
// carries no free text but a chat message, and one that misses both.
func requestsFor(r policy.Request, list []policy.Grant, answer policy.Answer) (fits, misses policy.Request) {
	r.Capabilities, r.FreeText = []string{answer.Capability}, nil
	if answer.Capability == policy.MessageSend {
		r.FreeText = r.Capabilities
	}
	r.AmountField = "budget"
	fits, misses = r, r
	misses.FreeText = r.Capabilities
	fits.Fields = map[string]any{"budget": 25.0, "cuisine": 25.0, "dietaryNotes": []any{"vegan"}, "misspelt": "vegan"}
	misses.Fields = map[string]any{"budget": 26.0, "cuisine": 26.0, "dietaryNotes": []any{"vegan", "kosher"}, "misspelt": "other"}
	return fits, misses
}
