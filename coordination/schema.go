package coordination

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
	_ "time/tzdata" // time zones are valid or not whatever machine the node runs on

	"github.com/santhosh-tekuri/jsonschema/v6"

	"agentlink/node"
)

// Schema checks the structured part of what an agent says: the fields of a
// proposal, the parameters of an action.
type Schema struct{ compiled *jsonschema.Schema }

// CompileSchema reads a JSON Schema from one of our data files.
func CompileSchema(name string, raw json.RawMessage) (*Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	for name, valid := range formats {
		compiler.RegisterFormat(&jsonschema.Format{Name: name, Validate: asFormat(name, valid)})
	}
	if err := compiler.AddResource(name, document); err != nil {
		return nil, err
	}
	compiled, err := compiler.Compile(name)
	return &Schema{compiled}, err
}

// Check validates a JSON object and gives it as values and in canonical form.
// Code: bad_request, naming each refused member below field, and showing none.
func (s *Schema) Check(raw json.RawMessage, field string) (map[string]any, json.RawMessage, error) {
	if len(raw) == 0 {
		return nil, nil, node.BadFields(node.Field{Field: field, Problem: "is required"})
	}
	var values map[string]any
	if err := node.Decode(raw, &values); err != nil {
		return nil, nil, err
	}
	if values == nil {
		return nil, nil, node.BadFields(node.Field{Field: field, Problem: "must be an object"})
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, nil, node.BadFields(node.Field{Field: field, Problem: "is not valid JSON"})
	}
	if err := s.compiled.Validate(document); err != nil {
		return nil, nil, node.SchemaProblem(err, field)
	}
	canonical, err := node.Canonical(raw)
	return values, canonical, node.Wrap(err, "canonicalise "+field)
}

// formats are what a JSON Schema of ours can ask of a string.
var formats = map[string]func(string) bool{
	"calendar-date": func(text string) bool { return parses("2006-01-02", text) },
	"clock-time":    func(text string) bool { return parses("15:04", text) },
	"time-zone":     validZone,
}

func parses(layout, text string) bool {
	at, err := time.Parse(layout, text)
	return err == nil && at.Format(layout) == text
}

func validZone(text string) bool {
	if text == "" || text == "Local" {
		return false
	}
	_, err := time.LoadLocation(text)
	return err == nil
}

func asFormat(name string, valid func(string) bool) func(any) error {
	return func(value any) error {
		if text, ok := value.(string); ok && !valid(text) {
			return fmt.Errorf("is not a valid %s", name)
		}
		return nil
	}
}
