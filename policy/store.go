package policy

import (
	"time"

	"agentlink/node"
)

// Store keeps agents and grants. What is not there is node.NotFound.
type Store interface {
	OverlayStore

	// InsertAgent is false, and writes nothing, where the handle is taken.
	InsertAgent(tx node.Tx, a Agent) (fresh bool, err error)
	AgentByID(tx node.Tx, id string) (Agent, error)
	AgentByHandle(tx node.Tx, handle string) (Agent, error)
	// AgentByClient finds an agent by id or handle.
	AgentByClient(tx node.Tx, client string) (Agent, error)
	// AgentByKeyHash finds an agent by the hash of its key.
	AgentByKeyHash(tx node.Tx, keyHash string) (Agent, error)
	// Agents lists them by handle.
	Agents(tx node.Tx) ([]Agent, error)
	// RaiseRules raises RulesRev by one under a new stamp, keeps other writers off
	// the agent until the transaction ends, and gives it as it then is.
	RaiseRules(tx node.Tx, agentID, stamp string) (Agent, error)
	// SaveAgent writes mode, status and tools.
	SaveAgent(tx node.Tx, a Agent) error
	// ReplaceAgentKey writes the hash and raises KeyGeneration by one.
	ReplaceAgentKey(tx node.Tx, agentID, keyHash string) (Agent, error)

	InsertGrant(tx node.Tx, g Grant) error
	// SaveGrant writes constraints and expiry.
	SaveGrant(tx node.Tx, g Grant) error
	DeleteGrant(tx node.Tx, id string) error
	Grant(tx node.Tx, id string) (Grant, error)
	// GrantFor finds the grant that is unique by these four.
	GrantFor(tx node.Tx, agentID, contact, capability string, mode GrantMode) (Grant, error)
	// Grants lists an agent's grants, the agent-wide ones first; contact nil: all of them.
	Grants(tx node.Tx, agentID string, contact *string) ([]Grant, error)

	// Decisions lists an agent's decisions since a time, the newest first, up to a
	// limit. It asks wanted for each of them, in that order, and opens the facts of
	// those alone.
	Decisions(tx node.Tx, agentID string, since time.Time, limit int, wanted func([]Answer) bool) ([]Record, error)
}
