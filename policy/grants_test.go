package policy_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/policy"
)

func upTo(limit float64) *policy.Constraints { return &policy.Constraints{MaxAmount: &limit} }

func values(field string, values ...any) *policy.Constraints {
	return &policy.Constraints{AllowedValues: map[string][]any{field: values}}
}

func TestSetGrant(t *testing.T) {
	t.Parallel()
	b := setup(t)
	agent, _ := b.agent(t, "ada", policy.Assisted)
	n := policy.NewGrant{AgentID: agent.ID, Contact: anna, Capability: "disclose.budget", Mode: policy.Allow, Constraints: upTo(30), ExpiresAt: begins.Add(time.Hour)}
	first := b.set(t, n)
	if diff := cmp.Diff(policy.Grant{
		ID: first.ID, OwnerID: "owner", AgentID: agent.ID, Contact: anna, Capability: "disclose.budget", Mode: policy.Allow,
		Constraints: *upTo(30), ExpiresAt: begins.Add(time.Hour), CreatedAt: begins,
	}, first); diff != "" {
		t.Error(diff)
	}

	n.Constraints, n.ExpiresAt = nil, time.Time{}
	kept := b.set(t, n)
	if kept.ID != first.ID || !kept.ExpiresAt.IsZero() || cmp.Diff(*upTo(30), kept.Constraints) != "" {
		t.Errorf("saved without constraints: %+v, want the ones that were there", kept)
	}
	n.Constraints = &policy.Constraints{}
	if cleared := b.set(t, n); !cleared.Constraints.Empty() {
		t.Errorf("cleared: %+v", cleared)
	}
	n.Mode = policy.Deny
	if beside := b.set(t, n); beside.ID == first.ID {
		t.Error("a deny replaced an allow")
	}
	rows := b.logged(t, audit.GrantSet)
	if len(rows) != 4 {
		t.Fatalf("the audit log has %d rows, want 4", len(rows))
	}
	shown := map[string]any{"contact": anna, "capability": "disclose.budget", "mode": "allow", "constraints": map[string]any{"maxAmount": 30.0}}
	expiring := map[string]any{"contact": anna, "capability": "disclose.budget", "mode": "allow", "constraints": map[string]any{"maxAmount": 30.0}, "expiresAt": "2026-06-01T13:00:00Z"}
	if diff := cmp.Diff([]any{map[string]any{"old": nil, "new": expiring}, map[string]any{"old": expiring, "new": shown}},
		[]any{data(t, rows[0]), data(t, rows[1])}); diff != "" {
		t.Error(diff)
	}
	if rows[0].Subject != first.ID || rows[0].AgentID != agent.ID {
		t.Errorf("the row is about %q of %q", rows[0].Subject, rows[0].AgentID)
	}
}

func TestSetGrantRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	agent, _ := b.agent(t, "ada", policy.Assisted)
	many := map[string][]any{}
	for i := range 51 {
		many[fmt.Sprint("f", i)] = []any{"x"}
	}
	allow := func(c *policy.Constraints) policy.NewGrant {
		return policy.NewGrant{Capability: "disclose.*", Mode: policy.Allow, Constraints: c}
	}
	tests := []struct {
		name   string
		grant  policy.NewGrant
		fields []string
	}{
		{"everything", policy.NewGrant{Contact: "anna", Capability: "root", Mode: "perhaps", ExpiresAt: begins}, []string{"contact", "capability", "mode", "expiresAt"}},
		{"an unknown capability", policy.NewGrant{Capability: "task.confirm", Mode: policy.Deny}, []string{"capability"}},
		{"an unknown wildcard", policy.NewGrant{Capability: "message.*", Mode: policy.Deny}, []string{"capability"}},
		{"a wildcard of everything", policy.NewGrant{Capability: "*", Mode: policy.Deny}, []string{"capability"}},
		{"a wildcard within a disclosure", policy.NewGrant{Capability: "disclose.a.*", Mode: policy.Deny}, []string{"capability"}},
		{"an expiry that is over", policy.NewGrant{Capability: "task.*", Mode: policy.Deny, ExpiresAt: begins}, []string{"expiresAt"}},
		{"constraints on ask", policy.NewGrant{Capability: "disclose.*", Mode: policy.Ask, Constraints: upTo(5)}, []string{"constraints"}},
		{"constraints on deny", policy.NewGrant{Capability: "disclose.*", Mode: policy.Deny, Constraints: upTo(5)}, []string{"constraints"}},
		{"constraints that no rule reads", policy.NewGrant{Capability: "task.propose", Mode: policy.Allow, Constraints: upTo(5)}, []string{"constraints"}},
		{"a negative limit", allow(upTo(-1)), []string{"constraints.maxAmount"}},
		{"a limit that is no number", allow(upTo(math.NaN())), []string{"constraints.maxAmount"}},
		{"a limit beyond 2^53 − 1", allow(upTo(1 << 53)), []string{"constraints.maxAmount"}},
		{"too many fields", allow(&policy.Constraints{AllowedValues: many}), []string{"constraints.allowedValues"}},
		{"too many values", allow(values("x", make([]any, 101)...)), []string{"constraints.allowedValues.x"}},
		{"no values", allow(values("x")), []string{"constraints.allowedValues.x"}},
		{"a list among the values", allow(values("x", "a", []any{"b"})), []string{"constraints.allowedValues.x"}},
		{"null among the values", allow(values("x", nil)), []string{"constraints.allowedValues.x"}},
		{"a number too large among the values", allow(values("x", 1e300)), []string{"constraints.allowedValues.x"}},
		{"no text among the values", allow(values("x", "\xff")), []string{"constraints.allowedValues.x"}},
		{"a field without a name", allow(values("", "a")), []string{"constraints.allowedValues."}},
		{"a field with a long name", allow(values(strings.Repeat("n", 129), "a")), []string{"constraints.allowedValues." + strings.Repeat("n", 129)}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.grant.AgentID = agent.ID
			wantFields(t, b.refused(t, node.BadRequest, func(tx node.Tx) error {
				_, err := b.SetGrant(tx, owner, test.grant)
				return err
			}), test.fields...)
		})
	}
	b.in(t, func(tx node.Tx) error {
		stored, err := b.Agent(tx, agent.ID)
		list, err2 := b.Grants(tx, agent.ID, nil)
		if len(list) != 0 || stored.RulesRev != agent.RulesRev {
			t.Errorf("something changed: %+v, %+v", stored, list)
		}
		return errors.Join(err, err2)
	})
}

