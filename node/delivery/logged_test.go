package delivery

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"agentlink/coordination/wire"
)

// TestFailuresAreLogged: each attempt that fails leaves a line with the host and
// why, and nothing of what was to be sent.
func TestFailuresAreLogged(t *testing.T) {
	t.Parallel()
	b := newBench(t, ClientConfig{})
	var logged bytes.Buffer
	b.worker.Log = slog.New(slog.NewTextHandler(&logged, nil))
	b.peer.fail(answers(500, nil, "<b>their secret</b>")(b))
	id := b.queue(wire.Message, "chat", 1)
	if _, err := b.worker.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`msg="envelope not delivered"`, "host=" + b.peer.host, "message=" + id} {
		if !strings.Contains(logged.String(), part) {
			t.Errorf("the log lacks %s: %s", part, logged.String())
		}
	}
	if envelope := b.db.message(id).dispatch.Envelope; strings.Contains(logged.String(), "their secret") || len(envelope) > 0 && strings.Contains(logged.String(), string(envelope)) {
		t.Errorf("the log says too much: %s", logged.String())
	}
}
