package engine

import (
	"context"
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
}

// Imagine implements policy.Imaginer.
func (e *Engine) Imagine(tx node.Tx, agentID string, change policy.Change) (policy.Imagined, error) {
	loaded, err := e.store.Rules(tx, agentID)
	if err != nil {
		return nil, err
	}
	set := newRuleSet(e.changed(loaded, change), tx.Now())
	return &imaginedRules{engine: e, ctx: tx.Context(), set: set, answers: map[answerKey][]policy.Answer{}}, nil
}

// Capabilities implements policy.Imagined.
func (i *imaginedRules) Capabilities(request policy.Request, names []string) []policy.Answer {
	return bestAndWorst(i.set, request, names, i.answer)
}

// Decide implements policy.Imagined.
func (i *imaginedRules) Decide(request policy.Request) []policy.Answer {
	return i.answer(factsOf(request))
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
