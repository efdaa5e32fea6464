package policy_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
	"agentlink/policy"
)

func (b *bundle) foresee(t *testing.T, plan policy.Plan, contacts ...policy.Toward) (foreseen policy.Foreseen) {
	t.Helper()
	if err := b.store.View(t.Context(), func(tx node.Tx) (err error) {
		foreseen, err = b.Foresee(tx, plan, contacts)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return foreseen
}

// ask has the agent ask for something, of which a decision stays.
func (b *bundle) ask(t *testing.T, r policy.Request) (decision policy.Decision) {
	t.Helper()
	if r.Connection == "" {
		r.Connection = "active"
	}
	b.in(t, func(tx node.Tx) (err error) {
		decision, err = b.engine.Decide(tx, r)
		return err
	})
	return decision
}

// turns writes where a plan makes a difference: "[anna]: disclose.dietary hold → allow".
func turns(f policy.Foreseen) (list []string) {
	for i, place := range f.Before {
		for j, before := range place.Answers {
			if after := f.After[i].Answers[j]; before.Differs(after) {
				list = append(list, fmt.Sprintf("%v: %s %s → %s", f.After[i].Contacts, after.Capability, before.Outcome, after.Outcome))
			}
		}
	}
	return list
}

// TestForeseeTowardsContacts: an exact agent-wide allow beats a contact's
// wildcard, an agent-wide wildcard does not.
func TestForeseeTowardsContacts(t *testing.T) {
	t.Parallel()
	const bert, cleo = "bert@b.example", "cleo@c.example"
	b := setup(t)
	agent, _ := b.agent(t, "ada", policy.Assisted)
	for _, contact := range []string{anna, bert, cleo} {
		b.in(t, func(tx node.Tx) error { return b.DefaultGrants(tx, owner, agent.ID, contact) })
	}
	b.set(t, policy.NewGrant{AgentID: agent.ID, Contact: cleo, Capability: "disclose.dietary", Mode: policy.Deny})
	contacts := []policy.Toward{{Contact: anna}, {Contact: bert}, {Contact: cleo}}
	plan := func(contact, capability string) policy.Plan {
		return policy.Plan{AgentID: agent.ID, Grant: &policy.NewGrant{Contact: contact, Capability: capability, Mode: policy.Allow}}
	}
	tests := []struct {
		name string
		plan policy.Plan
		want []string
	}{
		{"exact, agent-wide", plan("", "disclose.dietary"), []string{
			"[]: disclose.dietary refuse → allow", "[anna@a.example bert@b.example]: disclose.dietary hold → allow"}},
		{"wildcard, agent-wide", plan("", "disclose.*"), []string{
			"[]: disclose.availability refuse → allow", "[]: disclose.preferences refuse → allow", "[]: disclose.dietary refuse → allow",
			"[]: disclose.budget refuse → allow", "[]: disclose.notes refuse → allow"}},
		{"of a contact beside an ask", plan(anna, "disclose.*"), nil},
		{"an own name", plan(bert, "disclose.shoe-size"), []string{"[bert@b.example]: disclose.shoe-size hold → allow"}},
		{"a mode", policy.Plan{AgentID: agent.ID, Mode: policy.Autonomous}, []string{
			"[]: connection.request hold → allow",
			"[anna@a.example bert@b.example]: connection.request hold → allow", "[cleo@c.example]: connection.request hold → allow"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			foreseen := b.foresee(t, test.plan, contacts...)
			if diff := cmp.Diff(test.want, turns(foreseen)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestForeseeTowardsOne: a plan for one contact is foreseen with what holds for
// that one: free text to it is held already.
func TestForeseeTowardsOne(t *testing.T) {
	t.Parallel()
	const bert = "bert@b.example"
	b := setup(t)
	agent, _ := b.agent(t, "ada", policy.Assisted)
	contacts := []policy.Toward{{Contact: anna, StructuredOnly: true}, {Contact: bert}}
	for contact, want := range map[string][]string{anna: nil, bert: {"[bert@b.example]: message.send allow → hold"}} {
		plan := policy.Plan{AgentID: agent.ID, Grant: &policy.NewGrant{Contact: contact, Capability: "message.send", Mode: policy.Ask}}
		if diff := cmp.Diff(want, turns(b.foresee(t, plan, contacts...))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", contact, diff)
		}
	}
}

// TestForeseeInsteadOf: only in place of the contact's ask does an allow count.
func TestForeseeInsteadOf(t *testing.T) {
	t.Parallel()
	b := setup(t)
	agent, _ := b.agent(t, "ada", policy.Assisted)
	b.in(t, func(tx node.Tx) error { return b.DefaultGrants(tx, owner, agent.ID, anna) })
	plan := policy.Plan{AgentID: agent.ID, Grant: &policy.NewGrant{Contact: anna, Capability: "disclose.*", Mode: policy.Allow}, Instead: true}
	foreseen := b.foresee(t, plan, policy.Toward{Contact: anna, StructuredOnly: true})
	if got := turns(foreseen); len(got) != 5 || len(foreseen.Ends) != 1 || foreseen.Ends[0].Mode != policy.Ask {
		t.Errorf("turns %v, ends %+v", got, foreseen.Ends)
	}
	b.carryOut(t, plan)
	if again := b.foresee(t, plan); turns(again) != nil || len(again.Ends) != 0 {
		t.Errorf("once made it still changes %v, ends %+v", turns(again), again.Ends)
	}
}

// TestForeseeForADisabledAgent: everything is refused; what is shown is what
// holds once it is enabled.
func TestForeseeForADisabledAgent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	agent, _ := b.agent(t, "ada", policy.Assisted)
	b.in(t, func(tx node.Tx) error { _, err := b.SetStatus(tx, owner, agent.ID, policy.Disabled); return err })
	foreseen := b.foresee(t, policy.Plan{AgentID: agent.ID, Mode: policy.Autonomous})
	if diff := cmp.Diff([]string{"[]: connection.request hold → allow"}, turns(foreseen)); diff != "" || !foreseen.AsIfEnabled {
		t.Errorf("as if enabled %t:\n%s", foreseen.AsIfEnabled, diff)
	}
}

// TestEverywhere: what holds now, contact by contact.
func TestEverywhere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	agent, _ := b.agent(t, "ada", policy.Assisted)
	b.in(t, func(tx node.Tx) error { return b.DefaultGrants(tx, owner, agent.ID, anna) })
	want := map[string]map[string]policy.Outcome{
		"[]":               {"disclose.dietary": policy.Refused, "message.send": policy.Allowed},
		"[" + anna + "]":   {"disclose.dietary": policy.Held, "message.send": policy.Allowed},
		"[bert@b.example]": {"disclose.dietary": policy.Refused, "message.send": policy.Held},
	}
	got := map[string]map[string]policy.Outcome{}
	b.in(t, func(tx node.Tx) error {
		places, err := b.Everywhere(tx, agent.ID, []policy.Toward{{Contact: anna}, {Contact: "bert@b.example", StructuredOnly: true}})
		for _, place := range places {
			at := map[string]policy.Outcome{}
			for _, answer := range place.Answers {
				if answer.Capability == "disclose.dietary" || answer.Capability == "message.send" {
					at[answer.Capability] = answer.Outcome
				}
			}
			got[fmt.Sprint(place.Contacts)] = at
		}
		return err
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	b.refused(t, node.NotFound, func(tx node.Tx) error { _, err := b.Everywhere(tx, "none", nil); return err })
}

// TestForeseePast: the same facts under the rules as they are and as they would be.
func TestForeseePast(t *testing.T) {
	t.Parallel()
	b := setup(t)
	agent, _ := b.agent(t, "ada", policy.Assisted)
	other, _ := b.agent(t, "ben", policy.Assisted)
	to := func(capabilities ...string) policy.Request {
		return policy.Request{AgentID: agent.ID, Contact: anna, Capabilities: capabilities}
	}
	tooOld := b.ask(t, to("disclose.dietary"))
	b.clock.Advance(30*24*time.Hour + time.Second)
	refused := b.ask(t, to("task.propose", "disclose.dietary"))
	b.ask(t, to("message.send"))
	b.ask(t, to("disclose.budget"))
	byNode := to("disclose.dietary")
	byNode.DenyOnly = true
	b.ask(t, byNode)
	foreign := to("disclose.dietary")
	foreign.AgentID = other.ID
	b.ask(t, foreign)
	limited := to("disclose.dietary")
	limited.Fields = map[string]any{"dietaryNotes": []any{"kosher"}}
	b.ask(t, limited)
	denied := b.set(t, policy.NewGrant{AgentID: agent.ID, Contact: anna, Capability: "disclose.dietary", Mode: policy.Deny})
	b.ask(t, byNode) // the newest of all
	b.in(t, func(tx node.Tx) error { _, err := b.RemoveGrant(tx, owner, denied.ID); return err })

	grant := policy.NewGrant{Capability: "disclose.dietary", Mode: policy.Allow, Constraints: values("dietaryNotes", "kosher")}
	past := b.foresee(t, policy.Plan{AgentID: agent.ID, Grant: &grant}).Past
	if past.Looked != 2 || past.More || len(past.Turned) != 2 {
		t.Fatalf("looked at %d, more %t, turned %+v", past.Looked, past.More, past.Turned)
	}
	for i, want := range []policy.Outcome{policy.Allowed, policy.Held} { // the newest first
		got := past.Turned[i]
		if got.Before != policy.Refused || got.After != want || len(got.Why) != 1 || got.Why[0].After.Capability != "disclose.dietary" {
			t.Errorf("turned %d: %+v", i, got)
		}
	}
	if past.Turned[1].ID != refused.ID || past.Turned[1].ID == tooOld.ID {
		t.Errorf("turned %s", past.Turned[1].ID)
	}

	manual := b.foresee(t, policy.Plan{AgentID: agent.ID, Mode: policy.Manual}).Past
	if manual.Looked != 4 || len(manual.Turned) != 1 || manual.Turned[0].After != policy.Held || manual.Turned[0].Facts.Capabilities[0] != "message.send" {
		t.Errorf("under manual: %+v", manual)
	}
}

// TestForeseeIsBounded: beyond the newest decisions it says that there are more.
func TestForeseeIsBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	agent, _ := b.agent(t, "ada", policy.Assisted)
	b.in(t, func(tx node.Tx) error {
		for i := range 2001 {
			if err := b.store.InsertDecision(tx, policy.Record{
				Decision: policy.Decision{ID: fmt.Sprintf("d%04d", i), Outcome: policy.Allowed, RulesRev: 1, Answers: []policy.Answer{{Capability: "message.send"}}},
				OwnerID:  "owner", AgentID: agent.ID, At: begins,
				Facts: policy.Facts{Contact: anna, Connection: "active", Capabilities: []string{"message.send"}},
			}); err != nil {
				return err
			}
		}
		return nil
	})
	past := b.foresee(t, policy.Plan{AgentID: agent.ID, Mode: policy.Manual}).Past
	if past.Looked != 2000 || !past.More || len(past.Turned) != 2000 || past.Turned[1999].ID != "d0001" {
		t.Errorf("looked at %d, more %t, turned %d", past.Looked, past.More, len(past.Turned))
	}
}

// TestForeseenIsWhatHappens: the answers that were shown are those that the rules
// give once the plan is made.
func TestForeseenIsWhatHappens(t *testing.T) {
	t.Parallel()
	b := setup(t)
	agent, _ := b.agent(t, "ada", policy.Assisted)
	b.in(t, func(tx node.Tx) error { return b.DefaultGrants(tx, owner, agent.ID, anna) })
	for _, plan := range []policy.Plan{
		{Grant: &policy.NewGrant{Capability: "disclose.budget", Mode: policy.Allow, Constraints: upTo(30)}},
		{Grant: &policy.NewGrant{Contact: anna, Capability: "disclose.*", Mode: policy.Deny}},
		{Mode: policy.Autonomous},
		{Grant: &policy.NewGrant{Contact: anna, Capability: "disclose.*", Mode: policy.Allow}, Instead: true},
		{Grant: &policy.NewGrant{Capability: "action.my.own", Mode: policy.Allow}},
		{Mode: policy.Manual},
	} {
		plan.AgentID = agent.ID
		foreseen := b.foresee(t, plan, policy.Toward{Contact: anna})
		b.carryOut(t, plan)
		for _, place := range foreseen.After {
			contact := ""
			if len(place.Contacts) > 0 {
				contact = place.Contacts[0]
			}
			want, got := place.Answers, []policy.Answer{}
			var touched []string
			if plan.Grant != nil {
				touched = []string{plan.Grant.Capability}
			}
			b.in(t, func(tx node.Tx) (err error) {
				got, err = b.Effective(tx, agent.ID, contact, touched...)
				return err
			})
			for i := range got { // a grant that is new has its id only now
				if i < len(want) && want[i].GrantID == policy.DryRun {
					want[i].GrantID = got[i].GrantID
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%+v towards %q (-shown +is):\n%s", plan, contact, diff)
			}
		}
	}
}
