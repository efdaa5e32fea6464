package config

import (
	"net"
	"net/url"
	"slices"
	"strings"

	"agentlink/node"
)

// DashboardOrigins lists where the owner may open the dashboard, as scheme and
// host. Links lead to the first. This machine goes by the name of localhost:
// passkeys do not work under 127.0.0.1.
func (c Config) DashboardOrigins() []string {
	var origins []string
	add := func(origin string) {
		if origin != "" && !slices.Contains(origins, origin) {
			origins = append(origins, origin)
		}
	}
	add(c.DashboardURL)
	served := "" // the peers' address where it leads to the owner's side too
	if c.PublicListen == "" {
		served = c.PublicURL
	}
	if !node.IsLoopback(c.Listen) {
		add(served)
	}
	add(byName(c.LocalURL()))
	add(served)
	return origins
}

// byName puts localhost in the place of a loopback address.
func byName(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return address
	}
	if ip := net.ParseIP(strings.Trim(parsed.Hostname(), "[]")); ip == nil || !ip.IsLoopback() {
		return address
	}
	return parsed.Scheme + "://" + net.JoinHostPort("localhost", parsed.Port())
}
