package policy_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/store/storetest"
	"agentlink/policy"
)

// TestDecisionIsKept: with its facts, reasons, grants and version, and one row in
// the audit log.
func TestDecisionIsKept(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, open storetest.Opener) {
		b := over(t, open(t), nil)
		agent, _ := b.agent(t, "ada", policy.Assisted)
		grant := b.set(t, policy.NewGrant{AgentID: agent.ID, Contact: anna, Capability: "disclose.dietary", Mode: policy.Allow, Constraints: values("dietaryNotes", "vegan")})
		request := policy.Request{
			AgentID: agent.ID, Contact: anna, Connection: "active", Capabilities: []string{"task.propose", "disclose.dietary"},
			Fields: map[string]any{"dietaryNotes": []any{"kosher"}}, Subject: "m1", TaskUID: "t1",
		}
		var decision policy.Decision
		b.in(t, func(tx node.Tx) (err error) {
			decision, err = b.engine.Decide(tx, request)
			return err
		})
		b.in(t, func(tx node.Tx) error {
			record, err := b.engine.Explain(tx, decision.ID)
			if diff := cmp.Diff(decision, record.Decision); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(request.Fields, record.Facts.Fields); diff != "" || record.Subject != "m1" || record.TaskUID != "t1" {
				t.Errorf("kept for %s, %s\n%s", record.Subject, record.TaskUID, diff)
			}
			again, err2 := b.engine.Reevaluate(tx, decision.ID, policy.Change{})
			if diff := cmp.Diff(decision.Answers, again.Answers); diff != "" {
				t.Errorf("evaluated again (-want +got):\n%s", diff)
			}
			other, err3 := b.engine.Reevaluate(tx, decision.ID, policy.Change{Remove: []string{grant.ID}})
			if other.Outcome != policy.Refused {
				t.Errorf("without the grant: %s, want refuse", other.Outcome)
			}
			return errors.Join(err, err2, err3)
		})
		if rows := b.logged(t, audit.PolicyDecided); len(rows) != 1 || rows[0].Subject != decision.ID {
			t.Errorf("the audit log has %+v", rows)
		}
	})
}

// TestAnotherReplicaNeverAllowsWhatWasDenied: two engines on one database; what
// one of them has remembered ends with the other's commit.
func TestAnotherReplicaNeverAllowsWhatWasDenied(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, fresh func(*testing.T) storetest.Database) {
		database := fresh(t)
		one, two := over(t, database.Open(t), nil), over(t, database.Open(t), nil)
		agent, _ := one.agent(t, "ada", policy.Assisted)
		for range 5 {
			grant := one.set(t, policy.NewGrant{AgentID: agent.ID, Contact: anna, Capability: "disclose.dietary", Mode: policy.Allow})
			for _, replica := range []*bundle{one, two} {
				if got := replica.decide(t, agent.ID, "disclose.dietary").Outcome; got != policy.Allowed {
					t.Fatalf("got %s, want allow", got)
				}
			}
			one.in(t, func(tx node.Tx) error { _, err := one.RemoveGrant(tx, owner, grant.ID); return err })
			for _, replica := range []*bundle{two, one} {
				if got := replica.decide(t, agent.ID, "disclose.dietary").Outcome; got != policy.Refused {
					t.Fatalf("got %s after the grant was removed, want refuse", got)
				}
			}
		}
	})
}

// TestARolledBackGrantIsForgotten: the rules of a transaction that came to nothing
// were evaluated in it; the next change takes the same revision.
func TestARolledBackGrantIsForgotten(t *testing.T) {
	t.Parallel()
	b := setup(t)
	agent, _ := b.agent(t, "ada", policy.Assisted)
	no := errors.New("no")
	err := b.store.InTx(t.Context(), func(tx node.Tx) error {
		if _, err := b.SetGrant(tx, owner, policy.NewGrant{AgentID: agent.ID, Contact: anna, Capability: "disclose.dietary", Mode: policy.Allow}); err != nil {
			return err
		}
		answers, err := b.Effective(tx, agent.ID, anna, "disclose.dietary")
		if len(answers) != 1 || answers[0].Outcome != policy.Allowed {
			t.Errorf("within the transaction: %+v", answers)
		}
		return errors.Join(err, no)
	})
	if !errors.Is(err, no) {
		t.Fatal(err)
	}
	b.in(t, func(tx node.Tx) error { return b.BumpRules(tx, agent.ID) })
	if got := b.decide(t, agent.ID, "disclose.dietary"); got.Outcome != policy.Refused || got.RulesRev != agent.RulesRev+1 {
		t.Errorf("got %s at revision %d, want refuse at %d", got.Outcome, got.RulesRev, agent.RulesRev+1)
	}
}

// TestExpiryOfAGrant: a grant ends at its time, without any change of rules.
func TestExpiryOfAGrant(t *testing.T) {
	t.Parallel()
	b := setup(t)
	agent, _ := b.agent(t, "ada", policy.Assisted)
	b.set(t, policy.NewGrant{AgentID: agent.ID, Contact: anna, Capability: "disclose.dietary", Mode: policy.Allow, ExpiresAt: begins.Add(time.Minute)})
	for _, step := range []struct {
		advance time.Duration
		want    policy.Outcome
	}{{0, policy.Allowed}, {time.Minute - time.Microsecond, policy.Allowed}, {time.Microsecond, policy.Refused}} {
		b.clock.Advance(step.advance)
		if got := b.decide(t, agent.ID, "disclose.dietary").Outcome; got != step.want {
			t.Errorf("%s later: %s, want %s", step.advance, got, step.want)
		}
	}
}

// TestEveryChangeOfRulesRaisesTheRevision, so that nothing remembered outlives it.
func TestEveryChangeOfRulesRaisesTheRevision(t *testing.T) {
	t.Parallel()
	b := setup(t)
	agent, _ := b.agent(t, "ada", policy.Assisted)
	grant := policy.NewGrant{AgentID: agent.ID, Capability: "disclose.*", Mode: policy.Allow}
	var set policy.Grant
	changes := []struct {
		name   string
		change func(tx node.Tx) error
	}{
		{"mode", func(tx node.Tx) error { _, err := b.SetMode(tx, owner, agent.ID, policy.Manual); return err }},
		{"status", func(tx node.Tx) error { _, err := b.SetStatus(tx, owner, agent.ID, policy.Disabled); return err }},
		{"grant", func(tx node.Tx) (err error) { set, err = b.SetGrant(tx, owner, grant); return err }},
		{"grant again", func(tx node.Tx) (err error) { set, err = b.SetGrant(tx, owner, grant); return err }},
		{"grant removed", func(tx node.Tx) error { _, err := b.RemoveGrant(tx, owner, set.ID); return err }},
		{"defaults", func(tx node.Tx) error { return b.DefaultGrants(tx, owner, agent.ID, anna) }},
		{"bump", func(tx node.Tx) error { return b.BumpRules(tx, agent.ID) }},
	}
	last := agent
	for _, c := range changes {
		b.in(t, c.change)
		b.in(t, func(tx node.Tx) error {
			now, err := b.Agent(tx, agent.ID)
			if now.RulesRev != last.RulesRev+1 || now.RulesStamp == last.RulesStamp {
				t.Errorf("%s: revision %d after %d", c.name, now.RulesRev, last.RulesRev)
			}
			last = now
			return err
		})
	}
}
