package coordination

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
)

func fields(t *testing.T, changes map[string]any) json.RawMessage {
	t.Helper()
	all := map[string]any{
		"date": "2027-01-15", "time": "19:30", "timezone": "America/Toronto",
		"cuisine": "italian", "partySize": 4, "venue": map[string]any{"name": "Trattoria", "area": "Old Town"},
		"dietaryNotes": []string{"no nuts"}, "budgetPerPerson": 40.5, "notes": "by the window",
	}
	for name, value := range changes {
		if value == nil {
			delete(all, name)
		} else {
			all[name] = value
		}
	}
	raw, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// Each row of the table of dinner fields, at and over its limits.
func TestDinnerFields(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return strings.Repeat("ü", n) }
	many := func(n int) []string { return make([]string, n) }
	cases := []struct {
		name  string
		field string
		value any
		bad   string // the field that is refused; "" where it is fine
	}{
		{"date is required", "date", nil, "fields.date"},
		{"date that does not exist", "date", "2026-02-30", "fields.date"},
		{"date in another form", "date", "15.01.2027", "fields.date"},
		{"leap day", "date", "2028-02-29", ""},
		{"time is required", "time", nil, "fields.time"},
		{"time 24:00", "time", "24:00", "fields.time"},
		{"time with one digit", "time", "9:30", "fields.time"},
		{"midnight", "time", "00:00", ""},
		{"timezone is required", "timezone", nil, "fields.timezone"},
		{"timezone unknown", "timezone", "Mars/Olympus", "fields.timezone"},
		{"timezone of this machine", "timezone", "Local", "fields.timezone"},
		{"timezone empty", "timezone", "", "fields.timezone"},
		{"cuisine of 64", "cuisine", long(64), ""},
		{"cuisine of 65", "cuisine", long(65), "fields.cuisine"},
		{"party of 1", "partySize", 1, ""},
		{"party of 20", "partySize", 20, ""},
		{"party of 0", "partySize", 0, "fields.partySize"},
		{"party of 21", "partySize", 21, "fields.partySize"},
		{"party of 2.5", "partySize", 2.5, "fields.partySize"},
		{"party as text", "partySize", "4", "fields.partySize"},
		{"venue without an area", "venue", map[string]any{"name": "Trattoria"}, ""},
		{"venue without a name", "venue", map[string]any{"area": "Old Town"}, "fields.venue.name"},
		{"venue with an empty name", "venue", map[string]any{"name": ""}, "fields.venue.name"},
		{"venue name of 121", "venue", map[string]any{"name": long(121)}, "fields.venue.name"},
		{"venue area of 121", "venue", map[string]any{"name": "a", "area": long(121)}, "fields.venue.area"},
		{"venue with something else", "venue", map[string]any{"name": "a", "phone": "1"}, "fields.venue.phone"},
		{"10 dietary notes", "dietaryNotes", many(10), ""},
		{"11 dietary notes", "dietaryNotes", many(11), "fields.dietaryNotes"},
		{"dietary note of 121", "dietaryNotes", []string{long(121)}, "fields.dietaryNotes.0"},
		{"budget of 0", "budgetPerPerson", 0, "fields.budgetPerPerson"},
		{"budget of 10,000", "budgetPerPerson", 10000, ""},
		{"budget over 10,000", "budgetPerPerson", 10000.01, "fields.budgetPerPerson"},
		{"notes of 500", "notes", long(500), ""},
		{"notes of 501", "notes", long(501), "fields.notes"},
		{"a field that is not in the schema", "secret", "x", "fields.secret"},
		{"a field in another case", "Cuisine", "italian", "fields.Cuisine"},
	}
	dinner, ok := TypeOf("dinner.coordination")
	if !ok {
		t.Fatal("no dinner.coordination")
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := dinner.CheckFields(fields(t, map[string]any{c.field: c.value}))
			if got := firstField(err); got != c.bad {
				t.Errorf("refused %q, want %q (%v)", got, c.bad, err)
			}
		})
	}
}

func firstField(err error) string {
	e, ok := node.AsError(err)
	if !ok {
		return ""
	}
	if list, ok := e.Details["fields"].([]node.Field); ok && e.Code == node.BadRequest && len(list) > 0 {
		return list[0].Field
	}
	return "?" + err.Error()
}

// Each row of the table of disclosure capabilities.
func TestDinnerDisclosures(t *testing.T) {
	t.Parallel()
	dinner, _ := TypeOf("dinner.coordination")
	for field, want := range map[string][]string{
		"date":            {"disclose.availability"},
		"time":            {"disclose.availability"},
		"timezone":        {"disclose.availability"},
		"cuisine":         {"disclose.preferences"},
		"dietaryNotes":    {"disclose.dietary"},
		"budgetPerPerson": {"disclose.budget"},
		"notes":           {"disclose.notes"},
		"partySize":       nil,
		"venue":           nil,
	} {
		got, _ := dinner.Needs(map[string]any{field: "x"})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", field, diff)
		}
	}
	got, free := dinner.Needs(map[string]any{"date": 1, "time": 1, "timezone": 1, "notes": 1, "venue": 1})
	if diff := cmp.Diff([]string{"disclose.availability", "disclose.notes"}, got); diff != "" {
		t.Errorf("only for the fields that are there, each once:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"disclose.notes"}, free); diff != "" {
		t.Errorf("free text:\n%s", diff)
	}
}

// Two more types prove that none needs Go.
func TestTaskTypesAreData(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff([]string{"dinner.coordination", "item.lend", "meeting.schedule"}, TypeNames()); diff != "" {
		t.Error(diff)
	}
	for _, name := range TypeNames() {
		taskType, _ := TypeOf(name)
		var schema struct {
			Properties map[string]any `json:"properties"`
		}
		if err := json.Unmarshal(taskType.Fields, &schema); err != nil {
			t.Fatal(err)
		}
		named := map[string]string{"amountField": taskType.AmountField}
		for field := range taskType.Disclosures {
			named["disclosures "+field] = field
		}
		for field := range schema.Properties {
			if taskType.Labels[field] == "" {
				t.Errorf("%s: %s has no label", name, field)
			}
		}
		for where, field := range named {
			if field != "" && schema.Properties[field] == nil {
				t.Errorf("%s: %s names %q, which is no field", name, where, field)
			}
		}
	}
}

func TestMappedParameters(t *testing.T) {
	t.Parallel()
	dinner, _ := TypeOf("dinner.coordination")
	proposal := Proposal{Fields: fields(t, nil)}
	want := map[string]any{"venue": "Trattoria", "date": "2027-01-15", "time": "19:30", "partySize": 4.0}
	if diff := cmp.Diff(want, dinner.Mapped(proposal.fields())); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]any{}, dinner.Mapped(map[string]any{"venue": "not an object"})); diff != "" {
		t.Error(diff)
	}
}