func TestSetGrantAccepts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	agent, _ := b.agent(t, "ada", policy.Assisted)
	for _, capability := range append([]string{"task.*", "disclose.*", "disclose.shoe-size", "action.*", "action.reservation.*", "action.my.own"}, policy.Known...) {
		for _, mode := range policy.GrantModes {
			b.set(t, policy.NewGrant{AgentID: agent.ID, Capability: capability, Mode: mode})
		}
	}
	full := values("x", "", "a", 0.0, -5.5, true, false)
	full.MaxAmount = upTo(0).MaxAmount
	b.set(t, policy.NewGrant{AgentID: agent.ID, Contact: "anna@a.example:7411", Capability: "action.*", Mode: policy.Allow, Constraints: full})
	contact := "anna@a.example:7411"
	b.in(t, func(tx node.Tx) error {
		list, err := b.Grants(tx, agent.ID, &contact)
		if len(list) != 1 || cmp.Diff(*full, list[0].Constraints) != "" {
			t.Errorf("got %+v", list)
		}
		return err
	})
}

func TestRemoveGrant(t *testing.T) {
	t.Parallel()
	b := setup(t)
	agent, _ := b.agent(t, "ada", policy.Assisted)
	grant := b.set(t, policy.NewGrant{AgentID: agent.ID, Capability: "message.send", Mode: policy.Deny})
	if got := b.decide(t, agent.ID, "message.send").Outcome; got != policy.Refused {
		t.Fatalf("got %s before", got)
	}
	b.in(t, func(tx node.Tx) error { _, err := b.RemoveGrant(tx, owner, grant.ID); return err })
	if got := b.decide(t, agent.ID, "message.send").Outcome; got != policy.Allowed {
		t.Errorf("got %s after", got)
	}
	rows := b.logged(t, audit.GrantRemoved)
	if len(rows) != 1 {
		t.Fatalf("the audit log has %d rows, want one", len(rows))
	}
	want := map[string]any{"old": map[string]any{"contact": "", "capability": "message.send", "mode": "deny"}, "new": nil}
	if diff := cmp.Diff(want, data(t, rows[0])); diff != "" {
		t.Error(diff)
	}
	b.refused(t, node.NotFound, func(tx node.Tx) error { _, err := b.RemoveGrant(tx, owner, grant.ID); return err })
}

