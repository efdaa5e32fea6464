package durability

import (
	"os"
	"strings"
	"testing"
)

// TestPageNamesPoints: docs/durability.md lists every point, in its order.
func TestPageNamesPoints(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/durability.md")
	must(t, err)
	var rows []string
	for i, p := range points {
		_, name, _ := strings.Cut(p.name, ": ")
		if i == 0 || points[i-1].flow != p.flow {
			rows = append(rows, "| "+p.flow+" | "+name)
			continue
		}
		rows[len(rows)-1] += "; " + name
	}
	if want := "| --- | --- |\n" + strings.Join(rows, " |\n") + " |\n"; !strings.Contains(string(page), want) {
		t.Errorf("the page does not have this table:\n%s", want)
	}
}
