// Package oauth lets programs of others act as one of the owner's agents over
// MCP: they register, the owner approves them for one agent, and they get
// short-lived tokens that open /mcp and nothing else. It is the only importer of
// go-oauth2, and a shell around it that is stricter than its defaults (see
// docs/adr/0013).
//
// Every client is a stranger who chose its own name. What it may do is decided
// by the agent's rules on each call, never by its token.
package oauth

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"agentlink/node"
	"agentlink/node/audit"
)

// How long things last.
const (
	CodeTime    = time.Minute
	AccessTime  = 15 * time.Minute
	RefreshTime = 60 * 24 * time.Hour // from its last use
	// AuthorizationTime is when the owner is asked again, however often a client comes.
	AuthorizationTime = 365 * 24 * time.Hour
	// unapprovedTime is how long a client is kept that the owner has never approved.
	unapprovedTime = 24 * time.Hour
	// keepSpent is how long what is over is remembered, to tell its second use.
	keepSpent = 24 * time.Hour
)

// Bounds of what the node keeps.
const (
	MaxUnapproved = 1000
	MaxConnected  = 100 // clients of an agent
)

// Scope is the one scope that there is; others are ignored. What a client may do
// follows from its agent's rules.
const Scope = "mcp"

// Paths under each origin of the node.
const (
	ResourcePath  = "/mcp"
	AuthorizePath = "/oauth/authorize"
	TokenPath     = "/oauth/token"
	RegisterPath  = "/oauth/register"
	RevokePath    = "/oauth/revoke"
)

// Config is what the service needs.
type Config struct {
	DB    node.DB
	Store Store
	Audit *audit.Log
	IDs   node.IDs
	// Origins are the schemes and hosts under which the node can be reached, the
	// usual one first. Each is an issuer, and each with /mcp a resource.
	Origins []string
	// Fetch gets the document at an https URL, bounded in size and time, following
	// nothing. It is called outside of transactions.
	Fetch func(ctx context.Context, url string) ([]byte, error)
}

// Service is what can be done about clients.
type Service struct{ Config }

// New makes the service.
func New(config Config) *Service { return &Service{Config: config} }

// Origin is the one under which a request came in, by its host; the usual one
// where it is none of the node's.
func (s *Service) Origin(host string) string {
	for _, origin := range s.Origins {
		if _, own, _ := strings.Cut(origin, "://"); strings.EqualFold(own, host) {
			return origin
		}
	}
	return s.Origins[0]
}

// Resource is what tokens are for.
func Resource(origin string) string { return origin + ResourcePath }

// resourceOf reads the parameter resource (RFC 8707): one of the node's, with or
// without a slash at its end. Absent means that of the origin.
func (s *Service) resourceOf(given, origin string) (resource string, ok bool) {
	if given == "" {
		return Resource(origin), true
	}
	for _, own := range s.Origins {
		if strings.TrimSuffix(given, "/") == Resource(own) {
			return Resource(own), true
		}
	}
	return "", false
}

// Serves says whether a resource is this node.
func (s *Service) Serves(resource string) bool {
	_, own := s.resourceOf(resource, "")
	return own && resource != ""
}

// originOf is the origin of a resource of the node's.
func originOf(resource string) string { return strings.TrimSuffix(resource, ResourcePath) }

// once says whether every parameter comes once at most: who reads the second of
// two could be told something else than who reads the first.
func once(values url.Values, names ...string) bool {
	for name, all := range values {
		if len(all) > 1 && (len(names) == 0 || slices.Contains(names, name)) {
			return false
		}
	}
	return true
}
