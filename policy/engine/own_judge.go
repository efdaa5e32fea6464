package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/topdown"

	"agentlink/policy"
)

// ownLimit is how long an overlay may take for an answer; maxStuck is how many
// evaluations that did not end then may still be running before no further one
// begins.
const (
	ownLimit = 100 * time.Millisecond
	maxStuck = 2
)

// failure says why an overlay gave no answer. The list is closed; it goes into the
// audit log.
type failure string

const (
	failedMissing    failure = "missing"    // its text is not there, or another one
	failedCompiling  failure = "compiling"  // the text does not compile
	failedTime       failure = "time"       // it did not end in time
	failedError      failure = "error"      // a call failed, rules contradict each other
	failedUndefined  failure = "undefined"  // no rule answered
	failedUnexpected failure = "unexpected" // it answered something that is no answer
)

// own are the words that an overlay may answer, each with the outcome that it
// stands for.
var own = map[string]policy.Outcome{"keep": policy.Allowed, "hold": policy.Held, "refuse": policy.Refused}

// judge asks the overlay. Answers are in the order of wanted. It returns after the
// limit whatever the rules do.
func (o *overlay) judge(ctx context.Context, input *ast.Term, wanted []want) ([]policy.Outcome, failure) {
	if len(o.stuck) == maxStuck {
		return nil, failedTime
	}
	cancel := topdown.NewCancel()
	type result struct {
		answer  *ast.Term
		failure failure
	}
	done := make(chan result, 1)
	go func() {
		answer, failed := o.run(ctx, input, cancel)
		done <- result{answer, failed}
	}()
	timer := time.NewTimer(o.limit)
	defer timer.Stop()
	select {
	case r := <-done:
		if r.failure != "" {
			return nil, r.failure
		}
		return readOwn(r.answer, wanted)
	case <-ctx.Done():
	case <-timer.C:
	}
	cancel.Cancel()
	select {
	case o.stuck <- struct{}{}:
		go func() {
			<-done
			<-o.stuck
		}()
	default: // as many are waited for already
	}
	return nil, failedTime
}

// nothing is the data of an overlay.
var nothing = inmem.New()

func (o *overlay) run(ctx context.Context, input *ast.Term, cancel topdown.Cancel) (answer *ast.Term, failed failure) {
	defer func() {
		if cause := recover(); cause != nil {
			answer, failed = nil, failedError
		}
	}()
	txn, err := nothing.NewTransaction(ctx, storage.TransactionParams{})
	if err != nil {
		return nil, failedError
	}
	defer nothing.Abort(ctx, txn)
	answers := 0
	err = topdown.NewQuery(o.query).WithCompiler(o.compiler).WithStore(nothing).WithTransaction(txn).WithInput(input).
		WithCancel(cancel).WithBuiltins(bounded).WithStrictBuiltinErrors(true).
		Iter(ctx, func(result topdown.QueryResult) error {
			answers++
			answer = result["answer"]
			if answers > 1 {
				return fmt.Errorf("more than one answer")
			}
			return nil
		})
	switch {
	case err != nil:
		return nil, failedError
	case answers == 0 || answer == nil:
		return nil, failedUndefined
	}
	return answer, ""
}

// readOwn takes an answer for what it may be: one word for everything, or a word
// for each capability. It looks at no more of it.
func readOwn(answer *ast.Term, wanted []want) ([]policy.Outcome, failure) {
	outcomes := make([]policy.Outcome, len(wanted))
	each, isObject := answer.Value.(ast.Object)
	if isObject && each.Len() != len(wanted) {
		return nil, failedUnexpected
	}
	for i, w := range wanted {
		said := answer
		if isObject {
			said = each.Get(text(w.capability))
		}
		if said == nil {
			return nil, failedUnexpected
		}
		word, _ := said.Value.(ast.String)
		outcome, known := own[string(word)]
		if !known {
			return nil, failedUnexpected
		}
		outcomes[i] = outcome
	}
	return outcomes, ""
}
