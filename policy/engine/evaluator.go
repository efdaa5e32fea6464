package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage/inmem"

	"agentlink/policy"
	rules "agentlink/rego"
)

// builtins are all that the rules may call: nothing that reads a clock, chance,
// the network or the environment, so that equal facts have equal answers.
var builtins = []string{
	"assign", "count", "eq", "equal", "gt", "gte", "internal.member_2", "is_array", "is_boolean", "is_number", "is_object",
	"is_string", "lte", "neq", "object.get", "object.keys", "regex.match",
}

// evaluator holds the prepared rules. It may be used by many at once.
type evaluator struct {
	query    rego.PreparedEvalQuery
	deadline time.Duration
}

// nodeRules are the node's own rules, prepared once: they are embedded, and so
// the same for every engine of a process.
var nodeRules = sync.OnceValues(func() (rego.PreparedEvalQuery, error) {
	return prepare(context.Background(), rules.Modules(), rules.Table())
})

func prepare(ctx context.Context, modules map[string]string, table []byte) (rego.PreparedEvalQuery, error) {
	var data map[string]any
	if err := json.Unmarshal(table, &data); err != nil {
		return rego.PreparedEvalQuery{}, fmt.Errorf("the decision table: %w", err)
	}
	options := []func(*rego.Rego){
		rego.Query(rules.Query),
		rego.Store(inmem.NewFromObjectWithOpts(data, inmem.OptReturnASTValuesOnRead(true))),
		rego.Capabilities(capabilities()),
		rego.Strict(true),
		rego.StrictBuiltinErrors(true),
	}
	for name, source := range modules {
		options = append(options, rego.Module(name, source))
	}
	query, err := rego.New(options...).PrepareForEval(ctx)
	if err != nil {
		return rego.PreparedEvalQuery{}, fmt.Errorf("prepare the rules: %w", err)
	}
	return query, nil
}

func capabilities() *ast.Capabilities {
	allowed := ast.CapabilitiesForThisVersion()
	allowed.Builtins = slices.DeleteFunc(allowed.Builtins, func(b *ast.Builtin) bool { return !slices.Contains(builtins, b.Name) })
	allowed.AllowNet = []string{}
	return allowed
}

// evaluate answers each wanted capability, in order. Whatever the rules do not
// answer exactly as expected is an error.
func (e *evaluator) evaluate(ctx context.Context, set *ruleSet, f facts, contactKey string) (answers []policy.Answer, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			answers, err = nil, fmt.Errorf("the evaluation broke: %v", cause)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, e.deadline)
	defer cancel()
	results, err := e.query.Eval(ctx, rego.EvalParsedInput(f.input(set, contactKey)))
	if err == nil {
		err = ctx.Err() // too late counts as not at all
	}
	if err != nil {
		return nil, fmt.Errorf("evaluate: %w", err)
	}
	if len(results) != 1 || len(results[0].Expressions) != 1 {
		return nil, fmt.Errorf("the rules gave no answer")
	}
	return read(results[0].Expressions[0].Value, set, f.wanted)
}

// read takes {capability: [outcome, reason, grant]} apart.
func read(value any, set *ruleSet, wanted []want) ([]policy.Answer, error) {
	byCapability, _ := value.(map[string]any)
	answers := make([]policy.Answer, len(wanted))
	for i, w := range wanted {
		answer, ok := readAnswer(byCapability[w.capability], set)
		if !ok {
			return nil, fmt.Errorf("the rules do not answer for %q as expected", w.capability)
		}
		answer.Capability = w.capability
		answers[i] = answer
	}
	return answers, nil
}

func readAnswer(value any, set *ruleSet) (policy.Answer, bool) {
	parts, _ := value.([]any)
	if len(parts) != 3 {
		return policy.Answer{}, false
	}
	outcome, _ := parts[0].(string) // "" is none of them
	reason, _ := parts[1].(string)
	grant, isGrant := parts[2].(string)
	_, live := set.live[grant]
	answer := policy.Answer{Outcome: policy.Outcome(outcome), Reason: policy.Reason(reason), GrantID: grant}
	return answer, isGrant && (live || grant == "") &&
		slices.Contains(policy.Outcomes, answer.Outcome) && slices.Contains(policy.Reasons, answer.Reason)
}
