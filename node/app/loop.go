package app

import (
	"context"
	"log/slog"
	"time"

	"agentlink/node"
)

// loop repeats a step of background work: until there is no more, and again
// when it is woken, when something falls due, or after a while.
type loop struct {
	name string
	step func(ctx context.Context) (more bool, err error)
	// wake tells that there may be something to do; nil where nothing tells.
	wake <-chan struct{}
	// due is when the next thing is; nil where that is not known.
	due func(ctx context.Context) (at time.Time, known bool, err error)
	// every is the longest pause.
	every time.Duration
}

// bell wakes a loop; ringing it twice before the loop is up wakes it once.
type bell chan struct{}

func newBell() bell { return make(bell, 1) }

func (b bell) ring() {
	select {
	case b <- struct{}{}:
	default:
	}
}

// A step that fails is tried again after a pause that doubles.
const (
	firstBackOff = time.Second
	maxBackOff   = 30 * time.Second
)

// run goes on until ctx ends.
func (l loop) run(ctx context.Context, clock node.Clock, log *slog.Logger) {
	backOff := time.Duration(0)
	for ctx.Err() == nil {
		var pause time.Duration
		switch err := l.drain(ctx); {
		case ctx.Err() != nil:
			return
		case err != nil:
			backOff = min(max(2*backOff, firstBackOff), maxBackOff)
			pause = backOff
			log.Error("background work failed", "loop", l.name, "error", err, "again", pause)
		default:
			backOff = 0
			pause = l.pause(ctx, clock, log)
		}
		l.sleep(ctx, pause, backOff == 0)
	}
}

// drain steps until there is no more.
func (l loop) drain(ctx context.Context) error {
	for ctx.Err() == nil {
		more, err := l.step(ctx)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

func (l loop) pause(ctx context.Context, clock node.Clock, log *slog.Logger) time.Duration {
	if l.due == nil {
		return l.every
	}
	at, known, err := l.due(ctx)
	if err != nil {
		log.Error("background work failed", "loop", l.name, "error", err)
	}
	if err != nil || !known {
		return l.every
	}
	return min(l.every, max(0, at.Sub(clock.Now())))
}

// sleep ends early when there is something to do; after a failure it does not,
// so that a step which fails at once is not repeated without a pause.
func (l loop) sleep(ctx context.Context, pause time.Duration, wakeable bool) {
	wake := l.wake
	if !wakeable {
		wake = nil
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-wake:
	case <-timer.C:
	}
}
