package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var required = regexp.MustCompile(`(?m)^\t(\S+) v\S+$`)

// TestComponentsAreListed: components.md has each module that go.mod asks for by
// itself, and each file that is vendored, and no others.
func TestComponentsAreListed(t *testing.T) {
	t.Parallel()
	gomod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, match := range required.FindAllStringSubmatch(string(gomod), -1) {
		want = append(want, match[1])
	}
	if diff := cmp.Diff(want, firstCells(t, "| module |")); diff != "" || len(want) < 20 {
		t.Errorf("components.md (-go.mod +listed):\n%s", diff)
	}
	if diff := cmp.Diff(vendored(t), firstCells(t, "| vendored file |")); diff != "" {
		t.Errorf("components.md (-vendored +listed):\n%s", diff)
	}
}

// vendored are the files of others' in the repository: what is minified, typefaces,
// lists.
func vendored(t *testing.T) (names []string) {
	t.Helper()
	for _, pattern := range []string{"dashboard/view/static/*.min.js", "dashboard/view/static/*.woff2", "node/*/*.gz"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("nothing is at %s: %v", pattern, err)
		}
		for _, path := range found {
			names = append(names, filepath.Base(path))
		}
	}
	return names
}

func firstCells(t *testing.T, head string) (cells []string) {
	t.Helper()
	for _, row := range tableRows(t, "components.md", head) {
		cells = append(cells, strings.Trim(row[0], "`"))
	}
	if !slices.IsSortedFunc(cells, strings.Compare) && strings.Contains(head, "module") {
		t.Error("the modules are in the order of go.mod, which sorts them")
	}
	return cells
}
