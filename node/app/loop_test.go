package app

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"agentlink/node"
)

func runLoop(t *testing.T, l loop) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() { cancel(); synctest.Wait() })
	go l.run(ctx, node.SystemClock{}, slog.New(slog.DiscardHandler))
	synctest.Wait()
}

func TestLoopStepsUntilNoMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		steps := 0
		runLoop(t, loop{every: time.Hour, step: func(context.Context) (bool, error) {
			steps++
			return steps < 5, nil
		}})
		if steps != 5 {
			t.Errorf("%d steps, want 5", steps)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if steps != 6 {
			t.Errorf("%d steps after the longest pause, want 6", steps)
		}
	})
}

func TestLoopWakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		steps, wake := 0, make(chan struct{}, 1)
		runLoop(t, loop{every: time.Hour, wake: wake, step: func(context.Context) (bool, error) {
			steps++
			return false, nil
		}})
		wake <- struct{}{}
		synctest.Wait()
		if steps != 2 {
			t.Errorf("%d steps, want 2", steps)
		}
	})
}

func TestLoopKeepsItsNextTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		steps := 0
		due := node.SystemClock{}.Now().Add(3 * time.Second)
		runLoop(t, loop{
			every: time.Hour,
			due:   func(context.Context) (time.Time, bool, error) { return due, steps < 2, nil },
			step:  func(context.Context) (bool, error) { steps++; return false, nil },
		})
		time.Sleep(3*time.Second - time.Millisecond)
		synctest.Wait()
		if steps != 1 {
			t.Errorf("%d steps before it was due, want 1", steps)
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if steps != 2 {
			t.Errorf("%d steps once it was due, want 2", steps)
		}
	})
}

// A step that fails at once must not spin, however often it is woken.
func TestLoopBacksOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		steps, wake := 0, make(chan struct{}, 1)
		runLoop(t, loop{every: time.Millisecond, wake: wake, step: func(context.Context) (bool, error) {
			steps++
			select {
			case wake <- struct{}{}:
			default:
			}
			return true, errors.New("broken")
		}})
		time.Sleep(time.Minute) // tries at 0, 1, 3, 7, 15, 31 s, then each 30 s
		synctest.Wait()
		if steps != 6 {
			t.Errorf("%d tries in a minute, want 6", steps)
		}
	})
}
