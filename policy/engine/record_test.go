package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
	"agentlink/policy"
)

func TestReevaluate(t *testing.T) {
	t.Parallel()
	held := grant(anna, "disclose.*", policy.Ask)
	tests := []struct {
		name   string
		change policy.Change
		want   policy.Answer
	}{
		{"no change", policy.Change{}, answer(policy.Held, policy.GrantAsks, held.ID)},
		{"an allow added", policy.Change{Set: grants(policy.Grant{Capability: "disclose.dietary", Mode: policy.Allow})}, answer(policy.Allowed, policy.GrantAllows, policy.DryRun)},
		{"an allow whose constraints the recorded fields do not match", policy.Change{Set: grants(grant(anna, "disclose.dietary", policy.Allow, allowed("dietaryNotes", "kosher")))}, answer(policy.Held, policy.ConstraintsNotMatched, anna+" disclose.dietary allow")},
		{"an allow whose constraints the recorded fields match", policy.Change{Set: grants(grant(anna, "disclose.dietary", policy.Allow, allowed("dietaryNotes", "vegan")))}, answer(policy.Allowed, policy.GrantAllows, anna+" disclose.dietary allow")},
		{"a deny for another contact", policy.Change{Set: grants(grant("bert@b.example", "disclose.dietary", policy.Deny))}, answer(policy.Held, policy.GrantAsks, held.ID)},
		{"the grant removed", policy.Change{Remove: []string{held.ID}}, answer(policy.Refused, policy.NoGrant, "")},
		{"the grant replaced by one that has expired", policy.Change{Set: grants(policy.Grant{Contact: anna, Capability: "disclose.*", Mode: policy.Ask, ExpiresAt: noon})}, answer(policy.Refused, policy.NoGrant, "")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.setRules(policy.Assisted, held)
			request := with(toAnna("disclose.dietary"), func(r *policy.Request) { r.Fields = map[string]any{"dietaryNotes": []string{"vegan"}} })
			decided := b.decide(t, request)
			got, err := b.Reevaluate(at(noon), decided.ID, test.change)
			if err != nil {
				t.Fatal(err)
			}
			test.want.Capability = "disclose.dietary"
			if diff := cmp.Diff([]policy.Answer{test.want}, got.Answers); diff != "" || got.Outcome != test.want.Outcome {
				t.Errorf("outcome %s\n%s", got.Outcome, diff)
			}
			if len(b.store.decisions) != 1 || len(b.store.rows) != 1 {
				t.Error("what was only imagined is recorded")
			}
			if again := b.decide(t, request); again.Outcome != policy.Held {
				t.Errorf("what was only imagined is remembered: %s", again.Outcome)
			}
		})
	}
}

func TestReevaluateUnderAnotherMode(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.setRules(policy.Assisted)
	decided := b.decide(t, toAnna("message.send"))
	got, err := b.Reevaluate(at(noon), decided.ID, policy.Change{Mode: policy.Manual})
	if err != nil || decided.Outcome != policy.Allowed || got.Outcome != policy.Held || got.Answers[0].Reason != policy.ModeManual {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestReevaluateOfNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err := b.Reevaluate(at(noon), "none", policy.Change{})
	if _, explained := b.Explain(at(noon), "none"); node.CodeOf(err) != node.NotFound || node.CodeOf(explained) != node.NotFound {
		t.Errorf("got %v, %v", err, explained)
	}
}
