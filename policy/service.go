package policy

import (
	"errors"
	"time"

	"agentlink/node"
	"agentlink/node/audit"
)

var errNotYet = errors.New("policy: being written")

// Config is what the service needs.
type Config struct {
	Store   Store
	IDs     node.IDs
	Audit   *audit.Log
	Decider Decider
}

// Store keeps agents, grants and decisions.
type Store interface{}

// Service is the one place where agents and grants change. Only the owner
// reaches it.
type Service struct{ Config }

// New makes the service.
func New(config Config) *Service { return &Service{config} }

// NewAgent describes an agent to create. Mode "" means assisted.
type NewAgent struct {
	Handle, Name string
	Mode         Mode
}

// CreateAgent makes an agent and its key, alk_ and 43 characters, shown once.
// Codes: bad_request, conflict (handle taken).
func (s *Service) CreateAgent(tx node.Tx, actor node.Actor, n NewAgent) (Agent, string, error) {
	return Agent{}, "", errNotYet
}

// ReplaceKey gives the agent a new key; the old key and its tokens end.
func (s *Service) ReplaceKey(tx node.Tx, actor node.Actor, agentID string) (Agent, string, error) {
	return Agent{}, "", errNotYet
}

// SetMode changes the mode.
func (s *Service) SetMode(tx node.Tx, actor node.Actor, agentID string, mode Mode) (Agent, error) {
	return Agent{}, errNotYet
}

// SetStatus enables or disables the agent.
func (s *Service) SetStatus(tx node.Tx, actor node.Actor, agentID string, status Status) (Agent, error) {
	return Agent{}, errNotYet
}

// Agent finds one by id. Code: not_found.
func (s *Service) Agent(tx node.Tx, id string) (Agent, error) { return Agent{}, errNotYet }

// AgentByHandle finds one by handle. Code: not_found.
func (s *Service) AgentByHandle(tx node.Tx, handle string) (Agent, error) {
	return Agent{}, errNotYet
}

// Agents lists them by handle.
func (s *Service) Agents(tx node.Tx) ([]Agent, error) { return nil, errNotYet }

// Authenticate checks an agent's id (or handle) and key. Code: unauthorized for
// unknown, wrong and disabled alike.
func (s *Service) Authenticate(tx node.Tx, client, key string) (Agent, error) {
	return Agent{}, errNotYet
}

// SetGrant writes a grant, replacing the one of the same agent, contact,
// capability and mode. Constraints nil keeps those that are there. Codes:
// bad_request, not_found.
func (s *Service) SetGrant(tx node.Tx, actor node.Actor, grant NewGrant) (Grant, error) {
	return Grant{}, errNotYet
}

// NewGrant describes a grant to set.
type NewGrant struct {
	AgentID, Contact, Capability string
	Mode                         GrantMode
	Constraints                  *Constraints
	ExpiresAt                    time.Time
}

// RemoveGrant ends a grant. Code: not_found.
func (s *Service) RemoveGrant(tx node.Tx, actor node.Actor, id string) (Grant, error) {
	return Grant{}, errNotYet
}

// Grants lists an agent's grants: agent-wide and for every contact, or for one.
func (s *Service) Grants(tx node.Tx, agentID string, contact *string) ([]Grant, error) {
	return nil, errNotYet
}

// DefaultGrants writes the grants of a new connection that are not there yet:
// disclose.* ask and action.* ask.
func (s *Service) DefaultGrants(tx node.Tx, actor node.Actor, agentID, contact string) error {
	return errNotYet
}

// BumpRules raises the agent's RulesRev: something outside the grants that the
// rules read has changed (structuredOnly).
func (s *Service) BumpRules(tx node.Tx, agentID string) error { return errNotYet }
