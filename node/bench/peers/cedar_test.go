package peers

import (
	"slices"
	"strconv"
	"testing"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/ast"
	"github.com/cedar-policy/cedar-go/types"
)

// BenchmarkCedar writes each grant as a permit: in Cedar a forbid always wins,
// and there is no third outcome, so Go reads from the reasons which of the
// permits counts.
func BenchmarkCedar(b *testing.B) {
	compare(b, func(b *testing.B, list []grant) func(string) string {
		set := cedar.NewPolicySet()
		for i, g := range list {
			set.Add(types.PolicyID(strconv.Itoa(i)), cedar.NewPolicyFromAST(cedarPolicy(g)))
		}
		return func(capability string) string { return askCedar(set, list, capability) }
	})
}

func cedarPolicy(g grant) *ast.Policy {
	p := ast.Permit()
	if g.contact != "" {
		p = p.ResourceEq(types.NewEntityUID("Contact", types.String(g.contact)))
	}
	if area, wild := cutStar(g.capability); wild {
		p = p.When(ast.Context().Access("capability").Like(types.NewPattern(types.String(area), types.Wildcard{})))
	} else {
		p = p.ActionEq(types.NewEntityUID("Action", types.String(g.capability)))
	}
	if g.allowed != nil {
		values := make([]types.Value, len(g.allowed))
		for i, value := range g.allowed {
			values[i] = types.String(value)
		}
		p = p.When(ast.Value(types.NewSet(values...)).ContainsAll(ast.Context().Access("values")))
	}
	if g.most > 0 {
		p = p.When(ast.Context().Access("amount").LessThanOrEqual(ast.Long(g.most)))
	}
	return p
}

func askCedar(set *cedar.PolicySet, list []grant, capability string) string {
	context := types.RecordMap{"capability": types.String(capability)}
	switch value := proposal[capability].(type) {
	case []string:
		values := make([]types.Value, len(value))
		for i, v := range value {
			values[i] = types.String(v)
		}
		context["values"] = types.NewSet(values...)
	case int64:
		context["amount"] = types.Long(value)
	}
	_, diagnostic := set.IsAuthorized(types.EntityMap{}, cedar.Request{
		Principal: types.NewEntityUID("Agent", "scout"), Action: types.NewEntityUID("Action", types.String(capability)),
		Resource: types.NewEntityUID("Contact", anna), Context: types.NewRecord(context),
	})
	var counting []grant
	for _, reason := range diagnostic.Reasons {
		i, err := strconv.Atoi(string(reason.PolicyID))
		if err != nil {
			return err.Error()
		}
		counting = append(counting, list[i])
	}
	if len(counting) == 0 {
		return "hold"
	}
	return slices.MinFunc(counting, before).mode
}
