package mcp

import (
	"context"
	"sync"
)

// leaves ends what the calls of a session wait for when the client ends the
// session: the SDK lets them run on, and lets the client wait for them. The zero
// value is ready.
type leaves struct {
	mu    sync.Mutex
	calls map[sessionOf]map[*context.CancelFunc]bool
}

// sessionOf names a session by its agent too, so that nobody ends another's.
type sessionOf struct{ agentID, id string }

// enter gives a call a context that ends with its session, too. done must be called.
func (l *leaves) enter(ctx context.Context, session sessionOf) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls == nil {
		l.calls = map[sessionOf]map[*context.CancelFunc]bool{}
	}
	if l.calls[session] == nil {
		l.calls[session] = map[*context.CancelFunc]bool{}
	}
	l.calls[session][&cancel] = true
	return ctx, func() {
		cancel()
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.calls[session], &cancel)
		if len(l.calls[session]) == 0 {
			delete(l.calls, session)
		}
	}
}

// end ends what the calls of a session wait for.
func (l *leaves) end(session sessionOf) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for cancel := range l.calls[session] {
		(*cancel)()
	}
}
