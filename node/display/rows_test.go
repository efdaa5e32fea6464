package display

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRows(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]Row{
		`{"b":{"c":[1,"x"]},"a":9007199254740991}`: {{"a", "9007199254740991"}, {"b.c.1", "1"}, {"b.c.2", "x"}},
		`{}`:   nil,
		`[]`:   nil,
		`true`: {{"", "true"}},
		`null`: {{"", "null"}},
		`{no`:  {{"", "{no"}},
	} {
		if diff := cmp.Diff(want, Rows([]byte(text))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}
