package store_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var quoted = regexp.MustCompile(`'[^']*'|"[^"]*"`)

// TestStatementsHoldNoValues runs the suite and looks at each statement: whatever
// stands in quotes there stands in the source too, and so does what looks like an
// id, an address or a long number. Values are arguments.
func TestStatementsHoldNoValues(t *testing.T) {
	t.Parallel()
	value := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}|@|[0-9]{6,}`)
	written := source(t)
	seen := statementsOfSuite(t)
	for query := range seen {
		for _, text := range quoted.FindAllString(query, -1) {
			if !strings.Contains(written, text) {
				t.Errorf("%s stands in a statement and not in the source: %s", text, query)
			}
		}
		if found := value.FindString(query); found != "" && !strings.Contains(written, found) {
			t.Errorf("%s stands in a statement: %s", found, query)
		}
	}
	if len(seen) < 30 {
		t.Errorf("%d statements only", len(seen))
	}
}

func source(t *testing.T) string {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil || len(names) == 0 {
		t.Fatalf("no source: %v", err)
	}
	var all strings.Builder
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(content)
	}
	return all.String()
}
