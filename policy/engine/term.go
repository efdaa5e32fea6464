package engine

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/open-policy-agent/opa/v1/ast"
)

// object makes a term of names and their terms in turn.
func object(pairs ...any) *ast.Term {
	items := make([][2]*ast.Term, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		items = append(items, ast.Item(text(pairs[i].(string)), pairs[i+1].(*ast.Term)))
	}
	return ast.ObjectTerm(items...)
}

func objectOf[K ~string, V any](values map[K]V, term func(V) *ast.Term) *ast.Term {
	items := make([][2]*ast.Term, 0, len(values))
	for name, value := range values {
		items = append(items, ast.Item(text(string(name)), term(value)))
	}
	return ast.ObjectTerm(items...)
}

// truths is {name: true}.
func truths(names []string) *ast.Term {
	items := make([][2]*ast.Term, 0, len(names))
	for _, name := range names {
		items = append(items, ast.Item(text(name), ast.InternedTerm(true)))
	}
	return ast.ObjectTerm(items...)
}

func texts(values []string) *ast.Term {
	terms := make([]*ast.Term, len(values))
	for i, value := range values {
		terms[i] = text(value)
	}
	return ast.ArrayTerm(terms...)
}

func text(value string) *ast.Term { return ast.StringTerm(value) }

// number gives each number one spelling, whole ones without exponent.
func number(value float64) *ast.Term {
	format := byte('g')
	if value == math.Trunc(value) {
		format = 'f'
	}
	return ast.NumberTerm(json.Number(strconv.FormatFloat(value, format, -1, 64)))
}

// termOf converts what plain gave.
func termOf(value any) *ast.Term {
	switch v := value.(type) {
	case bool:
		return ast.BooleanTerm(v)
	case float64:
		return number(v)
	case string:
		return text(v)
	case []any:
		terms := make([]*ast.Term, len(v))
		for i, entry := range v {
			terms[i] = termOf(entry)
		}
		return ast.ArrayTerm(terms...)
	case map[string]any:
		return objectOf(v, termOf)
	}
	return ast.NullTerm()
}
