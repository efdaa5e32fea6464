// Package rest is the agents' REST API: the operations of package agent under
// /v1/agent, the token endpoint, the OpenAPI document and the health checks. It
// translates and never decides.
//
// One table of routes (routes.go) is what is mounted and what is documented.
package rest

import (
	"context"
	"net/http"
	"time"

	"agentlink/node"
	"agentlink/node/api"
	"agentlink/node/api/agent"
	"agentlink/node/api/schema"
	"agentlink/policy"
)

// Config is what the door needs.
type Config struct {
	API    *agent.API
	IDs    node.IDs // for the ids of requests
	Agents Agents   // policy.Service
	Tokens Tokens
	// Ping says whether the store answers.
	Ping func(context.Context) error
}

// Agents is what the door needs of policy.Service.
type Agents interface {
	Authenticate(tx node.Tx, client, key string) (policy.Agent, error)
}

// Tokens issues access tokens.
type Tokens interface {
	Issue(agentID string, generation int64, now time.Time) (compact string, expiresIn time.Duration, err error)
}

// handlers hold what the operations share.
type handlers struct {
	Config
	failures *api.Failures
}

// New assembles the API.
func New(config Config) http.Handler {
	h := newHandlers(config)
	return h.mount(h.served())
}

func newHandlers(config Config) *handlers {
	config.API.Schemas.Name("grant", schema.Rule{"const": grantType})
	return &handlers{Config: config, failures: &api.Failures{Most: maxFailures, Window: time.Minute}}
}
