package agent

import (
	"context"
	"net/http"
	"reflect"
	"slices"

	"agentlink/node"
	"agentlink/node/api"
)

// Operation is one row of what an agent may do.
type Operation struct {
	// Method and Path are its route; Path begins with Prefix.
	Method, Path string
	Summary      string
	Op           api.Op
	// Stream serves the same path to whoever accepts an event stream.
	Stream http.Handler
	// Request and Answer are the structs.
	Request, Answer reflect.Type
	// Statuses of answers that are no errors, and Codes of those that are, beside
	// what every operation can answer.
	Statuses []int
	Codes    []node.Code
	// Waits: the request may be held until something changes.
	Waits bool
	// Keyed: an Idempotency-Key is honoured.
	Keyed bool
}

// Route is method and pattern: "POST /v1/agent/tasks/{uid}/cancel".
func (o Operation) Route() string { return o.Method + " " + o.Path }

// Versioned says whether the answer carries an ETag, by which a wait goes on from it.
func (o Operation) Versioned() bool { return slices.Contains(o.Statuses, api.NotModified) }

// Prefix begins the path of every operation.
const Prefix = "/v1/agent"

func list[Req, Resp any](h *API, path, summary string, call func(node.Tx, api.Caller, Req) (Resp, error), codes ...node.Code) Operation {
	return Operation{
		Method: http.MethodGet, Path: Prefix + path, Summary: summary, Op: api.Read(h.Door, call),
		Request: reflect.TypeFor[Req](), Answer: reflect.TypeFor[Resp](), Statuses: []int{api.OK}, Codes: codes,
	}
}

func one[Req, Resp any](h *API, path, summary string, call func(node.Tx, api.Caller, Req) (Resp, error), codes ...node.Code) Operation {
	o := list(h, path, summary, call, codes...)
	o.Op, o.Waits, o.Statuses = api.ReadOne(h.Door, call), true, []int{api.OK, api.NotModified}
	o.Codes = append(o.Codes, node.RateLimited)
	return o
}

func post[Req, Resp any](path, summary string, statuses []int, op api.Op, codes []node.Code) Operation {
	return Operation{
		Method: http.MethodPost, Path: Prefix + path, Summary: summary, Op: op, Keyed: true,
		Request: reflect.TypeFor[Req](), Answer: reflect.TypeFor[Resp](), Statuses: statuses, Codes: append(codes, node.Conflict),
	}
}

func write[Req, Resp any](h *API, path, summary string, statuses []int, call func(node.Tx, api.Caller, Req) (api.Reply[Resp], error), codes ...node.Code) Operation {
	return post[Req, Resp](path, summary, statuses, api.Write(h.Door, call), codes)
}

func writePrepared[Req, Prep, Resp any](h *API, path, summary string, statuses []int, prepare func(context.Context, api.Caller, Req) (Prep, error),
	call func(node.Tx, api.Caller, Req, Prep) (api.Reply[Resp], error), codes ...node.Code) Operation {
	return post[Req, Resp](path, summary, statuses, api.WritePrepared(h.Door, prepare, call), codes)
}

func start[Req, Resp any](h *API, path, summary string, statuses []int, call func(context.Context, api.Caller, string, Req) (api.Reply[Resp], error), codes ...node.Code) Operation {
	return post[Req, Resp](path, summary, statuses, api.Run(h.Door, call), codes)
}

// operations is all that an agent may do.
func (h *API) operations() []Operation {
	sentOrHeld := []int{api.Created, api.Accepted}
	events := list(h, "/events", "What happened since a cursor, oldest first; as a stream where text/event-stream is accepted.", h.events, node.RateLimited)
	events.Op, events.Waits, events.Stream = api.ReadNews(h.Door, h.events, anyEvent), true, api.Stream(h.Door, h.eventSource())

	return []Operation{
		one(h, "/me", "The agent as the node knows it.", h.me),
		list(h, "/capabilities", "What would be answered, for each capability, and the grant that decides.", h.capabilities, node.NotFound),
		list(h, "/connections", "Contacts.", h.connections),
		writePrepared(h, "/connections", "Ask to connect with an agent of another node.", sentOrHeld, h.prepareConnect, h.connect, node.PolicyDenied, node.RateLimited),
		one(h, "/connections/{id}", "One contact.", h.connection, node.NotFound),
		list(h, "/messages", "Chat messages.", h.messages, node.NotFound),
		write(h, "/messages", "Send a chat message.", sentOrHeld, h.sendMessage, node.PolicyDenied, node.NotFound, node.RateLimited),
		list(h, "/tasks", "Tasks.", h.tasks, node.NotFound),
		write(h, "/tasks", "Start a task with a contact.", sentOrHeld, h.startTask, node.PolicyDenied, node.NotFound, node.RateLimited),
		one(h, "/tasks/{uid}", "One task: this node's copy.", h.task, node.NotFound),
		write(h, "/tasks/{uid}/proposals", "Propose the next version of the terms.", sentOrHeld, h.propose, node.PolicyDenied, node.NotFound, node.RateLimited),
		write(h, "/tasks/{uid}/responses", "Accept or reject the latest proposal.", sentOrHeld, h.respond, node.PolicyDenied, node.NotFound, node.RateLimited),
		write(h, "/tasks/{uid}/cancel", "Cancel an unfinished task.", sentOrHeld, h.cancel, node.PolicyDenied, node.NotFound, node.RateLimited),
		write(h, "/approvals", "Ask the owner to approve an action.", []int{api.Created}, h.ask, node.PolicyDenied, node.NotFound, node.RateLimited),
		one(h, "/approvals/{id}", "One approval.", h.approval, node.NotFound),
		start(h, "/actions", "Run an action, with an approval or under an allow grant.", sentOrHeld, h.start, node.PolicyDenied, node.NotFound, node.RateLimited),
		one(h, "/actions/{runId}", "One run of an action.", h.run, node.NotFound),
		events,
	}
}
