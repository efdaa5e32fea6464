package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/go-json-experiment/json"

	"agentlink/node"
	"agentlink/node/api/problem"
	"agentlink/node/api/schema"
)

// Door is what every operation of an agent needs, whichever door it comes by.
type Door struct {
	DB      node.DB
	Clock   node.Clock
	Tokens  Tokens
	Agents  Agents
	Answers Idempotency
	Wake    Wake
	Schemas *schema.Set
	Log     *slog.Logger

	waiting slots
}

// Fail answers an error. The causes of internal errors, and of a store that
// does not answer, go to the log and nowhere else; so does who was refused, but for
// conflicts, which honest agents have every day.
func (d *Door) Fail(call *Call, err error) Answer {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		err = &node.Error{Code: node.Unavailable, Message: "The node did not get to it in time; nothing was done.", Err: err}
	}
	code := node.CodeOf(err)
	switch status := problem.Status(code); {
	case status < 500 && code != node.Conflict:
		d.Log.Info("request refused", "request", call.RequestID, "route", call.Route, "from", call.Remote, "code", string(code))
	case status >= 500:
		d.Log.Error("request failed", "request", call.RequestID, "route", call.Route, "code", string(code), "cause", err.Error())
	}
	answer := Answer{Status: problem.Status(code), Body: problem.Of(err, call.RequestID).JSON(), Header: map[string]string{}}
	if after := problem.RetryAfter(err); after != "" {
		answer.Header["Retry-After"] = after
	}
	if code == node.Unauthorized {
		answer.Header["WWW-Authenticate"] = "Bearer"
	}
	return answer
}

// refuse is Fail for what an operation gives back. Of what is not there it says
// the same as of what is another agent's, whatever the services say.
func (d *Door) refuse(call *Call, err error) Answer {
	if err != nil && node.CodeOf(err) == node.NotFound {
		err = node.Errorf(node.NotFound, "There is no such thing, or it is not this agent's.")
	}
	return d.Fail(call, err)
}

// Guard keeps a panic of one operation from ending more than its answer.
func (d *Door) Guard(op Op) Op {
	return func(ctx context.Context, call *Call) (answer Answer) {
		defer func() {
			if caught := recover(); caught != nil {
				answer = d.Fail(call, fmt.Errorf("panic: %v\n%s", caught, debug.Stack()))
			}
		}()
		return op(ctx, call)
	}
}

// write makes an answer of a value.
func write(status int, value any) (Answer, error) {
	body, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return Answer{}, node.Wrap(err, "write an answer")
	}
	return Answer{Status: status, Body: body, Header: map[string]string{}}, nil
}
