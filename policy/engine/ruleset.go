package engine

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"agentlink/node"
	"agentlink/policy"
)

// ruleSet is one revision of an agent's rules, as the Rego reads them, for as
// long as no grant begins or ends to be expired. It is never changed.
type ruleSet struct {
	standing policy.Standing
	// from and until bound the times at which the same grants are in force; until
	// is zero where none of them expires.
	from, until time.Time
	live        map[string]policy.Rule // by grant id
	agent       *ast.Term              // input.agent
	grants      *ast.Term              // input.grants
	denied      *ast.Term              // input.denied
	overlay     *overlay               // the owner's own rules; nil where there are none, or failed
	failed      failure                // why the owner's own rules cannot be asked
	problem     error                  // why nothing can be evaluated under these rules
}

// newRuleSet leaves out what has expired now.
func newRuleSet(loaded policy.Rules, now time.Time) *ruleSet {
	set := &ruleSet{standing: loaded.Standing, live: map[string]policy.Rule{}}
	tree, denied := places{}, []string{}
	for _, rule := range loaded.Grants {
		if !set.keep(rule, now) {
			continue
		}
		if rule.ContactKey != "" && rule.Mode == policy.Deny {
			denied = append(denied, rule.Capability)
		}
		term, err := ruleTerm(rule)
		if err != nil {
			set.problem = err
			return set
		}
		tree.add(rule, term)
	}
	set.agent = object("mode", text(string(loaded.Mode)), "status", text(string(loaded.Status)))
	set.grants, set.denied = tree.term(), truths(denied)
	return set
}

// keep says whether the rule is in force, and narrows the time for which that is
// so: now ≥ ExpiresAt is over.
func (s *ruleSet) keep(rule policy.Rule, now time.Time) bool {
	switch end := rule.ExpiresAt; {
	case end.IsZero():
	case !now.Before(end):
		if end.After(s.from) {
			s.from = end
		}
		return false
	case s.until.IsZero() || end.Before(s.until):
		s.until = end
	}
	s.live[rule.GrantID] = rule
	return true
}

func (s *ruleSet) covers(now time.Time) bool {
	return !now.Before(s.from) && (s.until.IsZero() || now.Before(s.until))
}

// places are the grants in the order of look-up: contact, pattern, mode.
type places map[string]map[string]map[policy.GrantMode]*ast.Term

func (p places) add(rule policy.Rule, term *ast.Term) {
	patterns := p[rule.ContactKey]
	if patterns == nil {
		patterns = map[string]map[policy.GrantMode]*ast.Term{}
		p[rule.ContactKey] = patterns
	}
	if patterns[rule.Capability] == nil {
		patterns[rule.Capability] = map[policy.GrantMode]*ast.Term{}
	}
	patterns[rule.Capability][rule.Mode] = term
}

func (p places) term() *ast.Term {
	return objectOf(p, func(patterns map[string]map[policy.GrantMode]*ast.Term) *ast.Term {
		return objectOf(patterns, func(modes map[policy.GrantMode]*ast.Term) *ast.Term {
			return objectOf(modes, func(term *ast.Term) *ast.Term { return term })
		})
	})
}

func ruleTerm(rule policy.Rule) (*ast.Term, error) {
	if !slices.Contains(policy.GrantModes, rule.Mode) {
		return nil, fmt.Errorf("grant %s has the mode %q", rule.GrantID, rule.Mode)
	}
	constraints := object()
	if rule.Mode == policy.Allow && !rule.Constraints.Empty() {
		var err error
		if constraints, err = constraintsTerm(rule.Constraints); err != nil {
			return nil, fmt.Errorf("grant %s: %w", rule.GrantID, err)
		}
	}
	return object("id", text(rule.GrantID), "capability", text(rule.Capability), "mode", text(string(rule.Mode)), "constraints", constraints), nil
}

func constraintsTerm(c policy.Constraints) (*ast.Term, error) {
	limit := ast.NullTerm()
	if c.MaxAmount != nil {
		if math.IsNaN(*c.MaxAmount) || math.Abs(*c.MaxAmount) > node.MaxSafeInt {
			return nil, fmt.Errorf("maxAmount is no number that can be compared")
		}
		limit = number(*c.MaxAmount)
	}
	allowed := make(map[string]*ast.Term, len(c.AllowedValues))
	for field, values := range c.AllowedValues {
		terms := make([]*ast.Term, len(values))
		for i, value := range values {
			plain, err := plainScalar(value)
			if err != nil {
				return nil, fmt.Errorf("an allowed value: %w", err)
			}
			terms[i] = termOf(plain)
		}
		allowed[field] = ast.ArrayTerm(terms...)
	}
	return object("maxAmount", limit, "allowedValues", objectOf(allowed, func(t *ast.Term) *ast.Term { return t })), nil
}
