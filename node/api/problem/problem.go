// Package problem holds the one table that maps error codes to HTTP statuses,
// and the body in which every door of the agents answers an error.
package problem

import (
	"strconv"

	"github.com/go-json-experiment/json"

	"agentlink/node"
)

// statuses is the table of docs/agent-api.md. Its test ranges over node.Codes.
var statuses = map[node.Code]int{
	node.BadRequest:   400,
	node.Unauthorized: 401,
	node.PolicyDenied: 403,
	node.NotFound:     404,
	node.Conflict:     409,
	node.TooLarge:     413,
	node.RateLimited:  429,
	node.Internal:     500,
	node.Unavailable:  503,
}

// Status is the HTTP status of a code. A code that is not in the table is one
// of the node's own mistakes.
func Status(code node.Code) int {
	if status, ok := statuses[code]; ok {
		return status
	}
	return statuses[node.Internal]
}

// Problem is an error as a caller sees it.
type Problem struct {
	Code    node.Code      `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details"`
}

// Body is the JSON document of an error answer.
type Body struct {
	Error Problem `json:"error"`
}

// Of turns an error into what may leave the node. Of an internal error nothing
// leaves but the id under which the log knows the request.
func Of(err error, requestID string) Problem {
	e, ok := node.AsError(err)
	if !ok || Status(e.Code) == statuses[node.Internal] {
		return Problem{
			Code: node.Internal, Message: "Something went wrong inside the node. Its log knows more under the request's id.",
			Details: map[string]any{"requestId": requestID},
		}
	}
	details := make(map[string]any, len(e.Details)+1)
	for name, value := range e.Details {
		details[name] = value
	}
	if e.Reason != "" {
		details["reason"] = e.Reason
	}
	return Problem{Code: e.Code, Message: e.Message, Details: details}
}

// JSON writes the body. Details that cannot be written are left out rather
// than losing the code.
func (p Problem) JSON() []byte {
	body, err := json.Marshal(Body{Error: p}, json.Deterministic(true))
	if err == nil {
		return body
	}
	p.Details = map[string]any{}
	body, err = json.Marshal(Body{Error: p}, json.Deterministic(true))
	if err != nil {
		panic("problem: a code and a message cannot be written: " + err.Error())
	}
	return body
}

// RetryAfterDetail is the member of details that tells in how many seconds it is
// worth trying again: an int or int64.
const RetryAfterDetail = "retryAfterSeconds"

// retryDefault is told, in seconds, where nobody knows better.
const retryDefault = 60

// RetryAfter is the value of the header Retry-After for an error, in whole
// seconds; "" where the header has no place.
func RetryAfter(err error) string {
	e, ok := node.AsError(err)
	if !ok || (e.Code != node.RateLimited && e.Code != node.Unavailable) {
		return ""
	}
	switch seconds := e.Details[RetryAfterDetail].(type) {
	case int:
		return strconv.Itoa(max(1, seconds))
	case int64:
		return strconv.FormatInt(max(1, seconds), 10)
	}
	if e.Code == node.RateLimited {
		return strconv.Itoa(retryDefault)
	}
	return ""
}
