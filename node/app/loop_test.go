package app

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
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
		var steps atomic.Int64
		runLoop(t, loop{every: time.Hour, step: func(context.Context) (bool, error) {
			return steps.Add(1) < 5, nil
		}})
		if steps.Load() != 5 {
			t.Errorf("%d steps, want 5", steps.Load())
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if steps.Load() != 6 {
			t.Errorf("%d steps after the longest pause, want 6", steps.Load())
		}
	})
}

func TestLoopWakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var steps atomic.Int64
		wake := make(chan struct{}, 1)
		runLoop(t, loop{every: time.Hour, wake: wake, step: func(context.Context) (bool, error) {
			steps.Add(1)
			return false, nil
		}})
		wake <- struct{}{}
		synctest.Wait()
		if steps.Load() != 2 {
			t.Errorf("%d steps, want 2", steps.Load())
		}
	})
}

func TestLoopKeepsItsNextTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var steps atomic.Int64
		due := node.SystemClock{}.Now().Add(3 * time.Second)
		runLoop(t, loop{
			every: time.Hour,
			due:   func(context.Context) (time.Time, bool, error) { return due, steps.Load() < 2, nil },
			step:  func(context.Context) (bool, error) { steps.Add(1); return false, nil },
		})
		time.Sleep(3*time.Second - time.Millisecond)
		synctest.Wait()
		if steps.Load() != 1 {
			t.Errorf("%d steps before it was due, want 1", steps.Load())
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if steps.Load() != 2 {
			t.Errorf("%d steps once it was due, want 2", steps.Load())
		}
	})
}

// A step that fails at once must not spin, however often it is woken.
func TestLoopBacksOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var steps atomic.Int64
		wake := make(chan struct{}, 1)
		runLoop(t, loop{every: time.Millisecond, wake: wake, step: func(context.Context) (bool, error) {
			steps.Add(1)
			select {
			case wake <- struct{}{}:
			default:
			}
			return true, errors.New("broken")
		}})
		time.Sleep(time.Minute) // tries at 0, 1, 3, 7, 15, 31 s, then each 30 s
		synctest.Wait()
		if steps.Load() != 6 {
			t.Errorf("%d tries in a minute, want 6", steps.Load())
		}
	})
}
