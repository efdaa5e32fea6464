package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agentlink/node"
	"agentlink/node/api/agent"
	"agentlink/node/token"
	"agentlink/policy"
)

// Config is what the server at /mcp needs.
type Config struct {
	API  *agent.API
	IDs  node.IDs
	Keys Keys // policy.Service
	// Clients opens the tokens that clients got with OAuth; nil where there are none.
	Clients Clients
	// Metadata is the address of the metadata that tells a client, under the host
	// that it asked, how to get a token; nil where it cannot.
	Metadata func(host string) string
	// Known says whether a host is one of the node's own, as it is asked for behind
	// a proxy on the same machine. nil: none.
	Known func(host string) bool
	// Dashboard is where the owner decides.
	Dashboard string
	Version   string
	// Log is slog.Default where nil.
	Log *slog.Logger
}

// Keys knows agents by their keys.
type Keys interface {
	AuthenticateKey(tx node.Tx, key string) (policy.Agent, error)
}

// Clients knows agents by the tokens of clients that the owner has approved.
type Clients interface {
	// Mine says whether a text looks like such a token.
	Mine(token string) bool
	// Agent gives the agent that the token acts as, and when the token ends. Code:
	// unauthorized.
	Agent(tx node.Tx, token string) (agentID string, expires time.Time, err error)
}

// SessionTimeout ends sessions of which nothing was heard.
const SessionTimeout = 10 * time.Minute

// stateless is the first version of the protocol without sessions.
const stateless = "2026-07-28"

// versionHeader names the version of a request.
const versionHeader = "MCP-Protocol-Version"

// sessionHeader names the session of a request.
const sessionHeader = "Mcp-Session-Id"

// New makes the server at /mcp: one address for clients of every version of the
// protocol, with a token of POST /oauth/token, with one that a client got with
// OAuth, or with the agent's key itself.
func New(config Config) http.Handler {
	if config.Log == nil {
		config.Log = slog.Default()
	}
	d := &door{Config: config}
	return d.serve(d.newServer(d.options()))
}

// serve puts both kinds of handler on one server, and the bearer's check before
// them. The check of the host against rebinding is the SDK's, which takes this
// machine's own name alone for safe: a known host goes by that name there.
func (d *door) serve(server *sdk.Server) http.Handler {
	options := sdk.StreamableHTTPOptions{
		SessionTimeout: SessionTimeout, PropagateRequestCancellation: true, MaxRequestBodyBytes: node.MaxJSONBytes, Logger: d.Log,
	}
	same := func(*http.Request) *sdk.Server { return server }
	withSessions := sdk.NewStreamableHTTPHandler(same, &options)
	options.Stateless = true
	without := sdk.NewStreamableHTTPHandler(same, &options)
	both := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(versionHeader) >= stateless {
			without.ServeHTTP(w, r)
			return
		}
		if r.Method == http.MethodDelete {
			d.leaves.end(sessionOf{auth.TokenInfoFromContext(r.Context()).UserID, r.Header.Get(sessionHeader)})
		}
		withSessions.ServeHTTP(w, r)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		hold(w)
		host := r.Host
		if d.Known != nil && d.Known(host) {
			r = r.Clone(r.Context())
			r.Host = "localhost"
		}
		checked := auth.RequireBearerToken(d.verify, &auth.RequireBearerTokenOptions{
			ResourceMetadataURL: d.metadata(host), AllowMissingExpiration: true,
		})
		checked(both).ServeHTTP(w, r)
	})
}

// hold lets streams outlive the server's time-outs; each ends with its session
// or its client.
func hold(w http.ResponseWriter) {
	control := http.NewResponseController(w)
	// A writer without deadlines, as in tests, has none to lift.
	_ = control.SetReadDeadline(time.Time{})
	_ = control.SetWriteDeadline(time.Time{})
}

func (d *door) metadata(host string) string {
	if d.Metadata == nil {
		return ""
	}
	return d.Metadata(host)
}

// mine says whether a bearer is a token of a client's.
func (d *door) mine(bearer string) bool { return d.Clients != nil && d.Clients.Mine(bearer) }

// door is the server at /mcp.
type door struct {
	Config
	leaves leaves
}

// claimsName is where the verified caller travels with a request.
const claimsName = "claims"

var errBearer = fmt.Errorf("%w: ask for another one", auth.ErrInvalidToken)

// verify finds the agent that a bearer acts as. What the agent may still do is
// read again by each operation. Wrong ones are not counted: a secret of 256 bits
// is not guessed, and behind a proxy all clients come from one address.
func (d *door) verify(ctx context.Context, bearer string, r *http.Request) (*auth.TokenInfo, error) {
	claims, err := d.claims(ctx, bearer, d.API.Clock.Now())
	if node.CodeOf(err) == node.Unauthorized && err != nil {
		d.Log.Info("bearer not let in", "from", r.RemoteAddr)
		return nil, errBearer
	}
	if err != nil {
		d.Log.Error("a bearer could not be checked", "cause", err.Error())
		return nil, errors.New("the node cannot check tokens right now; try again in a moment")
	}
	return &auth.TokenInfo{UserID: claims.Sub, Extra: map[string]any{claimsName: claims}}, nil
}

// claims are those of a bearer whose agent is active and has no newer key.
func (d *door) claims(ctx context.Context, bearer string, now time.Time) (claims token.AccessClaims, err error) {
	issued := !policy.IsKey(bearer) && !d.mine(bearer)
	if issued {
		if claims, err = d.API.Tokens.Check(bearer, now); err != nil {
			return token.AccessClaims{}, err
		}
	}
	err = d.API.DB.View(ctx, func(tx node.Tx) error {
		if !issued {
			found, expires, err := d.bearer(tx, bearer)
			if err != nil {
				return err
			}
			claims = token.AccessClaims{Sub: found.ID, Gen: found.KeyGeneration, Exp: expires.Unix()}
		}
		return d.API.Door.Admits(tx, claims)
	})
	return claims, err
}

// bearer finds the agent of a key or of a client's token. A key is good for the
// request that it came with.
func (d *door) bearer(tx node.Tx, bearer string) (found policy.Agent, expires time.Time, err error) {
	if policy.IsKey(bearer) {
		found, err = d.Keys.AuthenticateKey(tx, bearer)
		return found, tx.Now().Add(token.AccessLife), err
	}
	agentID, expires, err := d.Clients.Agent(tx, bearer)
	if err != nil {
		return policy.Agent{}, time.Time{}, err
	}
	found, err = d.API.Agents.Agent(tx, agentID)
	return found, expires, err
}

// claimsOf is the verified caller of a request. It panics where there is none:
// the bearer's check stands before everything.
func claimsOf(request sdk.Request) token.AccessClaims {
	return request.GetExtra().TokenInfo.Extra[claimsName].(token.AccessClaims)
}