// TestDefaultGrants: a new contact is asked about everything personal and
// consequential; what it has from before stays.
func TestDefaultGrants(t *testing.T) {
	t.Parallel()
	b := setup(t)
	agent, _ := b.agent(t, "ada", policy.Assisted)
	defaults := func() { b.in(t, func(tx node.Tx) error { return b.DefaultGrants(tx, owner, agent.ID, anna) }) }
	have := func() (list []string) {
		contact := anna
		b.in(t, func(tx node.Tx) error {
			grants, err := b.Grants(tx, agent.ID, &contact)
			for _, g := range grants {
				list = append(list, fmt.Sprint(g.Capability, " ", g.Mode, " ", !g.ExpiresAt.IsZero()))
			}
			return err
		})
		return list
	}
	defaults()
	if diff := cmp.Diff([]string{"action.* ask false", "disclose.* ask false"}, have()); diff != "" {
		t.Error(diff)
	}
	decision := b.decide(t, agent.ID, "disclose.dietary", "message.send")
	if decision.Answers[0].Reason != policy.GrantAsks || decision.Answers[1].Outcome != policy.Allowed {
		t.Errorf("a new contact gets %+v", decision.Answers)
	}

	b.set(t, policy.NewGrant{AgentID: agent.ID, Contact: anna, Capability: "disclose.*", Mode: policy.Ask, ExpiresAt: begins.Add(time.Hour)})
	b.set(t, policy.NewGrant{AgentID: agent.ID, Contact: anna, Capability: "disclose.dietary", Mode: policy.Allow})
	defaults()
	if diff := cmp.Diff([]string{"action.* ask false", "disclose.* ask true", "disclose.dietary allow false"}, have()); diff != "" {
		t.Errorf("what was there did not stay:\n%s", diff)
	}
	b.clock.Advance(time.Hour)
	defaults()
	if diff := cmp.Diff([]string{"action.* ask false", "disclose.* ask false", "disclose.dietary allow false"}, have()); diff != "" {
		t.Errorf("what had expired is not there again:\n%s", diff)
	}
}

// TestDefaultGrantsLeaveTheOwnersWord: a contact that comes back meets what the
// owner had set for the same wildcard, and no ask beside it, which would win.
func TestDefaultGrantsLeaveTheOwnersWord(t *testing.T) {
	t.Parallel()
	b := setup(t)
	agent, _ := b.agent(t, "ada", policy.Assisted)
	b.set(t, policy.NewGrant{AgentID: agent.ID, Contact: anna, Capability: "disclose.*", Mode: policy.Allow})
	b.in(t, func(tx node.Tx) error { return b.DefaultGrants(tx, owner, agent.ID, anna) })
	if got := b.decide(t, agent.ID, "disclose.dietary").Answers[0]; got.Outcome != policy.Allowed {
		t.Errorf("the owner's allow is %+v after reconnecting", got)
	}
	b.in(t, func(tx node.Tx) error {
		grants, err := b.Grants(tx, agent.ID, nil)
		if !slices.ContainsFunc(grants, func(g policy.Grant) bool {
			return g.Capability == "action.*" && g.Contact == anna && g.Mode == policy.Ask
		}) {
			t.Errorf("the other default is missing beside it: %+v", grants)
		}
		return err
	})
}

// TestEffective: what saving a grant comes to.
func TestEffective(t *testing.T) {
	t.Parallel()
	b := setup(t)
	agent, _ := b.agent(t, "ada", policy.Autonomous)
	b.in(t, func(tx node.Tx) error { return b.DefaultGrants(tx, owner, agent.ID, anna) })
	wide := b.set(t, policy.NewGrant{AgentID: agent.ID, Capability: "disclose.dietary", Mode: policy.Allow})
	own := b.set(t, policy.NewGrant{AgentID: agent.ID, Contact: anna, Capability: "disclose.shoe-size", Mode: policy.Allow, Constraints: upTo(46)})
	b.in(t, func(tx node.Tx) error {
		answers, err := b.Effective(tx, agent.ID, anna, "disclose.*")
		got := map[string]policy.Answer{}
		for _, answer := range answers {
			got[answer.Capability] = answer
		}
		if len(got) != 6 {
			t.Errorf("disclose.* touches %d capabilities, want the five known and the own one", len(got))
		}
		if a := got["disclose.dietary"]; a.Outcome != policy.Allowed || a.GrantID != wide.ID {
			t.Errorf("the text's example: %+v, want the agent-wide exact allow to win", a)
		}
		if a := got["disclose.notes"]; a.Outcome != policy.Held || a.Reason != policy.GrantAsks {
			t.Errorf("got %+v", a)
		}
		if a := got["disclose.shoe-size"]; a.GrantID != own.ID || a.Otherwise != policy.Held || a.Constraints == nil {
			t.Errorf("got %+v", a)
		}
		return err
	})
	b.in(t, func(tx node.Tx) error {
		answers, err := b.Effective(tx, agent.ID, "")
		if len(answers) != len(policy.Known)+1 || answers[0].Capability != "message.send" || answers[0].Outcome != policy.Allowed {
			t.Errorf("got %+v", answers)
		}
		return err
	})
	if rows := b.logged(t, audit.PolicyDecided); len(rows) != 0 {
		t.Error("questions are recorded as decisions")
	}
}
