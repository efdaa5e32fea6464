package engine

import (
	"os"
	"regexp"
	"testing"
	"time"

	"agentlink/policy"
)

// TestExamplesOfTheDocs takes the examples from node/docs/overlay.md as they stand
// there.
func TestExamplesOfTheDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../node/docs/overlay.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```rego\n(.*?)```").FindAllSubmatch(page, -1)
	if len(found) != 2 {
		t.Fatalf("%d examples, want 2", len(found))
	}
	night, dinner := string(found[0][1]), string(found[1][1])
	proposal := func(fields map[string]any) policy.Request {
		return with(toAnna("task.propose"), func(r *policy.Request) { r.Fields, r.AmountField = fields, "budgetPerPerson" })
	}
	// Vienna is two hours before UTC in June.
	tests := []struct {
		name, source string
		at           time.Time
		request      policy.Request
		want         policy.Outcome
	}{
		{"at noon", night, noon, toAnna("message.send"), policy.Allowed},
		{"at 21:59", night, noon.Add(7*time.Hour + 59*time.Minute), toAnna("message.send"), policy.Allowed},
		{"at 22:00", night, noon.Add(8 * time.Hour), toAnna("message.send"), policy.Refused},
		{"at 6:59", night, noon.Add(16*time.Hour + 59*time.Minute), toAnna("task.propose"), policy.Refused},
		{"at 7:00", night, noon.Add(17 * time.Hour), toAnna("task.propose"), policy.Allowed},
		{"200 for two", dinner, noon, proposal(map[string]any{"budgetPerPerson": 100.0, "partySize": 2.0}), policy.Allowed},
		{"202 for two", dinner, noon, proposal(map[string]any{"budgetPerPerson": 101.0, "partySize": 2.0}), policy.Refused},
		{"nobody knows for how many", dinner, noon, proposal(map[string]any{"budgetPerPerson": 10.0}), policy.Refused},
		{"a price that is no number", dinner, noon, proposal(map[string]any{"budgetPerPerson": "10", "partySize": 2.0}), policy.Refused},
		{"no price", dinner, noon, proposal(map[string]any{"partySize": 20.0}), policy.Allowed},
		{"a message", dinner, noon, toAnna("message.send"), policy.Allowed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.setOwn(test.source)
			b.setRules(policy.Assisted)
			test.request.AgentID = agentID
			decision, err := b.Decide(at(test.at), test.request)
			if err != nil || decision.Outcome != test.want {
				t.Errorf("got %s %+v, %v; want %s", decision.Outcome, decision.Answers, err, test.want)
			}
		})
	}
}
