// Package oauth is the door for programs of others that want to act as an agent
// over MCP: what they have to know, registration, tokens, revocation. The page on
// which the owner approves them is the dashboard's.
//
// Browsers may call it from any page: nothing here reads a cookie.
package oauth

import (
	"log/slog"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"agentlink/node"
	"agentlink/node/api"
	"agentlink/node/api/problem"
	"agentlink/node/oauth"
)

// Config is what the door needs.
type Config struct {
	DB      node.DB
	Clock   node.Clock
	IDs     node.IDs
	Service *oauth.Service
	// Agents serves POST /oauth/token for every grant_type that is no client's: the
	// agents' own.
	Agents http.Handler
	Log    *slog.Logger
}

// The limits of strangers, by address and over all of them.
const (
	maxRegistrations    = 10 // a minute and address
	maxAllRegistrations = 200
	maxFailures         = 20 // refused tokens, a minute and address
)

type door struct {
	Config
	registrations, allRegistrations, failures *api.Failures
}

// New makes the door.
func New(config Config) http.Handler {
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	d := &door{
		Config:           config,
		registrations:    &api.Failures{Most: maxRegistrations, Window: time.Minute},
		allRegistrations: &api.Failures{Most: maxAllRegistrations, Window: time.Hour},
		failures:         &api.Failures{Most: maxFailures, Window: time.Minute},
	}
	mux := http.NewServeMux()
	for _, r := range d.routes() {
		mux.HandleFunc(r.path, d.serve(r))
	}
	return mux
}

// Mine says whether a path is served here.
func Mine(path string) bool {
	for _, r := range (&door{}).routes() {
		if r.path == path {
			return true
		}
	}
	return false
}

// route is one address; the others of its methods are refused.
type route struct {
	method, path string
	handle       func(http.ResponseWriter, *http.Request)
}

// Routes lists every route, as METHOD /path.
func Routes() (all []string) {
	for _, r := range (&door{}).routes() {
		all = append(all, r.method+" "+r.path)
	}
	return all
}

const wellKnown = "/.well-known/"

func (d *door) routes() []route {
	return []route{
		{http.MethodGet, wellKnown + "oauth-protected-resource", d.resource},
		{http.MethodGet, oauth.ResourceMetadataPath, d.resource},
		{http.MethodGet, wellKnown + "oauth-authorization-server", d.server},
		// Clients that take /mcp itself for the issuer look here.
		{http.MethodGet, wellKnown + "oauth-authorization-server" + oauth.ResourcePath, d.server},
		{http.MethodPost, oauth.RegisterPath, d.register},
		{http.MethodPost, oauth.TokenPath, d.token},
		{http.MethodPost, oauth.RevokePath, d.revoke},
	}
}

// serve sets the headers of every answer, answers a browser's question whether it
// may call, and refuses other methods.
func (d *door) serve(r route) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", "*") // and never with credentials
		h.Set("Access-Control-Expose-Headers", "WWW-Authenticate, Retry-After")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		switch request.Method {
		case r.method:
			r.handle(w, request)
		case http.MethodOptions:
			h.Set("Access-Control-Allow-Methods", r.method)
			h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, MCP-Protocol-Version")
			h.Set("Access-Control-Max-Age", "600")
			w.WriteHeader(http.StatusNoContent)
		default:
			h.Set("Allow", r.method+", "+http.MethodOptions)
			d.refuse(w, oauth.Refusal{Status: http.StatusMethodNotAllowed, Code: "invalid_request", Description: "The method is " + r.method + "."})
		}
	}
}

func (d *door) resource(w http.ResponseWriter, r *http.Request) {
	d.send(w, http.StatusOK, oauth.DescribeResource(d.Service.Origin(r.Host)))
}

func (d *door) server(w http.ResponseWriter, r *http.Request) {
	d.send(w, http.StatusOK, oauth.DescribeServer(d.Service.Origin(r.Host)))
}

func (d *door) send(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		panic("oauth: " + err.Error()) // a struct of ours
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client has left; there is nobody to tell
}

func (d *door) refuse(w http.ResponseWriter, r oauth.Refusal) {
	if r.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Basic realm="agentlink"`)
	}
	d.send(w, r.Status, r)
}

// fail answers an error in the words of RFC 6749. Causes go to the log.
func (d *door) fail(w http.ResponseWriter, r *http.Request, err error, code string) {
	id := d.IDs.New()
	shown := problem.Of(err, id)
	status := problem.Status(shown.Code)
	if status >= http.StatusInternalServerError {
		d.Log.Error("request failed", "request", id, "path", r.URL.Path, "cause", err.Error())
		code = "server_error"
	}
	d.refuse(w, oauth.Refusal{Status: status, Code: code, Description: shown.Message})
}

// slow refuses a caller who comes too often.
func (d *door) slow(w http.ResponseWriter, pause time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(pause.Seconds()))))
	d.refuse(w, oauth.Refusal{Status: http.StatusTooManyRequests, Code: "temporarily_unavailable", Description: "Too many requests. Wait for the seconds in Retry-After."})
}

// address groups callers: an IPv4 address, or the network of an IPv6 one.
func address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	return api.Network(host)
}

// plainRequest says whether proxies and the node read the same request.
func plainRequest(r *http.Request) bool {
	return !api.Encoded(r) && r.URL.RawQuery == "" && len(r.Header.Values("Authorization")) <= 1 &&
		len(r.Header.Values("Content-Type")) == 1 && !strings.Contains(r.Header.Get("Content-Type"), ",")
}
