package schema

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"sort"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"agentlink/node"
)

// Validator holds values to a schema.
type Validator struct {
	schema  *jsonschema.Schema
	problem string
}

const place = "agentlink://schema"

// Body makes the validator of a request's body.
func (s *Set) Body(t reflect.Type) *Validator {
	ref := s.Ref(t)
	return &Validator{schema: s.compile(ref), problem: s.problems[componentName(t)]}
}

// Query makes the validator of a request's query: an object with a member for
// each parameter.
func (s *Set) Query(t reflect.Type) *Validator {
	properties, required := map[string]any{}, []any{}
	for _, parameter := range s.Parameters(t) {
		if parameter.In != "query" {
			continue
		}
		properties[parameter.Name] = parameter.Schema
		if parameter.Required {
			required = append(required, parameter.Name)
		}
	}
	return &Validator{schema: s.compile(Rule{
		"type": "object", "properties": properties, "required": required, "additionalProperties": false,
	})}
}

func (s *Set) compile(root Rule) *jsonschema.Schema {
	document := map[string]any{"components": map[string]any{"schemas": s.components}}
	for keyword, value := range root {
		document[keyword] = value
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	if err := compiler.AddResource(place, plain(document)); err != nil {
		panic("schema: " + err.Error())
	}
	return compiler.MustCompile(place)
}

// plain copies a schema into the types that the compiler knows.
func plain(value any) any {
	switch value := value.(type) {
	case map[string]any:
		copied := make(map[string]any, len(value))
		for key, member := range value {
			copied[key] = plain(member)
		}
		return copied
	case []any:
		copied := make([]any, 0, len(value))
		for _, entry := range value {
			copied = append(copied, plain(entry))
		}
		return copied
	case []string:
		copied := make([]any, 0, len(value))
		for _, entry := range value {
			copied = append(copied, entry)
		}
		return copied
	}
	return value
}

// JSON checks a JSON document that node.Decode has read before. Code:
// bad_request, naming each field.
func (v *Validator) JSON(document []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		return &node.Error{Code: node.BadRequest, Message: "The request is not valid JSON.", Err: err}
	}
	return v.Value(value)
}

// Value checks a value that is made of maps, lists, strings, numbers and booleans.
func (v *Validator) Value(value any) error {
	err := v.schema.Validate(value)
	if err == nil {
		return nil
	}
	var broken *jsonschema.ValidationError
	if !errors.As(err, &broken) {
		return node.Wrap(err, "validate")
	}
	fields := v.fields(broken)
	sort.SliceStable(fields, func(i, j int) bool { return fields[i].Field < fields[j].Field })
	return node.BadFields(fields...)
}

// fields walks to the leaves of what is wrong.
func (v *Validator) fields(e *jsonschema.ValidationError) []node.Field {
	name := strings.Join(e.InstanceLocation, ".")
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		return each(name, k.Missing, "is missing")
	case *kind.DependentRequired:
		return each(name, k.Missing, "is missing")
	case *kind.AdditionalProperties:
		return each(name, k.Properties, "is not known here")
	case *kind.OneOf, *kind.AnyOf, *kind.Not:
		return []node.Field{{Field: orBody(name), Problem: v.problem}}
	}
	if len(e.Causes) == 0 {
		return []node.Field{{Field: orBody(name), Problem: problem(e.ErrorKind)}}
	}
	var fields []node.Field
	for _, cause := range e.Causes {
		fields = append(fields, v.fields(cause)...)
	}
	return fields
}

func each(parent string, names []string, problem string) []node.Field {
	fields := make([]node.Field, 0, len(names))
	for _, name := range names {
		if parent != "" {
			name = parent + "." + name
		}
		fields = append(fields, node.Field{Field: name, Problem: problem})
	}
	return fields
}

func orBody(name string) string {
	if name == "" {
		return "(body)"
	}
	return name
}

// problem says what is wrong with a value, without repeating the value.
func problem(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return "must be of type " + strings.Join(k.Want, " or ")
	case *kind.Enum:
		return "must be one of " + list(k.Want)
	case *kind.MinLength:
		if k.Want == 1 {
			return "must not be empty"
		}
		return fmt.Sprintf("must have at least %d characters", k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("must have at most %d characters", k.Want)
	case *kind.Minimum:
		return "must be at least " + number(k.Want)
	case *kind.Maximum:
		return "must be at most " + number(k.Want)
	case *kind.Pattern:
		return "must match " + k.Want
	case *kind.Format:
		return "must be a " + k.Want
	}
	return "is not valid"
}

func list(values []any) string {
	words := make([]string, 0, len(values))
	for _, value := range values {
		words = append(words, fmt.Sprint(value))
	}
	return strings.Join(words, ", ")
}

func number(value *big.Rat) string {
	if value.IsInt() {
		return value.Num().String()
	}
	return value.FloatString(6)
}
