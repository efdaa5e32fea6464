// Package rest is the agents' REST API: /v1/agent, the token endpoint, the
// OpenAPI document and the health checks. It translates and never decides.
//
// One table of routes (routes.go) is what is mounted and what is documented.
package rest

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"agentlink/actions"
	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/api"
	"agentlink/node/api/schema"
	"agentlink/node/audit"
	"agentlink/node/token"
	"agentlink/policy"
)

// Config is what the door needs.
type Config struct {
	DB           node.DB
	Clock        node.Clock
	IDs          node.IDs // for the ids of requests
	Agents       Agents   // policy.Service
	Policy       policy.Decider
	Coordination Coordination
	Actions      Actions
	Approvals    Approvals
	Directory    coordination.Directory
	Feed         Feed
	Tokens       Tokens
	Answers      api.Idempotency
	Wake         api.Wake
	// Ping says whether the store answers.
	Ping func(context.Context) error
	// CursorKey is the subkey of the master key for cursors, 32 bytes.
	CursorKey []byte
	// Host is host[:port] of this node's agents' addresses.
	Host string
	// Log is slog.Default where nil.
	Log *slog.Logger
}

// Agents is what the door needs of policy.Service.
type Agents interface {
	Authenticate(tx node.Tx, client, key string) (policy.Agent, error)
	Agent(tx node.Tx, id string) (policy.Agent, error)
	Grants(tx node.Tx, agentID string, contact *string) ([]policy.Grant, error)
}

// Coordination is what the door needs of coordination.Service.
type Coordination interface {
	PrepareConnect(ctx context.Context, directory coordination.Directory, actor node.Actor, request coordination.ConnectRequest) (coordination.Prepared, error)
	Connect(tx node.Tx, actor node.Actor, prepared coordination.Prepared) (coordination.Result, error)
	Connection(tx node.Tx, agentID, id string) (coordination.Connection, error)
	Connections(tx node.Tx, agentID string, page coordination.Page) ([]coordination.Connection, error)
	SendMessage(tx node.Tx, actor node.Actor, connectionID, text string) (coordination.Result, error)
	Messages(tx node.Tx, agentID, connectionID string, page coordination.Page) ([]coordination.Message, error)
	StartTask(tx node.Tx, actor node.Actor, start coordination.StartTask) (coordination.Result, error)
	Propose(tx node.Tx, actor node.Actor, uid string, fields json.RawMessage, basedOn int) (coordination.Result, error)
	Respond(tx node.Tx, actor node.Actor, uid string, answer coordination.Answer) (coordination.Result, error)
	CancelTask(tx node.Tx, actor node.Actor, uid, reason string) (coordination.Result, error)
	Task(tx node.Tx, agentID, uid string) (coordination.Task, error)
	Tasks(tx node.Tx, agentID string, filter coordination.TaskFilter, page coordination.Page) ([]coordination.Task, error)
}

// Actions is what the door needs of actions.Service.
type Actions interface {
	RequestApproval(tx node.Tx, actor node.Actor, ask actions.Ask) (approvals.Approval, *node.Error, error)
	Run(ctx context.Context, actor node.Actor, start actions.Start) (actions.Run, error)
	Find(tx node.Tx, agentID, id string) (actions.Run, error)
}

// Approvals is what the door needs of approvals.Service.
type Approvals interface {
	Approval(tx node.Tx, agentID, id string) (approvals.Approval, error)
}

// Feed reads the audit log, which is the feed of events.
type Feed interface {
	AuditRows(tx node.Tx, filter audit.Filter) ([]audit.Row, error)
}

// Tokens issues and checks access tokens.
type Tokens interface {
	Issue(agentID string, generation int64, now time.Time) (compact string, expiresIn time.Duration, err error)
	Check(compact string, now time.Time) (token.AccessClaims, error)
}

// handlers hold what the operations share.
type handlers struct {
	Config
	door     *api.Door
	cursors  *api.Cursors
	schemas  *schema.Set
	failures *api.Failures
}

// New assembles the API.
func New(config Config) http.Handler {
	h := newHandlers(config)
	return h.mount(h.served())
}

func newHandlers(config Config) *handlers {
	if config.Log == nil {
		config.Log = slog.Default()
	}
	h := &handlers{Config: config, cursors: api.NewCursors(config.CursorKey), schemas: newSchemas()}
	h.failures = &api.Failures{Most: maxFailures, Window: time.Minute}
	h.door = &api.Door{
		DB: config.DB, Clock: config.Clock, Tokens: config.Tokens, Agents: config.Agents,
		Answers: config.Answers, Wake: config.Wake, Schemas: h.schemas, Log: config.Log,
	}
	return h
}
