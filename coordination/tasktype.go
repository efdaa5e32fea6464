package coordination

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"path"
	"sort"
	"strings"

	"agentlink/policy"
)

//go:embed tasktype/*.json
var typeFiles embed.FS

// TaskType is a kind of task as its data file describes it. A new kind needs a
// file and no Go.
type TaskType struct {
	Name  string `json:"name"`
	Label string `json:"label"`
	// Fields is the JSON Schema of a proposal; unknown fields are refused.
	Fields json.RawMessage `json:"fields"`
	// Disclosures maps a field to the capability that it needs; a field that is
	// not named needs none.
	Disclosures map[string]string `json:"disclosures"`
	// FreeText names the fields whose text no rule reads.
	FreeText []string `json:"freeText"`
	// AmountField is what maxAmount is compared with; "" where there is none.
	AmountField string `json:"amountField"`
	// Action is the consequential action, without the prefix action.; "" for none.
	Action string `json:"action"`
	// Parameters maps a parameter of the action to the path of a field: venue.name.
	Parameters map[string]string `json:"parameters"`
	// ExecutingRole is who runs the action (D6).
	ExecutingRole Role              `json:"executingRole"`
	Labels        map[string]string `json:"labels"`

	schema *Schema
}

var taskTypes = mustLoadTypes()

// TypeOf finds a task type by its name.
func TypeOf(name string) (TaskType, bool) {
	t, ok := taskTypes[name]
	return t, ok
}

// TypeNames lists the task types by name.
func TypeNames() []string {
	names := make([]string, 0, len(taskTypes))
	for name := range taskTypes {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

func mustLoadTypes() map[string]TaskType {
	entries, err := typeFiles.ReadDir("tasktype")
	if err != nil {
		panic(err)
	}
	types := make(map[string]TaskType, len(entries))
	for _, entry := range entries {
		data, err := typeFiles.ReadFile(path.Join("tasktype", entry.Name()))
		if err != nil {
			panic(err)
		}
		t, err := loadType(data)
		if err != nil {
			panic(fmt.Errorf("%s: %w", entry.Name(), err))
		}
		types[t.Name] = t
	}
	return types
}

func loadType(data []byte) (TaskType, error) {
	var t TaskType
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&t); err != nil {
		return t, err
	}
	var err error
	t.schema, err = CompileSchema(t.Name, t.Fields)
	return t, err
}

// CheckFields validates the fields of a proposal and gives them in canonical
// form. Code: bad_request, naming each refused field.
func (t TaskType) CheckFields(raw json.RawMessage) (json.RawMessage, error) {
	_, canonical, err := t.schema.Check(raw, "fields")
	return canonical, err
}

// Needs lists the disclosure capabilities that these fields need, each once, in
// order, and those of them that carry free text.
func (t TaskType) Needs(fields map[string]any) (needs, freeText []string) {
	found := map[string]bool{}
	for field := range fields {
		if capability := t.Disclosures[field]; capability != "" {
			found[capability] = true
		}
	}
	for capability := range found {
		needs = append(needs, capability)
	}
	sort.Strings(needs)
	for _, field := range t.FreeText {
		if _, present := fields[field]; present {
			freeText = append(freeText, t.freeTextCapability(field))
		}
	}
	return needs, freeText
}

// freeTextCapability is what a free-text field counts under: its disclosure, or
// for a field that discloses nothing the proposal itself.
func (t TaskType) freeTextCapability(field string) string {
	if capability := t.Disclosures[field]; capability != "" {
		return capability
	}
	return policy.TaskPropose
}

// Mapped gives the action's parameters as an accepted proposal has them; a
// field that the proposal lacks is left out.
func (t TaskType) Mapped(fields map[string]any) map[string]any {
	mapped := map[string]any{}
	for parameter, from := range t.Parameters {
		var value any = fields
		for _, step := range strings.Split(from, ".") {
			object, ok := value.(map[string]any)
			if !ok {
				value = nil
				break
			}
			value = object[step]
		}
		if value != nil {
			mapped[parameter] = value
		}
	}
	return mapped
}
