package demo

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"agentlink/node/nodetest"
)

// linkLine is a line of the demo that signs an owner in.
var linkLine = regexp.MustCompile(`^  (Ada|Ben) +(http://localhost:\d+)(/\S+)$`)

// Everything is decided by click: nobody types anything.
func TestDecidedByClick(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	silence, end := io.Pipe()
	defer end.Close()
	screen, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := Run(ctx, Config{Out: out, In: silence, Width: 100})
		out.Close()
		done <- err
	}()
	said := clickThrough(t, screen)
	if err := <-done; err != nil {
		t.Fatalf("%v after:\n%s", err, said)
	}
	for _, want := range []string{"by click; the approval is", "by click; accepted", "the task is confirmed", "Both copies agree"} {
		if !strings.Contains(said, want) {
			t.Errorf("the demo does not say %q:\n%s", want, said)
		}
	}
}

// clickThrough reads the screen, and decides whatever it asks on the pages that
// its links lead to.
func clickThrough(t *testing.T, screen io.Reader) string {
	t.Helper()
	owners := map[string]*nodetest.Visitor{}
	var said strings.Builder
	for lines := bufio.NewScanner(screen); lines.Scan(); {
		line := lines.Text()
		said.WriteString(line + "\n")
		if m := linkLine.FindStringSubmatch(line); m != nil {
			owners[m[1]] = nodetest.NewVisitor(t, m[2])
			owners[m[1]].Open(m[2] + m[3])
		}
		// A question has no end of line: it comes after what it is about.
		switch {
		case strings.Contains(line, "hash "):
			decideFirst(t, owners[asked(line)])
		case strings.Contains(line, "fingerprint ") && strings.Contains(said.String(), "asks to connect with juno"):
			acceptFirst(t, owners["Ben"])
		}
	}
	return said.String()
}

// asked says whose column a line stands in.
func asked(line string) string {
	if left, _, _ := strings.Cut(line, "│"); strings.TrimSpace(left) != "" {
		return "Ada"
	}
	return "Ben"
}

func decideFirst(t *testing.T, owner *nodetest.Visitor) {
	t.Helper()
	owner.Get("/").Want(http.StatusOK).Follow("/approvals/").Want(http.StatusOK).
		Submit("Approve once", url.Values{"note": {"fine"}}).Want(http.StatusOK).Says("Approved.")
}

func acceptFirst(t *testing.T, owner *nodetest.Visitor) {
	t.Helper()
	owner.Get("/").Want(http.StatusOK).Follow("/contacts/").Want(http.StatusOK).Submit("Accept", nil).Want(http.StatusOK)
}
