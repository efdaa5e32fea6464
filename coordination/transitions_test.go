package coordination

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the goldens anew")

// golden compares text with a checked-in file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// Every status × event: what is not in the table does not happen.
func TestTaskTransitions(t *testing.T) {
	t.Parallel()
	var matrix strings.Builder
	for _, from := range TaskStatuses {
		for _, e := range events {
			to, ok := next(from, e)
			if !ok {
				to = "-"
			}
			fmt.Fprintf(&matrix, "%-18s %-10s %s\n", from, e, to)
		}
	}
	golden(t, "transitions.txt", matrix.String())
}

// The diagram in the docs is drawn from the table.
func TestTaskDiagram(t *testing.T) {
	t.Parallel()
	var diagram strings.Builder
	diagram.WriteString("stateDiagram-v2\n    [*] --> open: task started without a proposal\n    [*] --> negotiating: task started with a proposal\n")
	for _, arrow := range transitions {
		fmt.Fprintf(&diagram, "    %s --> %s: %s\n", arrow.From, arrow.To, arrow.Event)
	}
	for _, status := range TaskStatuses {
		if status.Ended() {
			fmt.Fprintf(&diagram, "    %s --> [*]\n", status)
		}
	}
	golden(t, "transitions.mmd", diagram.String())
}

// Ended statuses change in one way only: an expired task turns out to have been
// confirmed in time (D5).
func TestEndedTasksStay(t *testing.T) {
	t.Parallel()
	for _, arrow := range transitions {
		if arrow.From.Ended() && (arrow.From != ExpiredTask || arrow.Event != evCorrected) {
			t.Errorf("%s changes to %s", arrow.From, arrow.To)
		}
	}
}
