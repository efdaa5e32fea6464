package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestStatesPageShowsTheMachine: the page has the diagram that the table of
// transitions gives.
func TestStatesPageShowsTheMachine(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("states.md")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join(root, "coordination", "testdata", "transitions.mmd"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```mermaid\n")
	got, _, found := strings.Cut(rest, "```\n")
	if diff := cmp.Diff(string(want), got); diff != "" || !found {
		t.Error(diff)
	}
}
