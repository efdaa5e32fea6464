package docs

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// tableRows reads every table of a document whose first line begins with head, as
// the trimmed cells of each row.
func tableRows(t *testing.T, name, head string) (rows [][]string) {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	inside := false
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, head):
			inside = true
		case !strings.HasPrefix(line, "|"):
			inside = false
		case inside && !strings.HasPrefix(line, "| ---"):
			rows = append(rows, cellsOf(line))
		}
	}
	if len(rows) == 0 {
		t.Fatalf("%s has no table that begins with %s", name, head)
	}
	return rows
}

func cellsOf(line string) (cells []string) {
	for _, cell := range strings.Split(strings.Trim(line, "|"), "|") {
		cells = append(cells, strings.TrimSpace(cell))
	}
	return cells
}

var heading = regexp.MustCompile(`(?m)^#+ (.+)$`)

// anchors gives what a document's headings can be linked by: in lower case, without
// signs, with dashes for spaces.
func anchors(content string) map[string]bool {
	all := map[string]bool{}
	for _, match := range heading.FindAllStringSubmatch(content, -1) {
		text := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z':
				return r
			}
			return -1
		}, strings.ToLower(match[1]))
		all[text] = true
	}
	return all
}
