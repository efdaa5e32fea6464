package engine

import (
	"context"
	"maps"
	"slices"

	"agentlink/node"
	"agentlink/policy"
)

var _ policy.Imaginer = (*Engine)(nil)

// imaginedRules are rules that may not be in force: what they answer is remembered
// here and nowhere else.
type imaginedRules struct {
	engine  *Engine
	ctx     context.Context // of the transaction
	set     *ruleSet
	answers map[answerKey][]policy.Answer
	named   map[string]bool // fields that some grant's allowedValues names
	limited bool            // some grant has a maxAmount
}

// Imagine implements policy.Imaginer.
func (e *Engine) Imagine(tx node.Tx, agentID string, change policy.Change) (policy.Imagined, error) {
	loaded, err := e.store.Rules(tx, agentID)
	if err != nil {
		return nil, err
	}
	set := newRuleSet(e.changed(loaded, change), tx.Now())
	rules := &imaginedRules{engine: e, ctx: tx.Context(), set: set, answers: map[answerKey][]policy.Answer{}, named: map[string]bool{}}
	for _, rule := range set.live {
		rules.limited = rules.limited || rule.Constraints.MaxAmount != nil
		for field := range rule.Constraints.AllowedValues {
			rules.named[field] = true
		}
	}
	return rules, nil
}

// Capabilities implements policy.Imagined.
func (i *imaginedRules) Capabilities(request policy.Request, names []string) []policy.Answer {
	return bestAndWorst(i.set, request, names, i.answer)
}

// Decide implements policy.Imagined. Of the fields it keeps those that some
// constraint reads, so that requests which differ in others alone are evaluated
// once.
func (i *imaginedRules) Decide(request policy.Request) []policy.Answer {
	f := factsOf(request)
	maps.DeleteFunc(f.fields, func(name string, _ any) bool {
		return !i.named[name] && !(i.limited && name == f.amountField)
	})
	return i.answer(f)
}

// answer gives a copy, which its caller may change.
func (i *imaginedRules) answer(f facts) []policy.Answer {
	if f.problem != nil {
		return i.engine.refuse(f, f.problem)
	}
	key := i.set.keyOf(f)
	answers, found := i.answers[key]
	if !found {
		var err error
		if answers, err = i.engine.evaluate(i.ctx, i.set, f); err != nil {
			return i.engine.refuse(f, err)
		}
		i.answers[key] = answers
	}
	return slices.Clone(answers)
}
