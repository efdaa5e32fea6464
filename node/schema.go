package node

import (
	"errors"
	"sort"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// SchemaProblem turns what a JSON Schema validation found into a bad_request
// that names each field below prefix, and never shows a value.
func SchemaProblem(err error, prefix string) error {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return Wrap(err, "validate against a schema")
	}
	var fields []Field
	collectProblems(invalid, prefix, &fields)
	sort.SliceStable(fields, func(i, j int) bool { return fields[i].Field < fields[j].Field })
	return BadFields(fields...)
}

func collectProblems(invalid *jsonschema.ValidationError, prefix string, fields *[]Field) {
	if len(invalid.Causes) > 0 {
		for _, cause := range invalid.Causes {
			collectProblems(cause, prefix, fields)
		}
		return
	}
	at := append([]string{}, invalid.InstanceLocation...)
	if prefix != "" {
		at = append([]string{prefix}, at...)
	}
	switch k := invalid.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			*fields = append(*fields, Field{Field: joinField(at, name), Problem: "is not known here"})
		}
	case *kind.Required:
		for _, name := range k.Missing {
			*fields = append(*fields, Field{Field: joinField(at, name), Problem: "is required"})
		}
	default:
		*fields = append(*fields, Field{Field: joinField(at), Problem: schemaWord(k)})
	}
}

func joinField(at []string, more ...string) string {
	name := strings.Join(append(append([]string{}, at...), more...), ".")
	if name == "" {
		return "(body)"
	}
	return name
}

func schemaWord(k jsonschema.ErrorKind) string {
	switch k.(type) {
	case *kind.Type:
		return "has the wrong type"
	case *kind.MaxLength:
		return "is too long"
	case *kind.MinLength:
		return "is too short"
	case *kind.MaxItems:
		return "has too many entries"
	case *kind.Minimum, *kind.ExclusiveMinimum:
		return "is too small"
	case *kind.Maximum, *kind.ExclusiveMaximum:
		return "is too large"
	case *kind.Format:
		return "is not a valid " + strings.ReplaceAll(k.(*kind.Format).Want, "-", " ")
	}
	return "is not valid"
}
