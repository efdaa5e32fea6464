package bench

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// The marks between which a document has the table.
const (
	fillFrom = "<!-- figures -->\n"
	fillTo   = "<!-- end of figures -->"
)

// printAgain shows a table that was measured before, and with -fill puts it into
// a document.
func printAgain(t *testing.T) {
	content, err := os.ReadFile(*printed)
	if err != nil {
		t.Fatal(err)
	}
	var measured table
	if err := json.Unmarshal(content, &measured); err != nil {
		t.Fatal(err)
	}
	if *fill == "" {
		measured.markdown(os.Stdout)
		return
	}
	document, err := os.ReadFile(*fill)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(document), fillFrom)
	_, after, closed := strings.Cut(rest, fillTo)
	if !found || !closed {
		t.Fatalf("%s has no place for figures: %q to %q", *fill, fillFrom, fillTo)
	}
	var text strings.Builder
	measured.markdown(&text)
	if err := os.WriteFile(*fill, []byte(before+fillFrom+"\n"+text.String()+"\n"+fillTo+after), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestTable: what is written is read again, and a document gets it between its
// marks, as often as one likes.
func TestTable(t *testing.T) {
	fresh := newTable()
	fresh.group, fresh.Reduced = "things", false
	fresh.add(row{Name: "a thing", Size: "1 KiB", Unit: "ns", Value: 1.5e6, P95: 2e6, P99: 3e6}.over(1e6, "bare").atMost(1.7))
	fresh.add(row{Name: "things", Unit: "per second", Value: 100}.over(200, "bare").atLeast(0.6))
	fresh.add(row{Name: "room", Unit: "bytes", Value: 48 << 10}.below(40 << 10))
	var text strings.Builder
	fresh.markdown(&text)
	for _, want := range []string{
		"### Things\n",
		"| a thing | 1 KiB | 1.5 ms | 2 ms | 3 ms | 1 ms bare | 1.50 | ≤ 1.7 × met |\n",
		"| things |  | 100/s |  |  | 200/s bare | 0.50 | ≥ 0.6 × MISSED |\n",
		"| room |  | 48 KiB |  |  |  |  | ≤ 40 KiB MISSED |\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
}
