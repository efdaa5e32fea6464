package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"agentlink/policy"
)

// TestOverlayLimits: what lies at a limit compiles, what lies beyond does not, and the
// problem says where and why.
func TestOverlayLimits(t *testing.T) {
	t.Parallel()
	padded := func(size int) string {
		begin := ownHead + "decision := \"keep\" # "
		return begin + strings.Repeat("x", size-len(begin))
	}
	nested := func(depth int) string {
		return ownHead + "decision := \"keep\" if " + strings.Repeat("[", depth) + strings.Repeat("]", depth) + " != 1\n"
	}
	number := func(n string) string { return ownHead + "decision := \"keep\" if input.amount < " + n + "\n" }
	for name, test := range map[string]struct {
		fits, beyond string
		problem      policy.Problem
	}{
		"length":            {padded(policy.MaxOverlay), padded(policy.MaxOverlay + 1), policy.Problem{Text: fmt.Sprintf("is longer than %d bytes", policy.MaxOverlay)}},
		"brackets":          {nested(maxBrackets), nested(maxBrackets + 1), policy.Problem{Text: "has brackets within brackets, more than 32 deep"}},
		"a number":          {number("9007199254740991"), number("9007199254740992"), policy.Problem{Line: 3, Text: "a number must lie within ±9007199254740991"}},
		"a negative number": {number("-9007199254740991"), number("-9007199254740992"), policy.Problem{Line: 3, Text: "a number must lie within ±9007199254740991"}},
		"growth by two": {
			ownHead + doubling("x%[2]d := [x%[1]d, x%[1]d]", "input.contact", 16) + `decision := x16`,
			ownHead + doubling("x%[2]d := [x%[1]d, x%[1]d]", "input.contact", 17) + `decision := x17`, policy.Problem{Text: "puts too many values into one another"},
		},
		"growth by three": {
			ownHead + doubling("x%[2]d := [x%[1]d, x%[1]d, x%[1]d]", "input.contact", 10) + `decision := x10`,
			ownHead + doubling("x%[2]d := [x%[1]d, x%[1]d, x%[1]d]", "input.contact", 11) + `decision := x11`, policy.Problem{Text: "puts too many values into one another"},
		},
		"data": {
			ownHead + "limit := 3\ndecision := \"keep\" if data.overlay.limit == 3\n", ownHead + "limit := 3\n\ndecision := \"keep\" if data.overlays.limit == 3\n",
			policy.Problem{Line: 5, Text: outOfReach},
		},
	} {
		if rules, problems := compileOverlay(test.fits, ownLimit); rules == nil {
			t.Errorf("%s: what fits does not compile: %v", name, problems)
		}
		rules, problems := compileOverlay(test.beyond, ownLimit)
		if rules != nil || len(problems) != 1 || problems[0] != test.problem {
			t.Errorf("%s: got %v, want %v", name, problems, test.problem)
		}
	}
}

// TestOverlayReads: what a text reads decides what is remembered of it, and what is
// left open in a forecast.
func TestOverlayReads(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string]struct{ now, form bool }{
		`input.contact == "x"`:                         {false, false},
		`input.now > 1`:                                {true, false},
		`input.now > 1; input.contact == "x"`:          {true, false},
		`input.fields.x`:                               {false, true},
		`input.amount > 1`:                             {false, true},
		`input.freeText; input.contact`:                {false, true},
		`input["fields"].x`:                            {false, true},
		`some name in ["now"]; input[name]`:            {true, true},
		`all := input; all.contact == "x"`:             {true, true},
		`input.now > 1; input.amount; input.contact`:   {true, true},
		`input.capabilities; input.agent.mode == "no"`: {false, false},
	} {
		rules, problems := compileOverlay(ownHead+"decision := \"keep\" if { "+rule+" }", ownLimit)
		if rules == nil {
			t.Errorf("%s: %v", rule, problems)
			continue
		}
		if rules.readsNow != want.now || rules.readsForm != want.form {
			t.Errorf("%s: reads the time %v, the form %v", rule, rules.readsNow, rules.readsForm)
		}
	}
}

// TestExactNumbers: a result within what JSON keeps exactly is given, the next one is not.
func TestExactNumbers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		a, b ast.Value
		want string
	}{
		"plus":  {ast.Number("9007199254740990"), ast.Number("1"), "9007199254740991"},
		"minus": {ast.Number("-9007199254740990"), ast.Number("1"), "-9007199254740991"},
		"mul":   {ast.Number("0"), ast.Number("-1"), "0"},                  // and no -0, which is another text
		"rem":   {ast.Number("1000007"), ast.Number("2000000"), "1000007"}, // and no 1.000007e+06
		"div":   {ast.Number("1"), ast.Number("4"), "0.25"},
	} {
		if got, err := called(bounded["node_"+name], test.a, test.b); err != nil || got != test.want {
			t.Errorf("%s: got %s, %v", name, got, err)
		}
	}
	for name, operands := range map[string][2]ast.Value{
		"plus":  {ast.Number("9007199254740991"), ast.Number("1")},
		"minus": {ast.Number("-9007199254740991"), ast.Number("1")},
		"mul":   {ast.String("2"), ast.Number("2")},
		"div":   {ast.Number("1"), ast.Number("0")},
		"rem":   {ast.Number("1"), ast.String("x")},
	} {
		if got, err := called(bounded["node_"+name], operands[0], operands[1]); err == nil {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

// TestClock: a time beyond all calendars, and what is no time or zone, is an error.
func TestClock(t *testing.T) {
	t.Parallel()
	if got, err := called(bounded["clock"], ast.Number("274877906943"), ast.String("UTC")); err != nil || !strings.Contains(got, `"date": "10680-07-14"`) {
		t.Errorf("the last second: %s, %v", got, err)
	}
	for name, operands := range map[string][2]ast.Value{
		"a second later":   {ast.Number("274877906944"), ast.String("UTC")},
		"long ago":         {ast.Number("-274877906944"), ast.String("UTC")},
		"no number":        {ast.String("1"), ast.String("UTC")},
		"no zone":          {ast.Number("1"), ast.String("")},
		"a number as zone": {ast.Number("1"), ast.Number("1")},
		"neither":          {ast.String("1"), ast.Number("1")},
	} {
		if got, err := called(bounded["clock"], operands[0], operands[1]); err == nil {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

func called(f *topdown.Builtin, a, b ast.Value) (result string, err error) {
	err = f.Func(topdown.BuiltinContext{}, []*ast.Term{ast.NewTerm(a), ast.NewTerm(b)}, func(term *ast.Term) error {
		result = term.String()
		return nil
	})
	return result, err
}
