package outbox_test

import (
	"testing"
	"time"

	"agentlink/node/outbox"
)

// TestPause: 1 s, doubling to 15 minutes, with up to a quarter added.
func TestPause(t *testing.T) {
	t.Parallel()
	for attempts, want := range map[int]time.Duration{
		0: time.Second, 1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 4: 8 * time.Second, 9: 256 * time.Second,
		10: 512 * time.Second, 11: 15 * time.Minute, 12: 15 * time.Minute, 1000: 15 * time.Minute, 1 << 40: 15 * time.Minute,
	} {
		if got := outbox.Pause(attempts, 0); got != want {
			t.Errorf("after %d attempts: %v, want %v", attempts, got, want)
		}
		if got := outbox.Pause(attempts, 0.5); got != want+want/8 {
			t.Errorf("after %d attempts, half the jitter: %v, want %v", attempts, got, want+want/8)
		}
		if got := outbox.Pause(attempts, 0.999999); got <= want || got > want*5/4 {
			t.Errorf("after %d attempts, all the jitter: %v, want five quarters of %v or a little less", attempts, got, want)
		}
	}
}
