package app

import (
	"log/slog"
	"net"
	"time"

	"agentlink/actions"
	"agentlink/node"
	"agentlink/node/store"
)

// Options are what a caller may put in the place of the machine's own. The zero
// value is a real node.
type Options struct {
	Clock   node.Clock
	IDs     node.IDs
	Log     *slog.Logger // discards where nil
	Version string
	// Passphrase asks for the passphrase of the master key where no file holds it.
	Passphrase func() ([]byte, error)
	// SetUp is given the one-time link of a node that has no owner yet, once it can
	// be used. The link is a secret.
	SetUp func(link string)
	// Listener and PublicListener are used in place of the settings' addresses.
	Listener, PublicListener net.Listener
	// Executors carry actions out; the two simulated ones where nil.
	Executors []actions.Executor
	// WrapDatabase stands between the store and its driver, for tests; nil for nothing.
	WrapDatabase store.Wrap
	// Still leaves the background work to Node.Step, for tests that hold the clock.
	Still bool
	// PeerTimeout is how long a peer may take for an answer; delivery's own where zero.
	PeerTimeout time.Duration
	// Poll is how often a loop looks without having been woken; 5 s where zero.
	Poll time.Duration
}

func (o Options) complete() Options {
	if o.Clock == nil {
		o.Clock = node.SystemClock{}
	}
	if o.IDs == nil {
		o.IDs = node.RandomIDs{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.SetUp == nil {
		o.SetUp = func(string) {}
	}
	if o.Poll == 0 {
		o.Poll = 5 * time.Second
	}
	return o
}

// StartError is what keeps a node from starting: a setting that is not safe, or
// something that it names and that is not there. It is one sentence for the
// person who starts the node.
type StartError struct{ err error }

// Error implements error.
func (e *StartError) Error() string { return e.err.Error() }

// Unwrap gives the cause.
func (e *StartError) Unwrap() error { return e.err }

func cannotStart(err error) error {
	if err == nil {
		return nil
	}
	return &StartError{err: err}
}
