package rest

import (
	"context"
	"net/http"
	"reflect"
	"strings"

	"github.com/gofiber/fiber/v2"

	"agentlink/node"
	"agentlink/node/api"
	"agentlink/node/api/agent"
)

// route is one row of the API: what is mounted, and what the OpenAPI document
// says of it.
type route struct {
	agent.Operation
	// open needs no token.
	open bool
}

// routes is the whole API.
func (h *handlers) routes() []route {
	routes := make([]route, 0, len(h.API.Operations)+4)
	for _, operation := range h.API.Operations {
		routes = append(routes, route{Operation: operation})
	}
	guard := h.API.Door.Guard
	return append(routes,
		route{open: true, Operation: agent.Operation{
			Method: http.MethodPost, Path: tokenPath, Summary: "An access token for an agent's key.", Op: guard(h.token),
			Answer: reflect.TypeFor[tokenAnswer](), Statuses: []int{api.OK}, Codes: []node.Code{node.Unavailable},
		}},
		route{open: true, Operation: agent.Operation{
			Method: http.MethodGet, Path: "/healthz", Summary: "Whether the node serves.", Op: guard(h.alive),
			Answer: reflect.TypeFor[health](), Statuses: []int{api.OK},
		}},
		route{open: true, Operation: agent.Operation{
			Method: http.MethodGet, Path: "/readyz", Summary: "Whether the node can do its work.", Op: guard(h.ready),
			Answer: reflect.TypeFor[health](), Statuses: []int{api.OK}, Codes: []node.Code{node.Unavailable},
		}},
	)
}

// served are the routes with the document of them, which is a route too.
func (h *handlers) served() []route {
	self := openapi()
	routes := append(h.routes(), self)
	document := h.document(routes)
	routes[len(routes)-1].Op = func(context.Context, *api.Call) api.Answer { return api.Answer{Status: api.OK, Body: document} }
	return routes
}

// fiber serves every route, without waiting.
func (h *handlers) fiber(routes []route) *fiber.App {
	app := api.NewFiber(h.API.Door.Fail)
	for _, r := range routes {
		app.Add(r.Method, api.FiberPath(r.Path), api.Fiber(r.Op))
	}
	return app
}

// mount serves the routes: fiber behind net/http, and net/http itself for what
// waits or streams.
func (h *handlers) mount(routes []route) http.Handler {
	waiting, streaming := http.NewServeMux(), http.NewServeMux()
	for _, r := range routes {
		if r.Waits {
			waiting.Handle(r.Method+" "+r.Path, api.HTTP(r.Op))
		}
		if r.Stream != nil {
			streaming.Handle(r.Method+" "+r.Path, r.Stream)
		}
	}
	behind := api.BehindHTTP(h.fiber(routes))
	return api.Front(h.IDs, h.API.Door.Fail, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
