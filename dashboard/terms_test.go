package dashboard

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlink/dashboard/view"
)

// TestDifferences: each field that is otherwise stands there once, whatever its
// kind, and nothing that is the same does.
func TestDifferences(t *testing.T) {
	t.Parallel()
	labels := map[string]string{"notes": "Notes", "venue": "Venue"}
	for name, test := range map[string]struct {
		before, after string
		want          []view.Change
	}{
		"the same":                {`{"notes":["a"],"n":1,"venue":{"x":null}}`, `{"venue":{"x":null},"n":1,"notes":["a"]}`, nil},
		"added":                   {`{}`, `{"n":40.50}`, []view.Change{{Label: "n", Kind: view.Added, Now: "40.50"}}},
		"removed":                 {`{"notes":"a"}`, `{}`, []view.Change{{Label: "Notes", Kind: view.Removed, Was: "a"}}},
		"changed":                 {`{"n":1}`, `{"n":2}`, []view.Change{{Label: "n", Kind: view.Changed, Was: "1", Now: "2"}}},
		"to null":                 {`{"n":1}`, `{"n":null}`, []view.Change{{Label: "n", Kind: view.Changed, Was: "1", Now: "null"}}},
		"a number becomes text":   {`{"n":1}`, `{"n":"1"}`, []view.Change{{Label: "n", Kind: view.Changed, Was: "1", Now: "1"}}},
		"an entry more":           {`{"notes":["a"]}`, `{"notes":["b","a"]}`, []view.Change{{Label: "Notes", Kind: view.Added, Now: "b"}}},
		"an entry less":           {`{"notes":["a","b","a"]}`, `{"notes":["b","a"]}`, []view.Change{{Label: "Notes", Kind: view.Removed, Was: "a"}}},
		"another order":           {`{"notes":["a","b"]}`, `{"notes":["b","a"]}`, []view.Change{{Label: "Notes", Kind: view.Changed, Was: `["a","b"]`, Now: `["b","a"]`}}},
		"a list becomes empty":    {`{"notes":["a"]}`, `{"notes":[]}`, []view.Change{{Label: "Notes", Kind: view.Removed, Was: "a"}}},
		"an empty list":           {`{}`, `{"notes":[]}`, []view.Change{{Label: "Notes", Kind: view.Added, Now: "[]"}}},
		"within an object":        {`{"venue":{"name":"x","area":"y"}}`, `{"venue":{"name":"z"}}`, []view.Change{{Label: "Venue · area", Kind: view.Removed, Was: "y"}, {Label: "Venue · name", Kind: view.Changed, Was: "x", Now: "z"}}},
		"an object comes":         {`{}`, `{"venue":{"name":"x","seats":[1,2]}}`, []view.Change{{Label: "Venue · name", Kind: view.Added, Now: "x"}, {Label: "Venue · seats.1", Kind: view.Added, Now: "1"}, {Label: "Venue · seats.2", Kind: view.Added, Now: "2"}}},
		"an object becomes text":  {`{"venue":{"name":"x"}}`, `{"venue":"x"}`, []view.Change{{Label: "Venue", Kind: view.Changed, Was: `{"name":"x"}`, Now: "x"}}},
		"an object in a list":     {`{"notes":[{"a":1}]}`, `{"notes":[{"a":2}]}`, []view.Change{{Label: "Notes · a", Kind: view.Removed, Was: "1"}, {Label: "Notes · a", Kind: view.Added, Now: "2"}}},
		"digits beyond a float's": {`{"n":9007199254740993}`, `{"n":9007199254740992}`, []view.Change{{Label: "n", Kind: view.Changed, Was: "9007199254740993", Now: "9007199254740992"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := differences(json.RawMessage(test.before), json.RawMessage(test.after), labels)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLabelled(t *testing.T) {
	t.Parallel()
	got := labelled(json.RawMessage(`{"venue":{"name":"x"},"notes":["a","b"],"n":1.50,"empty":{}}`), map[string]string{"venue": "Venue", "notes": "Notes"})
	want := []view.Parameter{
		{Name: "empty", Value: "{}"}, {Name: "n", Value: "1.50"}, {Name: "Notes · 1", Value: "a"}, {Name: "Notes · 2", Value: "b"}, {Name: "Venue · name", Value: "x"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
