package engine

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/types"

	"agentlink/node"
)

// ownBuiltins are OPA's that an overlay may call: nothing that reads a clock,
// chance, the network or the environment or writes anything, and nothing that
// makes a text longer than those it is given, since that could double in each line.
var ownBuiltins = []string{
	"abs", "and", "array.slice", "assign", "ceil", "contains", "count", "endswith", "eq", "equal", "floor", "gt", "gte",
	"internal.member_2", "internal.member_3", "is_array", "is_boolean", "is_null", "is_number", "is_object", "is_set", "is_string",
	"lower", "lt", "lte", "max", "min", "neq", "object.get", "object.keys", "or", "regex.match", "round", "startswith", "sum",
	"trim", "trim_prefix", "trim_space", "trim_suffix", "upper",
}

// bounded are the node's own operators: numbers that stay within what JSON keeps
// exactly. OPA's have no such limit, and a few squares in a row fill the memory.
var bounded = map[string]*topdown.Builtin{}

// inPlace names, by OPA's operator, the bounded one.
var inPlace = map[string]string{}

func init() {
	for name, f := range map[string]func(a, b float64) float64{
		"plus": func(a, b float64) float64 { return a + b }, "minus": func(a, b float64) float64 { return a - b },
		"mul": func(a, b float64) float64 { return a * b }, "div": func(a, b float64) float64 { return a / b },
		"rem": math.Mod,
	} {
		own := "node_" + name
		inPlace[name] = own
		bounded[own] = operator(own, f)
	}
	bounded["clock"] = &topdown.Builtin{
		Decl: &ast.Builtin{Name: "clock", Decl: types.NewFunction(types.Args(types.N, types.S), types.NewObject(
			[]*types.StaticProperty{
				types.NewStaticProperty("date", types.S), types.NewStaticProperty("time", types.S), types.NewStaticProperty("weekday", types.S),
				types.NewStaticProperty("hour", types.N), types.NewStaticProperty("minute", types.N),
			}, nil))},
		Func: clock,
	}
}

func operator(name string, f func(a, b float64) float64) *topdown.Builtin {
	return &topdown.Builtin{
		Decl: &ast.Builtin{Name: name, Decl: types.NewFunction(types.Args(types.N, types.N), types.N)},
		Func: func(_ topdown.BuiltinContext, operands []*ast.Term, iter func(*ast.Term) error) error {
			a, aOK := float(operands[0])
			b, bOK := float(operands[1])
			result := f(a, b)
			if !aOK || !bOK || !(math.Abs(result) <= node.MaxSafeInt) {
				return fmt.Errorf("a number beyond what is exact")
			}
			return iter(number(result + 0))
		},
	}
}

func float(term *ast.Term) (float64, bool) {
	n, ok := term.Value.(ast.Number)
	if !ok {
		return 0, false
	}
	value, err := strconv.ParseFloat(string(json.Number(n)), 64)
	return value, err == nil
}

// clock says what a time of the input, in seconds since 1970, is on the clocks of
// a time zone.
func clock(_ topdown.BuiltinContext, operands []*ast.Term, iter func(*ast.Term) error) error {
	seconds, ok := float(operands[0])
	zone, isText := operands[1].Value.(ast.String)
	if !ok || !isText || zone == "" || zone == "Local" || !(math.Abs(seconds) < 1<<38) {
		return fmt.Errorf("clock needs input.now and the name of a time zone")
	}
	place, err := time.LoadLocation(string(zone))
	if err != nil {
		return fmt.Errorf("an unknown time zone")
	}
	at := time.Unix(int64(seconds), 0).In(place)
	return iter(object(
		"date", text(at.Format(time.DateOnly)), "time", text(at.Format("15:04")), "weekday", text(at.Weekday().String()),
		"hour", number(float64(at.Hour())), "minute", number(float64(at.Minute())),
	))
}

func ownCapabilities() *ast.Capabilities {
	allowed := ast.CapabilitiesForThisVersion()
	allowed.Builtins = slices.DeleteFunc(allowed.Builtins, func(b *ast.Builtin) bool { return !slices.Contains(ownBuiltins, b.Name) })
	for _, own := range bounded {
		allowed.Builtins = append(allowed.Builtins, own.Decl)
	}
	allowed.AllowNet = []string{}
	return allowed
}

// bound puts the bounded operator in the place of OPA's in a call.
func bound(call []*ast.Term) {
	if len(call) == 0 {
		return
	}
	ref, ok := call[0].Value.(ast.Ref)
	if !ok {
		return
	}
	if own, found := inPlace[ref.String()]; found {
		call[0] = &ast.Term{Value: ast.Ref{ast.VarTerm(own)}, Location: call[0].Location}
	}
}
