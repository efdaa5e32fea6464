// Package agent is what an agent may do: each operation once, with its request,
// its answer and the rules that both follow. It translates and never decides.
//
// One table of operations (operations.go) is what the doors mount: REST as
// routes with an OpenAPI document, MCP as tools.
package agent

import (
	"context"
	"encoding/json"
	"log/slog"

	"agentlink/actions"
	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/api"
	"agentlink/node/api/schema"
	"agentlink/node/audit"
	"agentlink/policy"
)

// Config is what the operations need.
type Config struct {
	DB           node.DB
	Clock        node.Clock
	Agents       Agents // policy.Service
	Policy       policy.Decider
	Coordination Coordination
	Actions      Actions
	Approvals    Approvals
	Directory    coordination.Directory
	Feed         Feed
	Tokens       api.Tokens
	Answers      api.Idempotency
	Wake         api.Wake
	// CursorKey is the subkey of the master key for cursors, 32 bytes.
	CursorKey []byte
	// Host is host[:port] of this node's agents' addresses.
	Host string
	// Log is slog.Default where nil.
	Log *slog.Logger
}

// Agents is what the operations need of policy.Service.
type Agents interface {
	Agent(tx node.Tx, id string) (policy.Agent, error)
	Grants(tx node.Tx, agentID string, contact *string) ([]policy.Grant, error)
}

// Coordination is what the operations need of coordination.Service.
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

// Actions is what the operations need of actions.Service.
type Actions interface {
	RequestApproval(tx node.Tx, actor node.Actor, ask actions.Ask) (approvals.Approval, *node.Error, error)
	Run(ctx context.Context, actor node.Actor, start actions.Start) (actions.Run, error)
	Find(tx node.Tx, agentID, id string) (actions.Run, error)
}

// Approvals is what the operations need of approvals.Service.
type Approvals interface {
	Approval(tx node.Tx, agentID, id string) (approvals.Approval, error)
}

// Feed reads the audit log, which is the feed of events.
type Feed interface {
	AuditRows(tx node.Tx, filter audit.Filter) ([]audit.Row, error)
}

// API holds the operations and what they share. One node has one, whatever the
// number of doors, since it counts what waits.
type API struct {
	Config
	Door       *api.Door
	Schemas    *schema.Set
	Operations []Operation

	cursors *api.Cursors
}

// New assembles the operations.
func New(config Config) *API {
	if config.Log == nil {
		config.Log = slog.Default()
	}
	h := &API{Config: config, cursors: api.NewCursors(config.CursorKey), Schemas: newSchemas()}
	h.Door = &api.Door{
		DB: config.DB, Clock: config.Clock, Tokens: config.Tokens, Agents: config.Agents,
		Answers: config.Answers, Wake: config.Wake, Schemas: h.Schemas, Log: config.Log,
	}
	h.Operations = h.operations()
	return h
}
