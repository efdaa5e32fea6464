package browsertest

import (
	"testing"
	"time"

	"agentlink/node/api/socket"
	"agentlink/node/audit"
	"agentlink/node/nodetest"
)

// The page from which a file is taken stays open, and gives it again.
func TestExportTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, alone)
	b := signedIn(t, w.ada)
	b.visit("/activity")
	for want := 1; want <= 2; want++ {
		b.press("Export the log")
		deadline := time.Now().Add(patience)
		for w.exports() < want {
			if time.Now().After(deadline) {
				t.Fatalf("pressed %d times, and the log was exported %d times", want, w.exports())
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// exports counts how often the log was exported.
func (w *world) exports() int {
	w.t.Helper()
	return len(nodetest.Owner[[]socket.Event](w.ada, socket.AuditTail, socket.Tail{Types: []audit.Type{audit.Exported}}))
}
