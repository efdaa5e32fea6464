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

	"agentlink/coordination"
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

	schema *coordination.Schema
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
	var err error
	if d.schema, err = coordination.CompileSchema(d.Name, d.Parameters); err != nil {
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

// Check validates parameters and gives them as values and in canonical form.
// Code: bad_request, naming each refused parameter and showing none.
func (d Definition) Check(raw json.RawMessage) (map[string]any, json.RawMessage, error) {
	return d.schema.Check(raw, "parameters")
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
