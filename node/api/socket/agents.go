package socket

import (
	"context"
	"time"

	"agentlink/node"
	"agentlink/policy"
)

// Agent is an agent as its owner sees it.
type Agent struct {
	ID      string        `json:"id"`
	Handle  string        `json:"handle"`
	Address string        `json:"address"`
	Name    string        `json:"name,omitempty"`
	Mode    policy.Mode   `json:"mode"`
	Status  policy.Status `json:"status"`
	// Tools are the groups of tools that it sees over MCP.
	Tools     []policy.ToolGroup `json:"tools"`
	CreatedAt time.Time          `json:"createdAt"`
	// Key is the agent's key: only where it was just made, and shown once.
	Key string `json:"key,omitempty"`
}

// The commands about agents.
const (
	AgentCreate = "agent.create" // CreateAgent → Agent with Key
	AgentList   = "agent.list"   // {} → []Agent
	AgentMode   = "agent.mode"   // ChangeMode → ModeChange
	AgentStatus = "agent.status" // ChangeStatus → Agent
	AgentTools  = "agent.tools"  // ChangeTools → Agent
	AgentKey    = "agent.key"    // AgentRef → Agent with Key
)

// CreateAgent describes a new agent; Mode "" means assisted.
type CreateAgent struct {
	Handle string      `json:"handle"`
	Name   string      `json:"name,omitempty"`
	Mode   policy.Mode `json:"mode,omitempty"`
}

// AgentRef names an agent by handle or id; "" means the only one.
type AgentRef struct {
	Agent string `json:"agent,omitempty"`
}

// ChangeMode sets an agent's mode.
type ChangeMode struct {
	Agent  string      `json:"agent,omitempty"`
	Mode   policy.Mode `json:"mode"`
	DryRun bool        `json:"dryRun,omitempty"`
}

// ModeChange is an agent in its new mode. Of a dry run nothing stays, and Turned
// tells which of the latest decisions would have been others.
type ModeChange struct {
	Agent  Agent    `json:"agent"`
	DryRun bool     `json:"dryRun,omitempty"`
	Turned []Turned `json:"turned,omitempty"`
}

// ChangeStatus enables or disables an agent.
type ChangeStatus struct {
	Agent  string        `json:"agent,omitempty"`
	Status policy.Status `json:"status"`
}

// ChangeTools sets which groups of tools an agent sees over MCP.
type ChangeTools struct {
	Agent string             `json:"agent,omitempty"`
	Tools []policy.ToolGroup `json:"tools"`
}

func (s *Server) agentCommands() {
	decides(s, AgentCreate, func(tx node.Tx, actor node.Actor, r CreateAgent) (Agent, error) {
		agent, key, err := s.Policy.CreateAgent(tx, actor, policy.NewAgent{Handle: r.Handle, Name: r.Name, Mode: r.Mode})
		return s.agentView(agent, key), err
	})
	reads(s, AgentList, func(tx node.Tx, _ none) ([]Agent, error) {
		agents, err := s.Policy.Agents(tx)
		views := make([]Agent, len(agents))
		for i, agent := range agents {
			views[i] = s.agentView(agent, "")
		}
		return views, err
	})
	acts(s, AgentMode, s.changeMode)
	decides(s, AgentStatus, func(tx node.Tx, actor node.Actor, r ChangeStatus) (Agent, error) {
		agent, err := s.agent(tx, r.Agent)
		if err != nil {
			return Agent{}, err
		}
		actor.AgentID = agent.ID
		agent, err = s.Policy.SetStatus(tx, actor, agent.ID, r.Status)
		return s.agentView(agent, ""), err
	})
	decides(s, AgentTools, func(tx node.Tx, actor node.Actor, r ChangeTools) (Agent, error) {
		agent, err := s.agent(tx, r.Agent)
		if err != nil {
			return Agent{}, err
		}
		actor.AgentID = agent.ID
		agent, err = s.Policy.SetTools(tx, actor, agent.ID, r.Tools)
		return s.agentView(agent, ""), err
	})
	decides(s, AgentKey, func(tx node.Tx, actor node.Actor, r AgentRef) (Agent, error) {
		agent, err := s.agent(tx, r.Agent)
		if err != nil {
			return Agent{}, err
		}
		actor.AgentID = agent.ID
		agent, key, err := s.Policy.ReplaceKey(tx, actor, agent.ID)
		return s.agentView(agent, key), err
	})
}

func (s *Server) changeMode(ctx context.Context, r ChangeMode) (ModeChange, error) {
	change := ModeChange{DryRun: r.DryRun}
	err := s.tryOut(ctx, r.DryRun, func(tx node.Tx, actor node.Actor) error {
		agent, err := s.agent(tx, r.Agent)
		if err != nil {
			return err
		}
		actor.AgentID = agent.ID
		change.Turned, err = s.turned(tx, agent, r.DryRun, func() (err error) {
			agent, err = s.Policy.SetMode(tx, actor, agent.ID, r.Mode)
			return err
		})
		change.Agent = s.agentView(agent, "")
		return err
	})
	return change, err
}

func (s *Server) agentView(agent policy.Agent, key string) Agent {
	return Agent{
		ID: agent.ID, Handle: agent.Handle, Address: agent.Handle + "@" + s.Info().Host, Name: agent.Name,
		Mode: agent.Mode, Status: agent.Status, Tools: agent.Tools, CreatedAt: agent.CreatedAt, Key: key,
	}
}
