package rest

import (
	"context"
	"net/http"
	"reflect"
	"strings"

	"github.com/gofiber/fiber/v2"

	"agentlink/node"
	"agentlink/node/api"
)

// route is one row of the API: what is mounted, and what the OpenAPI document
// says of it.
type route struct {
	method, path, summary string
	op                    api.Op
	// stream serves the same path to whoever accepts an event stream.
	stream http.Handler
	// request and answers are the structs; nil where there is none.
	request reflect.Type
	answer  reflect.Type
	// statuses of answers that are no errors, and codes of those that are, beside
	// what every route of an agent can answer.
	statuses []int
	codes    []node.Code
	// open needs no token.
	open bool
	// waits: the request may be held until something changes.
	waits bool
	// keyed: an Idempotency-Key is honoured.
	keyed bool
}

const prefix = "/v1/agent"

func list[Req, Resp any](h *handlers, path, summary string, call func(node.Tx, api.Caller, Req) (Resp, error), codes ...node.Code) route {
	return route{
		method: http.MethodGet, path: prefix + path, summary: summary, op: api.Read(h.door, call),
		request: reflect.TypeFor[Req](), answer: reflect.TypeFor[Resp](), statuses: []int{api.OK}, codes: codes,
	}
}

func one[Req, Resp any](h *handlers, path, summary string, call func(node.Tx, api.Caller, Req) (Resp, error), codes ...node.Code) route {
	r := list(h, path, summary, call, codes...)
	r.op, r.waits, r.statuses = api.ReadOne(h.door, call), true, []int{api.OK, api.NotModified}
	r.codes = append(r.codes, node.RateLimited)
	return r
}

func post[Req, Resp any](path, summary string, statuses []int, op api.Op, codes []node.Code) route {
	return route{
		method: http.MethodPost, path: prefix + path, summary: summary, op: op, keyed: true,
		request: reflect.TypeFor[Req](), answer: reflect.TypeFor[Resp](), statuses: statuses, codes: append(codes, node.Conflict),
	}
}

func write[Req, Resp any](h *handlers, path, summary string, statuses []int, call func(node.Tx, api.Caller, Req) (api.Reply[Resp], error), codes ...node.Code) route {
	return post[Req, Resp](path, summary, statuses, api.Write(h.door, call), codes)
}

func writePrepared[Req, Prep, Resp any](h *handlers, path, summary string, statuses []int, prepare func(context.Context, api.Caller, Req) (Prep, error),
	call func(node.Tx, api.Caller, Req, Prep) (api.Reply[Resp], error), codes ...node.Code) route {
	return post[Req, Resp](path, summary, statuses, api.WritePrepared(h.door, prepare, call), codes)
}

func start[Req, Resp any](h *handlers, path, summary string, statuses []int, call func(context.Context, api.Caller, string, Req) (api.Reply[Resp], error), codes ...node.Code) route {
	return post[Req, Resp](path, summary, statuses, api.Run(h.door, call), codes)
}

// routes is the whole API.
func (h *handlers) routes() []route {
	sentOrHeld := []int{api.Created, api.Accepted}
	events := list(h, "/events", "What happened since a cursor, oldest first; as a stream where text/event-stream is accepted.", h.events, node.RateLimited)
	events.op, events.waits, events.stream = api.ReadNews(h.door, h.events, anyEvent), true, api.Stream(h.door, h.eventSource())

	return []route{
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
		{method: http.MethodPost, path: tokenPath, summary: "An access token for an agent's key.", op: h.door.Guard(h.token), open: true,
			answer: reflect.TypeFor[tokenAnswer](), statuses: []int{api.OK}, codes: []node.Code{node.Unavailable}},
		{method: http.MethodGet, path: "/healthz", summary: "Whether the node serves.", op: h.door.Guard(h.alive), open: true,
			answer: reflect.TypeFor[health](), statuses: []int{api.OK}},
		{method: http.MethodGet, path: "/readyz", summary: "Whether the node can do its work.", op: h.door.Guard(h.ready), open: true,
			answer: reflect.TypeFor[health](), statuses: []int{api.OK}, codes: []node.Code{node.Unavailable}},
	}
}

// served are the routes with the document of them, which is a route too.
func (h *handlers) served() []route {
	self := openapi()
	routes := append(h.routes(), self)
	document := h.document(routes)
	routes[len(routes)-1].op = func(context.Context, api.Call) api.Answer { return api.Answer{Status: api.OK, Body: document} }
	return routes
}

// fiber serves every route, without waiting.
func (h *handlers) fiber(routes []route) *fiber.App {
	app := api.NewFiber(h.door.Fail)
	for _, r := range routes {
		app.Add(r.method, api.FiberPath(r.path), api.Fiber(r.op))
	}
	return app
}

// mount serves the routes: fiber behind net/http, and net/http itself for what
// waits or streams.
func (h *handlers) mount(routes []route) http.Handler {
	waiting, streaming := http.NewServeMux(), http.NewServeMux()
	for _, r := range routes {
		if r.waits {
			waiting.Handle(r.method+" "+r.path, api.HTTP(r.op))
		}
		if r.stream != nil {
			streaming.Handle(r.method+" "+r.path, r.stream)
		}
	}
	behind := api.BehindHTTP(h.fiber(routes))
	return api.Front(h.IDs, h.door.Fail, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case acceptsStream(r) && serves(streaming, r):
			streaming.ServeHTTP(w, r)
		case r.URL.Query().Has("wait") && serves(waiting, r):
			waiting.ServeHTTP(w, r)
		default:
			behind.ServeHTTP(w, r)
		}
	}))
}

func serves(mux *http.ServeMux, r *http.Request) bool {
	_, pattern := mux.Handler(r)
	return pattern != "" && r.Method == http.MethodGet
}

func acceptsStream(r *http.Request) bool {
	for _, entry := range strings.Split(strings.Join(r.Header.Values("Accept"), ","), ",") {
		kind, _, _ := strings.Cut(entry, ";")
		if strings.TrimSpace(kind) == "text/event-stream" {
			return true
		}
	}
	return false
}
