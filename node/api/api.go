// Package api holds what no door of the agents may forget: who calls, strict
// requests, idempotency, limits, cursors, versions of objects and waiting for
// their change. It knows no door.
//
// An operation is an Op, which knows neither net/http nor fiber; HTTP and Fiber
// mount it.
package api

import (
	"context"
	"net/url"

	"agentlink/node/token"
)

// Call is a request as a door hands it on. Strings and bytes belong to the
// call: they stay what they are after the door has answered.
type Call struct {
	// Route is method and pattern: "POST /v1/agent/tasks/{uid}/cancel".
	Route string
	// Path is what was called: "/v1/agent/tasks/0193…/cancel".
	Path   string
	Params map[string]string // the values of the pattern's names
	Query  url.Values
	Body   []byte
	Header Header
	// Claims are those of a caller whom the door has verified by itself; nil where
	// the header has the token.
	Claims *token.AccessClaims
	// Remote is the IP of the caller.
	Remote string
	// RequestID names the request in the log.
	RequestID string
}

// Header is what operations read of a request's header.
type Header struct {
	Authorization  string
	ContentType    string
	IdempotencyKey string
	IfNoneMatch    string
	LastEventID    string
}

// Answer is what a door gives back.
type Answer struct {
	Status int
	Header map[string]string
	Body   []byte
}

// Op is one operation.
type Op func(ctx context.Context, call *Call) Answer

// The statuses of answers that are no errors. Those of errors stand in package
// problem.
const (
	OK          = 200
	Created     = 201 // sent, or done
	Accepted    = 202 // held for the owner, or not finished yet
	NotModified = 304
)
