package calendar_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlink/actions"
	"agentlink/actions/executor/calendar"
)

// TestHold: a code that starts with CH-, and the word that it is simulated.
func TestHold(t *testing.T) {
	t.Parallel()
	got, err := calendar.Executor{}.Execute(t.Context(), "key", nil)
	if err != nil || !regexp.MustCompile(`^CH-[0-9A-HJKMNP-TV-Z]{8}$`).MatchString(got.Code) {
		t.Fatalf("got %+v, %v", got, err)
	}
	want := actions.Result{Code: got.Code, Simulated: true, Data: map[string]any{"holdCode": got.Code, "simulated": true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestIdempotent: the same key gives the same code, another key another one.
func TestIdempotent(t *testing.T) {
	t.Parallel()
	executor := calendar.Executor{}
	if !executor.Idempotent() || executor.Name() != "calendar.hold" {
		t.Errorf("%s is idempotent: %v", executor.Name(), executor.Idempotent())
	}
	seen := map[string]bool{}
	for i := range 1000 {
		first, err := executor.Execute(t.Context(), fmt.Sprint(i), nil)
		second, again := executor.Execute(t.Context(), fmt.Sprint(i), nil)
		if err != nil || again != nil || first.Code != second.Code || seen[first.Code] {
			t.Fatalf("key %d gives %q and %q (%v, %v)", i, first.Code, second.Code, err, again)
		}
		seen[first.Code] = true
	}
}

// TestNothingAfterTheEnd: one that is not begun in time proves that it wrote nothing.
func TestNothingAfterTheEnd(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := calendar.Executor{}.Execute(ctx, "key", nil)
	var stopped *actions.Stopped
	if !errors.As(err, &stopped) || stopped.Reason != actions.PlatformError || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
