package engine

import (
	"context"
	"maps"
	"slices"
	"time"

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
	now     time.Time // of the transaction
	answers map[answerKey][]policy.Answer
	// narrowed are the words of the owner's own rules, late how often these did not
	// end in time.
	narrowed *recent[answerKey, []policy.Outcome]
	late     int
	named    map[string]bool // fields that some grant's allowedValues names
	limited  bool            // some grant has a maxAmount
}

// Imagine implements policy.Imaginer.
func (e *Engine) Imagine(tx node.Tx, agentID string, change policy.Change) (policy.Imagined, error) {
	set, err := e.imaginedSet(tx, agentID, change)
	if err != nil {
		return nil, err
	}
	rules := &imaginedRules{
		engine: e, ctx: tx.Context(), now: tx.Now(), set: set, answers: map[answerKey][]policy.Answer{}, named: map[string]bool{},
		narrowed: newRecent[answerKey, []policy.Outcome](maxAnswers),
	}
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
	request.At = i.now
	return bestAndWorst(i.set, request, names, func(f facts) []policy.Answer {
		return i.engine.foretell(i.ctx, i.set, f, i.answer(f), i.narrowed)
	})
}

// Decide implements policy.Imagined. Of the fields it keeps those that some
// constraint reads, so that requests which differ in others alone are evaluated
// once.
func (i *imaginedRules) Decide(request policy.Request) []policy.Answer {
	f := factsOf(request)
	if f.at.IsZero() {
		f.at = i.now
	}
	if i.set.overlay == nil || !i.set.overlay.readsForm {
		maps.DeleteFunc(f.fields, func(name string, _ any) bool {
			return !i.named[name] && !(i.limited && name == f.amountField)
		})
	}
	return i.narrow(f, i.answer(f))
}

// maxLate is how often rules that are only imagined may run out of time before they
// are no longer asked: thousands of decisions are made again in one transaction.
const maxLate = 3

func (i *imaginedRules) narrow(f facts, answers []policy.Answer) []policy.Answer {
	if i.late == maxLate {
		return stricter(answers, nil, f.denyOnly, failedTime)
	}
	answers, failed := i.engine.narrow(i.ctx, i.set, f, answers, i.narrowed)
	if failed == failedTime {
		i.late++
	}
	return answers
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
