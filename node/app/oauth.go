package app

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"agentlink/node"
	door "agentlink/node/api/oauth"
	"agentlink/node/oauth"
)

// oauthOrigins are where programs reach the node: where the owner does, and this
// machine by its number, since a program may have been given either.
func (n *Node) oauthOrigins() []string {
	origins := n.settings.DashboardOrigins()
	if local := n.settings.LocalURL(); !slices.Contains(origins, local) {
		origins = append(origins, local)
	}
	return origins
}

func (n *Node) wireOAuth() {
	n.oauth = oauth.New(oauth.Config{
		DB: n.store, Store: n.store, Audit: n.audit, IDs: n.options.IDs, Origins: n.oauthOrigins(), Fetch: n.fetchDocument,
	})
}

// fetchDocument gets a program's document by the client that keeps to public
// addresses and follows no redirect.
func (n *Node) fetchDocument(ctx context.Context, url string) ([]byte, error) {
	status, document, err := n.client.Get(ctx, url)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("the answer has status %d", status)
	}
	return document, err
}

// forClients says whether a path is for programs of others.
func forClients(path string) bool { return door.Mine(path) }

// forOwner says whether a path among theirs is the dashboard's: where the owner
// is asked.
func forOwner(path string) bool {
	return path == oauth.AuthorizePath || strings.HasPrefix(path, oauth.AuthorizePath+"/")
}

func (n *Node) clientsDoor(agents http.Handler) http.Handler {
	return door.New(door.Config{
		DB: n.store, Clock: n.options.Clock, IDs: n.options.IDs, Service: n.oauth, Agents: agents, Log: n.log,
	})
}

// mcpClients opens at /mcp what programs of others bring.
type mcpClients struct{ service *oauth.Service }

// Mine implements mcp.Clients.
func (mcpClients) Mine(token string) bool { return oauth.IsAccess(token) }

// Agent implements mcp.Clients.
func (c mcpClients) Agent(tx node.Tx, token string) (agentID string, expires time.Time, err error) {
	access, err := c.service.Check(tx, token)
	return access.AgentID, access.Expires, err
}

// resourceMetadata is where a program that was refused at /mcp reads on.
func (n *Node) resourceMetadata(host string) string {
	return n.oauth.Origin(host) + oauth.ResourceMetadataPath
}
