package policy

import (
	"slices"
	"unicode/utf8"

	"agentlink/node"
	"agentlink/node/audit"
)

// MaxName is the longest name of an agent, in characters.
const MaxName = 120

// NewAgent describes an agent to create. Mode "" means assisted.
type NewAgent struct {
	Handle, Name string
	Mode         Mode
}

// CreateAgent makes an agent and its key, alk_ and 43 characters, shown once.
// Codes: bad_request, conflict (handle taken), policy_denied (not the owner).
func (s *Service) CreateAgent(tx node.Tx, actor node.Actor, n NewAgent) (Agent, string, error) {
	if err := mayChange(actor); err != nil {
		return Agent{}, "", err
	}
	if n.Mode == "" {
		n.Mode = Assisted
	}
	if fields := n.problems(); len(fields) > 0 {
		return Agent{}, "", node.BadFields(fields...)
	}
	key, hash := newKey()
	agent := Agent{
		ID: s.IDs.New(), OwnerID: actor.OwnerID, Handle: n.Handle, Name: n.Name, Mode: n.Mode, Status: Active,
		KeyHash: hash, KeyGeneration: 1, RulesRev: 1, RulesStamp: s.IDs.New(),
		Tools: slices.Clone(ToolGroups), CreatedAt: tx.Now(),
	}
	fresh, err := s.Store.InsertAgent(tx, agent)
	if err != nil {
		return Agent{}, "", err
	}
	if !fresh {
		return Agent{}, "", node.Errorf(node.Conflict, "An agent of this node has the handle %q already. Choose another.", n.Handle)
	}
	err = s.audit(tx, actor, audit.AgentCreated, agent.ID, agent.ID, map[string]any{"handle": agent.Handle, "mode": agent.Mode})
	return agent, key, err
}

func (n NewAgent) problems() (fields []node.Field) {
	// An id is not taken for a handle: a client may give either.
	if !node.ValidHandle(n.Handle) || node.ValidID(n.Handle) {
		fields = append(fields, node.Field{Field: "handle", Problem: "must be 1 to 64 lower-case letters, digits, dots, hyphens or underscores"})
	}
	if utf8.RuneCountInString(n.Name) > MaxName || !utf8.ValidString(n.Name) {
		fields = append(fields, node.Field{Field: "name", Problem: "must have at most 120 characters"})
	}
	if !slices.Contains(Modes, n.Mode) {
		fields = append(fields, badMode)
	}
	return fields
}

var (
	badMode   = node.Field{Field: "mode", Problem: "must be manual, assisted or autonomous"}
	badTools  = node.Field{Field: "tools", Problem: "must be some of read, talk, tasks and actions, each once"}
	badStatus = node.Field{Field: "status", Problem: "must be active or disabled"}
)

// ReplaceKey gives the agent a new key; the old key and its tokens end.
func (s *Service) ReplaceKey(tx node.Tx, actor node.Actor, agentID string) (Agent, string, error) {
	if err := mayChange(actor); err != nil {
		return Agent{}, "", err
	}
	key, hash := newKey()
	agent, err := s.Store.ReplaceAgentKey(tx, agentID, hash)
	if err != nil {
		return Agent{}, "", err
	}
	if err := owned(agent.OwnerID, actor); err != nil {
		return Agent{}, "", err
	}
	err = s.audit(tx, actor, audit.AgentKeyChanged, agent.ID, agent.ID, map[string]any{"generation": agent.KeyGeneration})
	return agent, key, err
}

// SetMode changes the mode.
func (s *Service) SetMode(tx node.Tx, actor node.Actor, agentID string, mode Mode) (Agent, error) {
	if !slices.Contains(Modes, mode) {
		return Agent{}, node.BadFields(badMode)
	}
	agent, err := s.raise(tx, actor, agentID)
	if err != nil || agent.Mode == mode {
		return agent, err
	}
	old := agent.Mode
	agent.Mode = mode
	return s.saveAgent(tx, actor, agent, audit.AgentModeChanged, map[string]any{"old": old, "new": mode})
}

// SetStatus enables or disables the agent.
func (s *Service) SetStatus(tx node.Tx, actor node.Actor, agentID string, status Status) (Agent, error) {
	if !slices.Contains(Statuses, status) {
		return Agent{}, node.BadFields(badStatus)
	}
	agent, err := s.raise(tx, actor, agentID)
	if err != nil || agent.Status == status {
		return agent, err
	}
	old := agent.Status
	agent.Status = status
	return s.saveAgent(tx, actor, agent, audit.AgentStatusChanged, map[string]any{"old": old, "new": status})
}

// SetTools chooses the groups of tools that the agent sees over MCP. Codes:
// bad_request, not_found, policy_denied (not the owner).
func (s *Service) SetTools(tx node.Tx, actor node.Actor, agentID string, chosen []ToolGroup) (Agent, error) {
	groups, ok := ValidToolGroups(chosen)
	if !ok {
		return Agent{}, node.BadFields(badTools)
	}
	agent, err := s.raise(tx, actor, agentID)
	if err != nil || slices.Equal(agent.Tools, groups) {
		return agent, err
	}
	old := agent.Tools
	agent.Tools = groups
	return s.saveAgent(tx, actor, agent, audit.AgentToolsChanged, map[string]any{"old": JoinTools(old), "new": JoinTools(groups)})
}

func (s *Service) saveAgent(tx node.Tx, actor node.Actor, agent Agent, what audit.Type, data map[string]any) (Agent, error) {
	if err := s.Store.SaveAgent(tx, agent); err != nil {
		return Agent{}, err
	}
	return agent, s.audit(tx, actor, what, agent.ID, agent.ID, data)
}

func (s *Service) audit(tx node.Tx, actor node.Actor, what audit.Type, agentID, subject string, data map[string]any) error {
	return s.Audit.Append(tx, audit.Event{Type: what, Actor: actor, AgentID: agentID, Subject: subject, Data: data})
}

// Agent finds one by id. Code: not_found.
func (s *Service) Agent(tx node.Tx, id string) (Agent, error) { return s.Store.AgentByID(tx, id) }

// AgentByHandle finds one by handle. Code: not_found.
func (s *Service) AgentByHandle(tx node.Tx, handle string) (Agent, error) {
	return s.Store.AgentByHandle(tx, handle)
}

// Agents lists them by handle.
func (s *Service) Agents(tx node.Tx) ([]Agent, error) { return s.Store.Agents(tx) }
