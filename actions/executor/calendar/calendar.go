// Package calendar holds time in a calendar. It is simulated: nothing outside
// the node is touched, and the result says so.
package calendar

import (
	"context"
	"encoding/json"

	"agentlink/actions"
)

// Executor carries out calendar.hold.
type Executor struct{}

// Name implements actions.Executor.
func (Executor) Name() string { return "calendar.hold" }

// Idempotent implements actions.Executor: the code follows from the key alone.
func (Executor) Idempotent() bool { return true }

// Execute implements actions.Executor. The code of a hold starts with CH-.
func (e Executor) Execute(ctx context.Context, key string, _ json.RawMessage) (actions.Result, error) {
	if err := ctx.Err(); err != nil {
		return actions.Result{}, &actions.Stopped{Reason: actions.PlatformError, Err: err}
	}
	code := actions.ConfirmationCode(e.Name(), "CH-", key)
	return actions.Result{
		Code: code, Simulated: true,
		Data: map[string]any{"holdCode": code, "simulated": true},
	}, nil
}
