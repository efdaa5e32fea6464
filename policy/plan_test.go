package policy_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
	"agentlink/policy"
)

// carryOut looks at a plan and makes it.
func (b *bundle) carryOut(t *testing.T, plan policy.Plan) {
	t.Helper()
	b.in(t, func(tx node.Tx) error {
		steps, err := b.Steps(tx, plan)
		if err != nil {
			return err
		}
		return b.CarryOut(tx, owner, plan, steps.Agent.RulesRev)
	})
}

// rulesNow writes mode and grants as texts.
func (b *bundle) rulesNow(t *testing.T, agentID string) (list []string) {
	t.Helper()
	b.in(t, func(tx node.Tx) error {
		agent, err := b.Agent(tx, agentID)
		grants, err2 := b.Grants(tx, agentID, nil)
		list = append(list, string(agent.Mode))
		for _, g := range grants {
			list = append(list, fmt.Sprintf("%s %s %s constrained=%t expires=%t", g.Contact, g.Capability, g.Mode, !g.Constraints.Empty(), !g.ExpiresAt.IsZero()))
		}
		return errors.Join(err, err2)
	})
	return list
}

func TestCarryOut(t *testing.T) {
	t.Parallel()
	grant := func(contact, capability string, mode policy.GrantMode) *policy.NewGrant {
		return &policy.NewGrant{Contact: contact, Capability: capability, Mode: mode}
	}
	ending := grant(anna, "disclose.budget", policy.Allow)
	ending.ExpiresAt = begins.Add(time.Hour)
	// What is there before: an allow under constraints beneath an ask, agent-wide
	// and for anna.
	there := func(more ...string) []string {
		return append([]string{"assisted", " disclose.budget ask constrained=false expires=false"}, more...)
	}
	allow, ask := anna+" disclose.budget allow constrained=true expires=false", anna+" disclose.budget ask constrained=false expires=false"
	tests := []struct {
		name string
		plan policy.Plan
		want []string
	}{
		{"a mode", policy.Plan{Mode: policy.Manual}, append([]string{"manual"}, there(allow, ask)[1:]...)},
		{"a grant beside a stricter one", policy.Plan{Grant: grant(anna, "disclose.budget", policy.Allow)}, there(allow, ask)},
		{"a grant instead of a stricter one keeps its constraints", policy.Plan{Grant: grant(anna, "disclose.budget", policy.Allow), Instead: true}, there(allow)},
		{"a grant with an expiry keeps its constraints", policy.Plan{Grant: ending}, there(anna+" disclose.budget allow constrained=true expires=true", ask)},
		{"a stricter grant leaves the others", policy.Plan{Grant: grant(anna, "disclose.budget", policy.Deny), Instead: true}, there(allow, ask, anna+" disclose.budget deny constrained=false expires=false")},
		{"another capability leaves them", policy.Plan{Grant: grant(anna, "disclose.*", policy.Allow), Instead: true}, there(anna+" disclose.* allow constrained=false expires=false", allow, ask)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			agent, _ := b.agent(t, "ada", policy.Assisted)
			for contact, modes := range map[string][]policy.GrantMode{"": {policy.Ask}, anna: {policy.Ask, policy.Allow}} {
				for _, mode := range modes {
					n := policy.NewGrant{AgentID: agent.ID, Contact: contact, Capability: "disclose.budget", Mode: mode}
					if mode == policy.Allow {
						n.Constraints = upTo(30)
					}
					b.set(t, n)
				}
			}
			test.plan.AgentID = agent.ID
			b.carryOut(t, test.plan)
			if diff := cmp.Diff(test.want, b.rulesNow(t, agent.ID)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCarryOutRemoval(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, _ := b.agent(t, "ada", policy.Assisted)
	ben, _ := b.agent(t, "ben", policy.Assisted)
	grant := b.set(t, policy.NewGrant{AgentID: ada.ID, Capability: "disclose.*", Mode: policy.Ask})
	b.refused(t, node.NotFound, func(tx node.Tx) error {
		return b.CarryOut(tx, owner, policy.Plan{AgentID: ben.ID, Remove: grant.ID}, ben.RulesRev)
	})
	b.carryOut(t, policy.Plan{AgentID: ada.ID, Remove: grant.ID})
	if diff := cmp.Diff([]string{"assisted"}, b.rulesNow(t, ada.ID)); diff != "" {
		t.Error(diff)
	}
}

// TestCarryOutRefuses: what was shown has to be what is made, and by the owner.
func TestCarryOutRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	agent, _ := b.agent(t, "ada", policy.Assisted)
	b.set(t, policy.NewGrant{AgentID: agent.ID, Capability: "disclose.*", Mode: policy.Ask}) // after the page was made
	mode := policy.Plan{AgentID: agent.ID, Mode: policy.Autonomous}
	current := agent.RulesRev + 1
	tests := []struct {
		name string
		code node.Code
		by   node.Actor
		plan policy.Plan
		seen int64
	}{
		{"rules that have changed", node.Conflict, owner, mode, agent.RulesRev},
		{"a revision to come", node.Conflict, owner, mode, current + 1},
		{"no revision", node.Conflict, owner, mode, 0},
		{"an agent", node.PolicyDenied, node.Actor{Kind: node.ActorAgent, OwnerID: "owner", AgentID: agent.ID}, mode, current},
		{"another owner", node.NotFound, node.Actor{Kind: node.ActorOwner, OwnerID: "other"}, mode, current},
		{"nothing", node.BadRequest, owner, policy.Plan{AgentID: agent.ID}, current},
		{"an unknown mode", node.BadRequest, owner, policy.Plan{AgentID: agent.ID, Mode: "bold"}, current},
		{"an unknown capability", node.BadRequest, owner, policy.Plan{AgentID: agent.ID, Grant: &policy.NewGrant{Capability: "root", Mode: policy.Allow}}, current},
		{"an unknown grant", node.NotFound, owner, policy.Plan{AgentID: agent.ID, Remove: "none"}, current},
		{"an unknown agent", node.NotFound, owner, policy.Plan{AgentID: "none", Mode: policy.Manual}, current},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b.refused(t, test.code, func(tx node.Tx) error { return b.CarryOut(tx, test.by, test.plan, test.seen) })
		})
	}
	if diff := cmp.Diff([]string{"assisted", " disclose.* ask constrained=false expires=false"}, b.rulesNow(t, agent.ID)); diff != "" {
		t.Errorf("something changed:\n%s", diff)
	}
}
