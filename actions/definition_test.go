package actions_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlink/actions"
)

// parameters are the rules of each action's parameters: a change to a valid
// request, and which fields it makes bad; none for one that stays valid.
var parameters = []struct {
	action string
	valid  map[string]any
	rules  []rule
}{
	{"reservation.book", map[string]any{"venue": "Trattoria Nonna", "date": "2026-12-04", "time": "19:30", "partySize": 4}, []rule{
		{"venue", "a", nil}, {"venue", strings.Repeat("ü", 120), nil}, {"venue", "\u202eevil\x07", nil},
		{"venue", "", bad("venue")}, {"venue", strings.Repeat("a", 121), bad("venue")}, {"venue", 5, bad("venue")},
		{"venue", map[string]any{"name": "Trattoria Nonna"}, bad("venue")}, {"venue", absent, bad("venue")}, {"venue", nil, bad("venue")},
		{"partySize", 1, nil}, {"partySize", 20, nil}, {"partySize", 4.0, nil},
		{"partySize", 0, bad("partySize")}, {"partySize", 21, bad("partySize")}, {"partySize", -4, bad("partySize")},
		{"partySize", 4.5, bad("partySize")}, {"partySize", "4", bad("partySize")}, {"partySize", true, bad("partySize")}, {"partySize", absent, bad("partySize")},
		{"notes", "Window seat", nil}, {"notes", "", nil}, {"notes", strings.Repeat("n", 500), nil}, {"notes", strings.Repeat("n", 501), bad("notes")}, {"notes", 1, bad("notes")},
	}},
	{"calendar.hold", map[string]any{"title": "Dinner", "date": "2026-12-04", "time": "19:30", "durationMinutes": 90}, []rule{
		{"title", "a", nil}, {"title", strings.Repeat("ü", 200), nil},
		{"title", "", bad("title")}, {"title", strings.Repeat("a", 201), bad("title")}, {"title", absent, bad("title")}, {"title", []any{}, bad("title")},
		{"durationMinutes", 5, nil}, {"durationMinutes", 600, nil},
		{"durationMinutes", 4, bad("durationMinutes")}, {"durationMinutes", 601, bad("durationMinutes")}, {"durationMinutes", 7.5, bad("durationMinutes")},
		{"durationMinutes", "90", bad("durationMinutes")}, {"durationMinutes", absent, bad("durationMinutes")},
		{"notes", "none here", bad("notes")},
	}},
}

// everywhere are the rules that both actions share.
var everywhere = []rule{
	{"date", "2028-02-29", nil}, {"date", "2026-02-30", bad("date")}, {"date", "2027-02-29", bad("date")}, {"date", "2026-2-3", bad("date")},
	{"date", "04.12.2026", bad("date")}, {"date", "2026-12-04T00:00:00Z", bad("date")}, {"date", "", bad("date")}, {"date", 20261204, bad("date")}, {"date", absent, bad("date")},
	{"time", "00:00", nil}, {"time", "23:59", nil}, {"time", "24:00", bad("time")}, {"time", "19:60", bad("time")}, {"time", "7:30", bad("time")},
	{"time", "19:30:00", bad("time")}, {"time", "7:30 PM", bad("time")}, {"time", "19:30Z", bad("time")}, {"time", absent, bad("time")},
	{"taskUid", "0193a0b0-0000-7000-8000-000000000000", nil}, {"taskUid", "", bad("taskUid")}, {"taskUid", 1, bad("taskUid")},
	{"Date", "2026-12-04", bad("Date")}, {"approved", true, bad("approved")}, {"tip", 5, bad("tip")},
}

type rule struct {
	parameter string
	value     any
	bad       []string
}

func bad(parameter string) []string { return []string{"parameters." + parameter} }

var absent = struct{}{}

