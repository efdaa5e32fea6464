package node

import (
	"errors"
	"fmt"
)

// Code is the machine-readable kind of an error. The list is closed; package
// node/api/problem maps each to an HTTP status.
type Code string

// The codes that a caller can meet.
const (
	BadRequest   Code = "bad_request"
	Unauthorized Code = "unauthorized"
	PolicyDenied Code = "policy_denied"
	NotFound     Code = "not_found"
	Conflict     Code = "conflict"
	TooLarge     Code = "too_large"
	RateLimited  Code = "rate_limited"
	Internal     Code = "internal"
	Unavailable  Code = "unavailable"
)

// Codes lists every code, for tables that must be complete.
var Codes = []Code{
	BadRequest, Unauthorized, PolicyDenied, NotFound, Conflict,
	TooLarge, RateLimited, Internal, Unavailable,
}

// Error is the one error type that crosses package boundaries.
//
// Message and Details are safe for strangers. Err is the cause; it is logged
// and never shown. Reason narrows a Conflict (see the Reason… constants) and
// is shown as details.reason.
type Error struct {
	Code    Code
	Reason  Reason
	Message string
	Details map[string]any
	Err     error
}

// Error implements error. The text is for logs, it may contain the cause.
func (e *Error) Error() string {
	text := string(e.Code)
	if e.Reason != "" {
		text += " (" + string(e.Reason) + ")"
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap gives the cause to errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an error with a message that a stranger may read.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// ConflictFor makes a Conflict with its reason.
func ConflictFor(reason Reason, format string, args ...any) *Error {
	return &Error{Code: Conflict, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Field is one field of a request that was refused.
type Field struct {
	Field   string `json:"field"`
	Problem string `json:"problem"`
}

// BadFields makes a bad_request that names each refused field in
// details.fields.
func BadFields(fields ...Field) *Error {
	message := "The request is not valid."
	if len(fields) > 0 {
		message = fmt.Sprintf("The field %q %s.", fields[0].Field, fields[0].Problem)
	}
	return &Error{Code: BadRequest, Message: message, Details: map[string]any{"fields": fields}}
}

// Wrap keeps an error that already has a code and makes anything else
// internal, with what the node was doing for the log.
func Wrap(err error, doing string) error {
	if err == nil {
		return nil
	}
	if _, ok := AsError(err); ok {
		return err
	}
	return &Error{Code: Internal, Message: "Something went wrong inside the node.", Err: fmt.Errorf("%s: %w", doing, err)}
}

// AsError finds the *Error in err's chain.
func AsError(err error) (*Error, bool) {
	var e *Error
	ok := errors.As(err, &e)
	return e, ok
}

// CodeOf is the code of err; an error without one is Internal.
func CodeOf(err error) Code {
	if e, ok := AsError(err); ok {
		return e.Code
	}
	return Internal
}

// ReasonOf is the reason of err, or "".
func ReasonOf(err error) Reason {
	if e, ok := AsError(err); ok {
		return e.Reason
	}
	return ""
}
