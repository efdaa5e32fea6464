package approvals

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the goldens")

// TestTransitions walks every kind × status × event against a golden.
func TestTransitions(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	for _, kind := range Kinds {
		for _, from := range Statuses {
			for _, event := range Events {
				to := "-"
				if status, ok := Next(kind, from, event); ok {
					to = string(status)
				}
				fmt.Fprintf(&got, "%-10s %-9s %-7s %s\n", kind, from, event, to)
			}
		}
	}
	const golden = "testdata/transitions.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("transitions differ from %s (-want +got):\n%s", golden, diff)
	}
}

// TestNothingEntersCancelled: the status is defined and no arrow leads to it, or
// out of an ended one.
func TestNothingEntersCancelled(t *testing.T) {
	t.Parallel()
	for _, arrow := range transitions {
		if arrow.To == Cancelled {
			t.Errorf("%v leads to cancelled", arrow)
		}
		if !arrow.From.Open() {
			t.Errorf("%v leaves an ended status", arrow)
		}
	}
}
