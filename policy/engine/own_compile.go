package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/open-policy-agent/opa/v1/ast"

	"agentlink/node"
	"agentlink/policy"
)

// Limits of an overlay's text, and of the time in which it compiles. Brackets may
// stand within brackets only so deep, since what reads them recurses.
const (
	maxBrackets  = 32
	compileLimit = 2 * time.Second
)

// ownPackage is the one package that an overlay may be, ownQuery what it is asked.
const (
	ownPackage = "data." + policy.OverlayPackage
	ownQuery   = "data." + policy.OverlayPackage + ".decision = answer"
)

// overlay are the owner's own rules, compiled. It may be used by many at once.
type overlay struct {
	version   string // SHA-256 of the text, hex
	compiler  *ast.Compiler
	query     ast.Body
	limit     time.Duration
	readsNow  bool // input.now
	readsForm bool // what a forecast does not know: fields, amount, freeText
	stuck     chan struct{}
}

// overlayVersion names a text.
func overlayVersion(source string) string {
	sum := sha256.Sum256([]byte(source))
	return hex.EncodeToString(sum[:])
}

// compileOverlay gives the rules or what is wrong with the text, line by line.
func compileOverlay(source string, limit time.Duration) (*overlay, []policy.Problem) {
	if problem := unfit(source); problem != "" {
		return nil, []policy.Problem{{Text: problem}}
	}
	type result struct {
		rules    *overlay
		problems []policy.Problem
	}
	done := make(chan result, 1)
	go func() {
		rules, problems := compileNow(source, limit)
		done <- result{rules, problems}
	}()
	select {
	case r := <-done:
		return r.rules, r.problems
	case <-time.After(compileLimit):
		return nil, []policy.Problem{{Text: "takes too long to compile"}}
	}
}

func compileNow(source string, limit time.Duration) (rules *overlay, problems []policy.Problem) {
	defer func() {
		if cause := recover(); cause != nil {
			rules, problems = nil, []policy.Problem{{Text: "cannot be compiled"}}
		}
	}()
	module, err := ast.ParseModuleWithOpts("overlay.rego", source, ast.ParserOptions{
		RegoVersion: ast.RegoV1, Capabilities: ownCapabilities(),
	})
	if err != nil {
		return nil, problemsOf(err)
	}
	rules = &overlay{version: overlayVersion(source), limit: limit, stuck: make(chan struct{}, maxStuck)}
	if problems := rules.inspect(module); len(problems) > 0 {
		return nil, problems
	}
	rules.compiler = ast.NewCompiler().WithStrict(true).WithCapabilities(ownCapabilities())
	if rules.compiler.Compile(map[string]*ast.Module{"overlay.rego": module}); rules.compiler.Failed() {
		return nil, problemsOf(rules.compiler.Errors)
	}
	if len(rules.compiler.GetRulesExact(ast.MustParseRef(ownPackage+".decision"))) == 0 {
		return nil, []policy.Problem{{Text: "has no rule with the name decision"}}
	}
	rules.query, err = rules.compiler.QueryCompiler().Compile(ast.MustParseBody(ownQuery))
	if err != nil {
		return nil, problemsOf(err)
	}
	return rules, nil
}

// unfit is what is wrong with a text before it is parsed; "" for nothing.
func unfit(source string) string {
	switch {
	case len(source) > policy.MaxOverlay:
		return fmt.Sprintf("is longer than %d bytes", policy.MaxOverlay)
	case !utf8.ValidString(source):
		return "is not UTF-8"
	case strings.ContainsRune(source, 0):
		return "contains a NUL character"
	}
	depth := 0
	for _, c := range source {
		switch c {
		case '(', '[', '{':
			if depth++; depth > maxBrackets {
				return fmt.Sprintf("has brackets within brackets, more than %d deep", maxBrackets)
			}
		case ')', ']', '}':
			depth = max(0, depth-1)
		}
	}
	return ""
}

// problemsOf keeps the compiler's words and lines.
func problemsOf(err error) []policy.Problem {
	var list ast.Errors
	if !errors.As(err, &list) {
		var one *ast.Error
		if !errors.As(err, &one) {
			return []policy.Problem{{Text: "cannot be compiled"}}
		}
		list = ast.Errors{one}
	}
	var problems []policy.Problem
	for _, e := range list {
		problem := policy.Problem{Text: e.Message}
		if e.Location != nil {
			problem.Line = e.Location.Row
		}
		problems = append(problems, problem)
	}
	return problems
}

