package app

import (
	"net/http"

	"agentlink/node/api/mcp"
)

// mcp is what agents may do, as tools.
func (n *Node) mcp() http.Handler {
	return mcp.New(mcp.Config{
		API: n.api, IDs: n.options.IDs, Keys: n.policy, Dashboard: n.access.Home().Origin,
		Clients: mcpClients{n.oauth}, Metadata: n.resourceMetadata, Version: n.options.Version, Log: n.log,
		Known: func(host string) bool { _, known := n.access.Site(host); return known },
	})
}
