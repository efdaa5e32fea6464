package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"

	"agentlink/node"
)

// fault is what became of a driver's error: the error to hand out, and whether
// the whole transaction is worth another try.
type fault struct {
	err   error
	again bool
}

func (f *fault) Error() string { return f.err.Error() }
func (f *fault) Unwrap() error { return f.err }

// isContext says whether err is about a context that ended. Such errors pass as
// they are, so that callers can tell their own giving up from a failure.
func isContext(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// isGone says whether database/sql reports a connection that no longer is.
func isGone(err error) bool {
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || errors.Is(err, sql.ErrTxDone)
}

func unavailable(err error) *node.Error {
	return &node.Error{Code: node.Unavailable, Message: "The node's database cannot be used right now. Try again in a moment.", Err: err}
}

func broken(err error) *node.Error {
	return &node.Error{Code: node.Internal, Message: "Something went wrong inside the node.", Err: err}
}

func errClosed() *fault {
	return &fault{err: node.Errorf(node.Unavailable, "The node is shutting down.")}
}

func errNoRow() *node.Error {
	return node.Errorf(node.NotFound, "There is nothing under this id.")
}

// plain takes the fault off an error that is about to leave the store.
func (s *Store) plain(err error) error {
	var f *fault
	if errors.As(err, &f) {
		return f.err
	}
	return err
}