// TestParameters is every rule of every action's parameters.
func TestParameters(t *testing.T) {
	t.Parallel()
	for _, action := range parameters {
		definition, ok := actions.DefinitionOf(action.action)
		if !ok {
			t.Fatalf("there is no %s", action.action)
		}
		for _, rule := range append(append([]rule{}, action.rules...), everywhere...) {
			t.Run(fmt.Sprintf("%s/%s/%.20v", action.action, rule.parameter, rule.value), func(t *testing.T) {
				t.Parallel()
				_, _, err := definition.Check(changed(t, action.valid, rule))
				if diff := cmp.Diff(rule.bad, fields(err)); diff != "" || (err != nil) != (rule.bad != nil) {
					t.Errorf("%v (-want +got):\n%s", err, diff)
				}
				if text, isText := rule.value.(string); err != nil && isText && len(text) > 3 && strings.Contains(fmt.Sprint(err, fields(err)), text) {
					t.Errorf("the error shows the value: %v", err)
				}
			})
		}
	}
}

func changed(t *testing.T, valid map[string]any, r rule) json.RawMessage {
	t.Helper()
	all := map[string]any{}
	for name, value := range valid {
		all[name] = value
	}
	all[r.parameter] = r.value
	if r.value == absent {
		delete(all, r.parameter)
	}
	raw, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestParametersAtOnce: each refused field is named.
func TestParametersAtOnce(t *testing.T) {
	t.Parallel()
	definition, _ := actions.DefinitionOf("reservation.book")
	_, _, err := definition.Check(json.RawMessage(`{"date":"2026-02-30","time":"25:00","partySize":0,"tip":1}`))
	want := []string{"parameters.date", "parameters.partySize", "parameters.time", "parameters.tip", "parameters.venue"}
	if diff := cmp.Diff(want, fields(err)); diff != "" {
		t.Error(diff)
	}
}

// TestNoParameters: what is no JSON object of safe numbers is refused.
func TestNoParameters(t *testing.T) {
	t.Parallel()
	definition, _ := actions.DefinitionOf("reservation.book")
	for _, raw := range []string{
		``, `null`, `[]`, `"x"`, `4`, `{`, `{} {}`, `{"venue":"a","venue":"b"}`,
		`{"venue":"a","date":"2026-12-04","time":"19:30","partySize":9007199254740993}`,
		`{"venue":"a","date":"2026-12-04","time":"19:30","partySize":1e400}`,
		strings.Repeat(`{"a":`, 17) + `1` + strings.Repeat(`}`, 17),
	} {
		if _, _, err := definition.Check(json.RawMessage(raw)); problem(err) != "bad_request" {
			t.Errorf("%.40q gives %v", raw, err)
		}
	}
}

// TestDescribe: what would happen, in plain words.
func TestDescribe(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ action, parameters, want string }{
		{"reservation.book", booking, "Book Trattoria Nonna for 4 on Friday 4 December 2026 at 19:30"},
		{"reservation.book", `{"venue":"2026-12-04","date":"2026-12-04","time":"19:30","partySize":1}`, "Book 2026-12-04 for 1 on Friday 4 December 2026 at 19:30"},
		{"calendar.hold", `{"title":"{date} Dinner","date":"2026-12-04","time":"19:30","durationMinutes":90}`, "Hold “{date} Dinner” on Friday 4 December 2026 at 19:30 for 90 minutes"},
	} {
		definition, _ := actions.DefinitionOf(test.action)
		values, _, err := definition.Check(json.RawMessage(test.parameters))
		if got := definition.Describe(values); err != nil || got != test.want {
			t.Errorf("got %q, want %q (%v)", got, test.want, err)
		}
	}
}

// TestEveryActionHasAnExecutor, and every executor an action.
func TestEveryActionHasAnExecutor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var names []string
	for _, executor := range w.Executors {
		names = append(names, executor.Name())
	}
	if diff := cmp.Diff([]string{"calendar.hold", "reservation.book"}, actions.Names()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"reservation.book", "calendar.hold"}, names); diff != "" {
		t.Error(diff)
	}
}
