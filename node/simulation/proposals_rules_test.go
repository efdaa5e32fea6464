package simulation

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
	"agentlink/policy"
	"agentlink/policy/engine"
)

// rule is a grant as the owner remembers having given it.
type rule struct {
	id, contact, capability string
	mode                    policy.GrantMode
	most                    float64 // of budgetPerPerson; 0: no limit
	values                  map[string][]string
	until                   time.Time
}

// knowsItsRules begins with the rules of a new connection.
func (a *talker) knowsItsRules() {
	a.a.in(a.t, func(tx node.Tx) error {
		grants, err := a.a.policy.Grants(tx, a.a.agent.ID, nil)
		for _, g := range grants {
			a.rules = append(a.rules, rule{id: g.ID, contact: g.Contact, capability: g.Capability, mode: g.Mode})
		}
		return err
	})
}

// changesARule takes one away, or gives one, for the contact or for everybody.
func (a *talker) changesARule() {
	if len(a.rules) > 6 || len(a.rules) > 0 && a.rng.IntN(4) == 0 {
		a.takesAway(a.rng.IntN(len(a.rules)))
		return
	}
	r := rule{
		contact: pick(a.rng, []string{"", a.b.address(), a.b.address(), "somebody@else.test"}), mode: pick(a.rng, []policy.GrantMode{policy.Allow, policy.Allow, policy.Allow, policy.Allow, policy.Allow, policy.Ask, policy.Deny}),
		capability: pick(a.rng, []string{"disclose.availability", "disclose.availability", "disclose.preferences", "disclose.dietary", "disclose.budget", "disclose.notes", "disclose.*", "disclose.*", "task.*"}),
	}
	if i := slices.IndexFunc(a.rules, r.same); i >= 0 {
		a.takesAway(i)
	}
	a.bind(&r)
	constraints := policy.Constraints{}
	if r.most > 0 {
		constraints.MaxAmount = &r.most
	}
	for field, values := range r.values {
		constraints.AllowedValues = map[string][]any{field: {}}
		for _, v := range values {
			constraints.AllowedValues[field] = append(constraints.AllowedValues[field], v)
		}
	}
	a.a.in(a.t, func(tx node.Tx) error {
		g, err := a.a.policy.SetGrant(tx, a.a.owner, policy.NewGrant{
			AgentID: a.a.agent.ID, Contact: r.contact, Capability: r.capability, Mode: r.mode, Constraints: &constraints, ExpiresAt: r.until,
		})
		r.id = g.ID
		return err
	})
	a.rules = append(a.rules, r)
}

func (r rule) same(other rule) bool {
	return r.contact == other.contact && r.capability == other.capability && r.mode == other.mode
}

// bind gives some of the allowing rules what they are bound to.
func (a *talker) bind(r *rule) {
	if a.rng.IntN(4) == 0 {
		r.until = a.clock.Now().Add(time.Duration(1+a.rng.IntN(20)) * time.Minute)
	}
	if r.mode != policy.Allow || !strings.HasPrefix(r.capability, "disclose.") {
		return
	}
	switch a.rng.IntN(8) {
	case 0:
		r.most = float64(10 * (1 + a.rng.IntN(6)))
	case 1:
		r.values = map[string][]string{"cuisine": cuisines[:1+a.rng.IntN(2)]}
	case 2:
		r.values = map[string][]string{"dietaryNotes": diets[:1+a.rng.IntN(2)]}
	case 3:
		r.values = map[string][]string{"time": {"19:30"}}
	}
}

func (a *talker) takesAway(i int) {
	a.a.in(a.t, func(tx node.Tx) error {
		_, err := a.a.policy.RemoveGrant(tx, a.a.owner, a.rules[i].id)
		return err
	})
	a.rules = slices.Delete(a.rules, i, i+1)
}

// allowed says of each personal field what lets it go: "allow" or "".
func (a *talker) allowed(fields json.RawMessage) map[string]string {
	why := map[string]string{}
	var present map[string]any
	must(a.t, json.Unmarshal(fields, &present))
	for field := range present {
		if capability := kinds[field]; capability != "" && a.says(capability, fields) == policy.Allow {
			why[field] = "allow"
		}
	}
	return why
}

// says is what the rules come to, read off the requirement: the exact beats the
// wildcard, the contact's beats the agent's, deny beats ask beats allow; and an
// allow that does not fit asks. "" is no rule at all.
func (a *talker) says(capability string, fields json.RawMessage) policy.GrantMode {
	var present map[string]any
	must(a.t, json.Unmarshal(fields, &present))
	best, winner := -1, rule{}
	for _, r := range a.rules {
		exact := r.capability == capability
		prefix, wild := strings.CutSuffix(r.capability, "*")
		if !exact && (!wild || !strings.HasPrefix(capability, prefix)) || r.contact != "" && r.contact != a.b.address() ||
			!r.until.IsZero() && !a.clock.Now().Before(r.until) {
			continue
		}
		rank := map[policy.GrantMode]int{policy.Allow: 0, policy.Ask: 1, policy.Deny: 2}[r.mode]
		if r.contact != "" {
			rank += 10
		}
		if exact {
			rank += 100
		}
		if rank > best {
			best, winner = rank, r
		}
	}
	if winner.mode == policy.Allow && !winner.fits(present) {
		return policy.Ask
	}
	return winner.mode
}

// fits: what a rule names and the proposal has is as the rule says. An exact rule
// also wants it to be there.
func (r rule) fits(present map[string]any) bool {
	exact := !strings.HasSuffix(r.capability, "*")
	if r.most > 0 {
		amount, there := present["budgetPerPerson"].(float64)
		if there && amount > r.most || !there && exact {
			return false
		}
	}
	for field, values := range r.values {
		value, there := present[field]
		if !there && exact {
			return false
		}
		entries, list := value.([]any)
		if there && !list {
			entries = []any{value}
		}
		for _, entry := range entries {
			if text, _ := entry.(string); !slices.Contains(values, text) {
				return false
			}
		}
	}
	return true
}

// sameFields says whether what was approved has exactly these fields.
func sameFields(approved string, fields json.RawMessage) bool {
	var shown struct {
		Content struct {
			Fields   map[string]any `json:"fields"`
			Proposal struct {
				Fields map[string]any `json:"fields"`
			} `json:"proposal"`
		} `json:"content"`
	}
	var sent map[string]any
	if json.Unmarshal([]byte(approved), &shown) != nil || json.Unmarshal(fields, &sent) != nil {
		return false
	}
	return cmp.Equal(shown.Content.Fields, sent) || cmp.Equal(shown.Content.Proposal.Fields, sent)
}

// changedRules gives the engine other rules than there are.
type changedRules struct {
	engine.Store
	change func(policy.Rules) policy.Rules
}

// Rules implements engine.Store.
func (c changedRules) Rules(tx node.Tx, agentID string) (policy.Rules, error) {
	rules, err := c.Store.Rules(tx, agentID)
	if err == nil {
		rules = c.change(rules)
	}
	return rules, err
}
