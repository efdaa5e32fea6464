// Package reservation books a table. It is simulated: nothing outside the node
// is touched, and the result says so.
package reservation

import (
	"context"
	"encoding/json"

	"agentlink/actions"
)

// Executor carries out reservation.book.
type Executor struct{}

// Name implements actions.Executor.
func (Executor) Name() string { return "reservation.book" }

// Idempotent implements actions.Executor: the code follows from the key alone.
func (Executor) Idempotent() bool { return true }

// Execute implements actions.Executor. The code starts with AL-.
func (e Executor) Execute(ctx context.Context, key string, _ json.RawMessage) (actions.Result, error) {
	if err := ctx.Err(); err != nil {
		return actions.Result{}, &actions.Stopped{Reason: actions.PlatformError, Err: err}
	}
	code := actions.ConfirmationCode(e.Name(), "AL-", key)
	return actions.Result{
		Code: code, Simulated: true,
		Data: map[string]any{"confirmationCode": code, "simulated": true},
	}, nil
}
