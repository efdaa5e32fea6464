// Package dashboard is the page where an owner understands and decides. It
// translates between forms and services and decides nothing itself; templates
// are in package view.
package dashboard

import (
	"log/slog"
	"net/http"
	"sync"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"
	"github.com/gofiber/fiber/v2/middleware/compress"

	"agentlink/actions"
	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/api"
	"agentlink/node/audit"
	"agentlink/node/oauth"
	"agentlink/node/owner"
	"agentlink/node/token"
	"agentlink/policy"
)

// Config is what the dashboard needs.
type Config struct {
	DB           node.DB
	Clock        node.Clock
	IDs          node.IDs
	Access       Access
	Entry        *owner.Access // how the owner comes in
	Owner        *owner.Service
	Policy       *policy.Service
	Decider      policy.Decider
	Decisions    Decisions
	Approvals    *approvals.Service
	Coordination *coordination.Service
	Actions      *actions.Service
	Directory    coordination.Directory
	Clients      *oauth.Service
	Audit        *audit.Log
	Events       audit.Store
	Tally        Tally
	// SignHead signs the head of an exported log, as token.AuditHead.
	SignHead func(audit.HeadClaims) (string, error)
	Wake     Wake
	Info     Info
	// Signer knows the node's keys.
	Signer *token.Signer
	Log    *slog.Logger
}

// Decisions explains what was decided; engine.Engine implements it.
type Decisions interface {
	// Explain gives a decision as it was recorded. Code: not_found.
	Explain(tx node.Tx, decisionID string) (policy.Record, error)
}

// Info is what the node says of itself.
type Info struct {
	Host     string // host[:port] of the agents' addresses
	URL      string // of this dashboard and of the agents' API
	DataDir  string
	Database string
	Version  string
}

// Wake tells that the log has grown.
type Wake interface {
	Subscribe(topic string) (changed <-chan struct{}, cancel func())
}

// Dashboard serves the owner's pages.
type Dashboard struct {
	Config
	app       *fiber.App
	streaming sync.Map // answers that fiber has left to net/http, by their ids
}

// maxForm bounds a form; the longest field is a chat message.
const maxForm = 64 << 10

// New makes the dashboard.
func New(config Config) *Dashboard {
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	d := &Dashboard{Config: config}
	d.app = fiber.New(fiber.Config{
		Immutable: true, CaseSensitive: true, StrictRouting: true, BodyLimit: maxForm,
		DisableStartupMessage: true, DisableDefaultDate: true, ErrorHandler: d.failed,
	})
	// A page is sent packed, although it holds both a token and strangers' texts:
	// nobody but the owner's own browser can make it be sent, since the session's
	// cookie goes with no request of another site.
	d.app.Use(compress.New(compress.Config{Level: compress.LevelBestSpeed}))
	for _, r := range d.routes() {
		d.app.Add(r.method, r.path, d.serve(r))
	}
	return d
}

// Handler serves pages, assets, and the live stream, which net/http serves since
// fiber would hold it back.
func (d *Dashboard) Handler() http.Handler {
	pages := adaptor.FiberApp(d.app)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setHeaders(w.Header())
		setReferrer(w.Header(), r.URL.Path)
		_, known := d.Access.Place(r.Host)
		switch {
		case !known:
			d.elsewhere(w, r)
		case r.URL.Path == "/live":
			d.live(w, r)
		case isAsset(r.URL.Path):
			serveAsset(w, r)
		case api.Encoded(r):
			http.Error(w, "Content-Encoding is not taken here.", http.StatusUnsupportedMediaType)
		default:
			r.Body = http.MaxBytesReader(w, r.Body, maxForm)
			answer := &checked{ResponseWriter: w}
			pages.ServeHTTP(answer, r)
			d.finish(answer, w, r)
		}
	})
}