// inspect refuses what could reach out of the overlay or grow beyond its time, and
// notes which parts of the input are read.
func (o *overlay) inspect(module *ast.Module) (problems []policy.Problem) {
	bad := func(at *ast.Location, text string) {
		problem := policy.Problem{Text: text}
		if at != nil {
			problem.Line = at.Row
		}
		problems = append(problems, problem)
	}
	if !module.Package.Path.Equal(ast.MustParseRef(ownPackage)) {
		bad(module.Package.Loc(), "the package must be "+policy.OverlayPackage)
	}
	for _, imported := range module.Imports {
		if imported.Path.Value.Compare(ast.MustParseRef("rego.v1")) != 0 {
			bad(imported.Loc(), "nothing can be imported here")
		}
	}
	growth := 1
	look := func(t *ast.Term) {
		growth = min(maxGrowth+1, growth*grows(t))
		switch v := t.Value.(type) {
		case ast.Call:
			bound(v)
		case ast.Number:
			if n, ok := v.Float64(); !ok || math.Abs(n) > node.MaxSafeInt {
				bad(t.Loc(), "a number must lie within ±9007199254740991")
			}
		case ast.Ref:
			o.note(v)
			if !readable(v) {
				bad(t.Loc(), outOfReach)
			}
		case ast.Var:
			if v.Equal(ast.DefaultRootDocument.Value) {
				bad(t.Loc(), outOfReach)
			}
			if v.Equal(ast.InputRootDocument.Value) {
				o.note(ast.InputRootRef)
			}
		}
	}
	for _, rule := range module.Rules {
		ast.WalkExprs(rule, func(e *ast.Expr) bool {
			if len(e.With) > 0 {
				bad(e.Loc(), "with cannot be used here")
			}
			if terms, ok := e.Terms.([]*ast.Term); ok {
				bound(terms)
				if terms[0].Equal(printing) {
					bad(e.Loc(), "undefined function print")
				}
			}
			return false
		})
		walk(rule, look)
	}
	if growth > maxGrowth {
		bad(nil, "puts too many values into one another")
	}
	return problems
}

// printing is what the compiler would leave out without a word.
var printing = ast.NewTerm(ast.Ref{ast.VarTerm("print")})

// maxGrowth bounds how large a value can become by being put into another and that
// into the next: compiling takes as long as its type is large.
const maxGrowth = 1 << 16

// grows says how many times as large as its largest part a value can be. Constants
// do not count: their size is in the text.
func grows(t *ast.Term) int {
	parts := 0
	count := func(part *ast.Term) {
		if !ast.IsConstant(part.Value) {
			parts++
		}
	}
	switch v := t.Value.(type) {
	case *ast.Array:
		v.Foreach(count)
	case ast.Set:
		v.Foreach(count)
	case ast.Object:
		v.Foreach(func(key, value *ast.Term) { count(key); count(value) })
	case *ast.ArrayComprehension, *ast.SetComprehension, *ast.ObjectComprehension:
		parts = 2
	}
	if parts == 0 {
		return 1
	}
	return max(2, parts)
}

const outOfReach = "nothing but input and the rules of this text can be read"

// walk looks at every term. The head of a reference is looked at with the
// reference.
func walk(x any, look func(*ast.Term)) {
	ast.WalkTerms(x, func(t *ast.Term) bool {
		look(t)
		ref, isRef := t.Value.(ast.Ref)
		if isRef {
			for _, part := range ref[1:] {
				walk(part, look)
			}
			if _, isVar := ref[0].Value.(ast.Var); !isVar {
				walk(ref[0], look)
			}
		}
		return isRef
	})
}

// readable says whether a reference stays within the overlay: data is its own
// package alone.
func readable(ref ast.Ref) bool {
	if !ref[0].Equal(ast.DefaultRootDocument) {
		return true
	}
	return len(ref) > 1 && ref[1].Equal(ast.StringTerm(policy.OverlayPackage))
}

func (o *overlay) note(ref ast.Ref) {
	if !ref[0].Equal(ast.InputRootDocument) {
		return
	}
	name, known := "", false
	if len(ref) > 1 {
		if text, ok := ref[1].Value.(ast.String); ok {
			name, known = string(text), true
		}
	}
	o.readsNow = o.readsNow || !known || name == "now"
	o.readsForm = o.readsForm || !known || slices.Contains([]string{"fields", "amount", "freeText"}, name)
}
