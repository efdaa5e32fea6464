package app

import (
	"context"
	"net/http"
	"strings"

	"agentlink/coordination/wire"
	"agentlink/dashboard"
	"agentlink/node"
	"agentlink/node/api/mcp"
	"agentlink/node/audit"
	"agentlink/node/token"
)

func (n *Node) wireDashboard() {
	n.dashboard = dashboard.New(dashboard.Config{
		DB: n.store, Clock: n.options.Clock, IDs: n.options.IDs, Access: visitors{n}, Entry: n.access, Owner: n.owner,
		Policy: n.policy, Decider: n.engine, Decisions: n.engine, Approvals: n.approvals, Coordination: n.coordination,
		Clients: n.oauth, Actions: n.actions, Directory: n.directory, Audit: n.audit, Events: n.store, Tally: n.store, Wake: n.store, Log: n.log, Signer: n.identity.Signer,
		SignHead: func(claims audit.HeadClaims) (string, error) {
			return n.identity.Signer.SignAs(claims.Iss, token.AuditHead, claims)
		},
		Info: dashboard.Info{
			Host: n.settings.Host(), URL: n.access.Home().Origin,
			DataDir: n.settings.DataDir, Database: n.settings.Database.String(), Version: n.options.Version,
		},
	})
}

// visitors tells the dashboard who visits.
type visitors struct{ n *Node }

// Place implements dashboard.Access.
func (v visitors) Place(host string) (place dashboard.Place, known bool) {
	site, known := v.n.access.Site(host)
	return dashboard.Place{Origin: site.Origin, Cookie: site.CookieName()}, known
}

// Visitor implements dashboard.Access.
func (v visitors) Visitor(ctx context.Context, cookie string, visits bool) (visitor dashboard.Visitor, err error) {
	find := v.n.access.Look
	if visits {
		find = v.n.access.Visit
	}
	s, err := find(ctx, cookie)
	if err != nil {
		return dashboard.Visitor{}, err
	}
	err = v.n.store.View(ctx, func(tx node.Tx) error {
		person, err := v.n.owner.Owner(tx)
		if err != nil {
			return err
		}
		visitor.Name = person.Name
		visitor.SettingUp, err = v.n.access.NeedsWayIn(tx, s)
		return err
	})
	visitor.SessionID, visitor.OwnerID, visitor.LastVisit = s.ID, s.OwnerID, s.PreviousAt
	visitor.CSRF, visitor.Fresh = v.n.access.FormToken(s), s.Fresh(v.n.options.Clock.Now())
	return visitor, err
}

// Open implements dashboard.Access.
func (v visitors) Open(ctx context.Context, cookie string) error {
	_, err := v.n.access.Look(ctx, cookie)
	return err
}

func forPeers(path string) bool {
	return path == wire.InboxPath || path == wire.CardPath || path == wire.WitnessPath
}

// forAgents says whether a path belongs to the agents' API; the dashboard has
// the others.
func forAgents(path string) bool {
	switch path {
	case "/openapi.json", "/healthz", "/readyz":
		return true
	}
	return strings.HasPrefix(path, "/v1/") || strings.HasPrefix(path, "/oauth/") && !forOwner(path)
}

// privateSide is what the owner's and agents' side serves. Without a public side
// peers come here too. It is no http.ServeMux, which would redirect paths that
// the doors refuse.
func (n *Node) privateSide() http.Handler {
	rest := n.rest()
	agents, clients, tools := n.untilSetUp(rest), n.untilSetUp(n.clientsDoor(rest)), n.untilSetUp(n.mcp())
	peers, owner := n.inbox.Handler(), n.dashboard.Handler()
	door := func(path string) http.Handler {
		switch {
		case forPeers(path) && n.listeners.public == nil:
			return peers
		case path == mcp.Path:
			return tools
		case forClients(path):
			return clients
		case forAgents(path) || forPeers(path):
			return agents
		}
		return owner
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { door(r.URL.Path).ServeHTTP(w, r) })
}
