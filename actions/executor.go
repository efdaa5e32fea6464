package actions

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
)

// Executor carries one action out. It is called outside any transaction.
type Executor interface {
	// Name is the action's: reservation.book.
	Name() string
	// Idempotent says that Execute with the same key has its effect once, so that
	// a run which a crash cut off may be finished with the same key.
	Idempotent() bool
	// Execute carries it out. An error that is not a Stopped means that nobody knows
	// whether something was written.
	Execute(ctx context.Context, key string, parameters json.RawMessage) (Result, error)
}

// Result is what an executor gives back.
type Result struct {
	Code      string // confirmation code, "" where there is none
	Simulated bool   // nothing outside was touched
	// Checked: the executor read back what it had written. Without it, and not
	// simulated, nobody knows that it is done.
	Checked bool
	Data    map[string]any
}

// Stopped is an executor's word for how it ended where it is not done. A reason
// that says nothing was written is a proof, not a guess.
type Stopped struct {
	Reason Reason
	Err    error // for the log
}

// Error implements error.
func (s *Stopped) Error() string { return fmt.Sprintf("stopped: %s: %v", s.Reason, s.Err) }

// Unwrap gives the cause.
func (s *Stopped) Unwrap() error { return s.Err }

// readable is Crockford's alphabet: nothing in it is taken for something else.
var readable = base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").WithPadding(base32.NoPadding)

// ConfirmationCode derives a code from a run's key, prefix and 8 characters, so
// that the same key always gives the same code.
func ConfirmationCode(action, prefix, key string) string {
	sum := sha256.Sum256([]byte("agentlink/confirmation/v1\n" + action + "\n" + key))
	return prefix + readable.EncodeToString(sum[:5])
}
