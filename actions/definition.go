package actions

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"sort"
	"strconv"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"agentlink/node"
)

//go:embed schema/*.json
var schemaFiles embed.FS

// Definition is an action as its data file describes it. Its executor is code.
type Definition struct {
	Name  string `json:"name"`
	Label string `json:"label"`
	// Summary says in plain words what would happen; {name} stands for a parameter.
	Summary string `json:"summary"`
	// AmountField is the parameter that maxAmount is compared with; "" where there
	// is none, and then maxAmount never matches.
	AmountField string `json:"amountField"`
	// Parameters is the JSON Schema; unknown parameters are refused.
	Parameters json.RawMessage `json:"parameters"`

	schema *jsonschema.Schema
	days   map[string]bool // the parameters that are days
}

// taskParameter is the one parameter that names a task.
const taskParameter = "taskUid"

var definitions = mustLoadDefinitions()

// DefinitionOf finds an action by its name: reservation.book.
func DefinitionOf(name string) (Definition, bool) {
	d, ok := definitions[name]
	return d, ok
}

// Names lists the actions by name.
func Names() []string {
	names := make([]string, 0, len(definitions))
	for name := range definitions {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// Capability is what the owner's rules call an action.
func Capability(action string) string { return "action." + action }

func mustLoadDefinitions() map[string]Definition {
	entries, err := schemaFiles.ReadDir("schema")
	if err != nil {
		panic(err)
	}
	all := make(map[string]Definition, len(entries))
	for _, entry := range entries {
		data, err := schemaFiles.ReadFile(path.Join("schema", entry.Name()))
		if err != nil {
			panic(err)
		}
		d, err := loadDefinition(data)
		if err != nil {
			panic(fmt.Errorf("%s: %w", entry.Name(), err))
		}
		all[d.Name] = d
	}
	return all
}

func loadDefinition(data []byte) (Definition, error) {
	var d Definition
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil {
		return d, err
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(d.Parameters))
	if err != nil {
		return d, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	for name, layout := range layouts {
		compiler.RegisterFormat(&jsonschema.Format{Name: name, Validate: written(layout)})
	}
	if err := compiler.AddResource(d.Name, document); err != nil {
		return d, err
	}
	if d.schema, err = compiler.Compile(d.Name); err != nil {
		return d, err
	}
	d.days, err = daysOf(d.Parameters)
	return d, err
}

// daysOf finds the parameters that are days, to write them with their weekday.
func daysOf(schema json.RawMessage) (map[string]bool, error) {
	var object struct {
		Properties map[string]struct {
			Format string `json:"format"`
		} `json:"properties"`
	}
	days := map[string]bool{}
	err := json.Unmarshal(schema, &object)
	for name, property := range object.Properties {
		days[name] = property.Format == "calendar-date"
	}
	return days, err
}

// layouts are the formats of text that a schema here can ask for: real days, and
// times of day with two digits each.
var layouts = map[string]string{"calendar-date": time.DateOnly, "clock-time": "15:04"}

func written(layout string) func(any) error {
	return func(value any) error {
		text, ok := value.(string)
		if !ok {
			return nil
		}
		if at, err := time.Parse(layout, text); err != nil || at.Format(layout) != text {
			return fmt.Errorf("is not written as %s", layout)
		}
		return nil
	}
}

// Check validates parameters and gives them as values and in canonical form.
// Code: bad_request, naming each refused parameter and showing none.
func (d Definition) Check(raw json.RawMessage) (map[string]any, json.RawMessage, error) {
	if len(raw) == 0 {
		return nil, nil, node.BadFields(node.Field{Field: "parameters", Problem: "is required"})
	}
	var values map[string]any
	if err := node.Decode(raw, &values); err != nil {
		return nil, nil, err
	}
	if values == nil {
		return nil, nil, node.BadFields(node.Field{Field: "parameters", Problem: "must be an object"})
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, nil, node.Errorf(node.BadRequest, "The parameters are not valid JSON.")
	}
	if err := d.schema.Validate(document); err != nil {
		return nil, nil, node.SchemaProblem(err, "parameters")
	}
	canonical, err := node.Canonical(raw)
	return values, canonical, node.Wrap(err, "canonicalise parameters")
}

var placeholder = regexp.MustCompile(`\{([a-zA-Z]+)\}`)

// Describe says in plain words what would happen. It holds text of the agent's:
// whoever shows it escapes it.
func (d Definition) Describe(values map[string]any) string {
	return placeholder.ReplaceAllStringFunc(d.Summary, func(match string) string {
		name := match[1 : len(match)-1]
		return inWords(values[name], d.days[name])
	})
}

// inWords writes a parameter for a reader, a day with its weekday.
func inWords(value any, day bool) string {
	switch v := value.(type) {
	case string:
		if at, err := time.Parse(time.DateOnly, v); day && err == nil {
			return at.Format("Monday 2 January 2006")
		}
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return "?"
}
