// Package schema describes the structs of requests and answers as JSON Schema
// 2020-12, and holds requests to that description. The served OpenAPI document
// is made of the same schemas, so it cannot differ from what is taken.
//
// A field is described by its type and by these tags:
//
//	json:"name,omitempty"   name; omitempty or omitzero make it optional
//	is:"title"              the named rule of the Set that its value follows
//	doc:"…"                 what it means
//	path:"uid"              it comes from the path and not from the body
//	query:"limit"           it comes from the query; the tag optional:"false" requires it
//
// A struct with the method SchemaRules adds rules about several fields.
package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Rule is keywords of JSON Schema.
type Rule = map[string]any

// Ruled is a struct with rules that concern several of its fields. problem is
// what a caller is told who breaks them.
type Ruled interface {
	SchemaRules() (rules Rule, problem string)
}

// Set knows the rules by name, the values of enumerated types, and the schemas
// of all the structs that it was asked for.
type Set struct {
	rules      map[string]Rule
	types      map[reflect.Type]Rule
	components map[string]any
	owners     map[string]reflect.Type
	problems   map[string]string
}

// NewSet makes a set with named rules.
func NewSet(rules map[string]Rule) *Set {
	return &Set{
		rules: rules, types: map[reflect.Type]Rule{}, components: map[string]any{},
		owners: map[string]reflect.Type{}, problems: map[string]string{},
	}
}

// Name adds a named rule.
func (s *Set) Name(name string, rule Rule) { s.rules[name] = rule }

// Describe fixes the schema of a type that is no struct of ours.
func (s *Set) Describe(value any, rule Rule) { s.types[reflect.TypeOf(value)] = rule }

// Enum fixes the values of an enumerated type.
func Enum[T ~string](s *Set, values ...T) {
	list := make([]any, 0, len(values))
	for _, value := range values {
		list = append(list, string(value))
	}
	var zero T
	s.Describe(zero, Rule{"type": "string", "enum": list})
}

// Components are the schemas by name, as OpenAPI wants them.
func (s *Set) Components() map[string]any { return s.components }

// Ref adds the struct's schema to the components and refers to it.
func (s *Set) Ref(t reflect.Type) Rule {
	name := componentName(t)
	if owner, ok := s.owners[name]; ok && owner != t {
		panic(fmt.Sprintf("schema: %v and %v would share the name %s", owner, t, name))
	} else if !ok {
		s.owners[name] = t
		s.components[name] = s.object(t)
	}
	return Rule{"$ref": "#/components/schemas/" + name}
}

// Requires says whether a body has to have anything in it.
func (s *Set) Requires(t reflect.Type) bool {
	schema, _ := s.components[componentName(t)].(Rule)
	_, some := schema["required"]
	_, rules := reflect.Zero(t).Interface().(Ruled)
	return some || rules
}

func componentName(t reflect.Type) string {
	return strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
}

// Parameter is a value of a path or a query.
type Parameter struct {
	Name     string
	In       string // "path" or "query"
	Required bool
	Doc      string
	Schema   Rule
}

// Parameters lists what a request takes from path and query.
func (s *Set) Parameters(t reflect.Type) []Parameter {
	var list []Parameter
	for _, field := range reflect.VisibleFields(t) {
		for _, in := range []string{"path", "query"} {
			if name, ok := field.Tag.Lookup(in); ok {
				required := in == "path" || field.Tag.Get("optional") == "false"
				list = append(list, Parameter{
					Name: name, In: in, Required: required, Doc: field.Tag.Get("doc"), Schema: s.value(field),
				})
			}
		}
	}
	return list
}

// HasBody says whether a request takes anything from its body.
func HasBody(t reflect.Type) bool {
	for _, field := range reflect.VisibleFields(t) {
		if name, _ := jsonName(field); name != "" {
			return true
		}
	}
	return false
}

func (s *Set) object(t reflect.Type) Rule {
	properties, required := map[string]any{}, []any{}
	for _, field := range reflect.VisibleFields(t) {
		name, optional := jsonName(field)
		if name == "" {
			continue
		}
		value := s.value(field)
		if doc := field.Tag.Get("doc"); doc != "" {
			value["description"] = doc
		}
		properties[name] = value
		if !optional {
			required = append(required, name)
		}
	}
	schema := Rule{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		schema["required"] = required
	}
	if ruled, ok := reflect.Zero(t).Interface().(Ruled); ok {
		rules, problem := ruled.SchemaRules()
		for keyword, rule := range rules {
			schema[keyword] = rule
		}
		s.problems[componentName(t)] = problem
	}
	return schema
}

func jsonName(field reflect.StructField) (name string, optional bool) {
	tag, ok := field.Tag.Lookup("json")
	if !ok || tag == "-" || field.Anonymous {
		return "", false
	}
	name, options, _ := strings.Cut(tag, ",")
	return name, strings.Contains(options, "omit")
}

// value is the schema of a field: of its type, narrowed by its named rule.
func (s *Set) value(field reflect.StructField) Rule {
	schema := Rule{}
	for keyword, value := range s.typed(field.Type) {
		schema[keyword] = value
	}
	if name := field.Tag.Get("is"); name != "" {
		rule, ok := s.rules[name]
		if !ok {
			panic(fmt.Sprintf("schema: no rule %q for field %s", name, field.Name))
		}
		for keyword, value := range rule {
			schema[keyword] = value
		}
	}
	return schema
}

var (
	timeType = reflect.TypeFor[time.Time]()
	rawType  = reflect.TypeFor[json.RawMessage]()
)

func (s *Set) typed(t reflect.Type) Rule {
	if rule, ok := s.types[t]; ok {
		return rule
	}
	if t == rawType {
		return Rule{}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.typed(t.Elem())
	case reflect.String:
		return Rule{"type": "string"}
	case reflect.Bool:
		return Rule{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return Rule{"type": "integer"}
	case reflect.Float64:
		return Rule{"type": "number"}
	case reflect.Slice:
		return Rule{"type": "array", "items": s.typed(t.Elem())}
	case reflect.Map:
		return Rule{"type": "object", "additionalProperties": s.typed(t.Elem())}
	case reflect.Interface:
		return Rule{}
	case reflect.Struct:
		if t != timeType {
			return s.Ref(t)
		}
	}
	panic(fmt.Sprintf("schema: no schema for %v", t))
}
