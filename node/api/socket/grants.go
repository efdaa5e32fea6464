package socket

import (
	"context"
	"time"

	"agentlink/coordination"
	"agentlink/node"
	"agentlink/policy"
)

// Grant is a grant as its owner sees it.
type Grant struct {
	ID          string              `json:"id"`
	Agent       string              `json:"agent"`             // handle
	Contact     string              `json:"contact,omitempty"` // "" means agent-wide
	Capability  string              `json:"capability"`
	Mode        policy.GrantMode    `json:"mode"`
	Constraints *policy.Constraints `json:"constraints,omitempty"`
	ExpiresAt   time.Time           `json:"expiresAt,omitzero"`
	CreatedAt   time.Time           `json:"createdAt"`
}

// The commands about grants.
const (
	GrantSet      = "grant.set"      // SetGrant → GrantChange
	GrantList     = "grant.list"     // ListGrants → []Grant
	GrantRemove   = "grant.remove"   // RemoveGrant → GrantChange
	GrantExplain  = "grant.explain"  // ExplainGrants → []policy.Answer
	GrantDecision = "grant.decision" // ByID → Decision
)

// SetGrant describes a grant to set. Constraints nil keeps those that are there.
type SetGrant struct {
	Agent       string              `json:"agent,omitempty"`
	Contact     string              `json:"contact,omitempty"`
	Capability  string              `json:"capability"`
	Mode        policy.GrantMode    `json:"mode"`
	Constraints *policy.Constraints `json:"constraints,omitempty"`
	ExpiresAt   time.Time           `json:"expiresAt,omitzero"`
	DryRun      bool                `json:"dryRun,omitempty"`
}

// RemoveGrant names a grant to remove, by its full or shortened id.
type RemoveGrant struct {
	ID     string `json:"id"`
	DryRun bool   `json:"dryRun,omitempty"`
}

// GrantChange is a changed grant, with the answer that now holds for each
// capability it touches. Of a dry run nothing stays, and Turned tells which of
// the latest decisions would have been others.
type GrantChange struct {
	Grant     Grant           `json:"grant"`
	Effective []policy.Answer `json:"effective"`
	DryRun    bool            `json:"dryRun,omitempty"`
	Turned    []Turned        `json:"turned,omitempty"`
}

// ListGrants narrows a list of grants: to an agent, and to one contact.
type ListGrants struct {
	Agent   string `json:"agent,omitempty"`
	Contact string `json:"contact,omitempty"`
}

// ExplainGrants asks what holds for an agent towards a contact; "" stands for
// one that is connected and has no grants of its own. Capability "" asks for all.
type ExplainGrants struct {
	Agent      string `json:"agent,omitempty"`
	Contact    string `json:"contact,omitempty"`
	Capability string `json:"capability,omitempty"`
}

// ByID names a thing by its id, or by eight or more characters of its
// beginning or end.
type ByID struct {
	ID string `json:"id"`
}

func (s *Server) grantCommands() {
	acts(s, GrantSet, s.setGrant)
	acts(s, GrantRemove, s.removeGrant)
	reads(s, GrantDecision, s.decision)
	reads(s, GrantList, s.listGrants)
	reads(s, GrantExplain, s.explain)
}

func (s *Server) setGrant(ctx context.Context, r SetGrant) (GrantChange, error) {
	return s.changeGrant(ctx, r.DryRun, func(tx node.Tx, actor node.Actor) (changedGrant, error) {
		agent, err := s.agent(tx, r.Agent)
		if err != nil {
			return changedGrant{}, err
		}
		actor.AgentID = agent.ID
		return changedGrant{agent: agent, change: func() (policy.Grant, error) {
			return s.Policy.SetGrant(tx, actor, policy.NewGrant{
				AgentID: agent.ID, Contact: r.Contact, Capability: r.Capability, Mode: r.Mode,
				Constraints: r.Constraints, ExpiresAt: r.ExpiresAt,
			})
		}}, nil
	})
}

func (s *Server) removeGrant(ctx context.Context, r RemoveGrant) (GrantChange, error) {
	return s.changeGrant(ctx, r.DryRun, func(tx node.Tx, actor node.Actor) (changedGrant, error) {
		id, agent, err := s.grantID(tx, r.ID)
		if err != nil {
			return changedGrant{}, err
		}
		actor.AgentID = agent.ID
		return changedGrant{agent: agent, change: func() (policy.Grant, error) {
			return s.Policy.RemoveGrant(tx, actor, id)
		}}, nil
	})
}

// changedGrant is a change of a grant that is about to be made.
type changedGrant struct {
	agent  policy.Agent
	change func() (policy.Grant, error)
}

// changeGrant makes a change and says what then holds; a dry run is the same
// change, rolled back.
func (s *Server) changeGrant(ctx context.Context, dryRun bool, prepare func(node.Tx, node.Actor) (changedGrant, error)) (GrantChange, error) {
	response := GrantChange{DryRun: dryRun}
	err := s.tryOut(ctx, dryRun, func(tx node.Tx, actor node.Actor) error {
		g, err := prepare(tx, actor)
		if err != nil {
			return err
		}
		var grant policy.Grant
		response.Turned, err = s.turned(tx, g.agent, dryRun, func() (err error) {
			grant, err = g.change()
			return err
		})
		if err != nil {
			return err
		}
		response.Grant = grantView(grant, g.agent.Handle)
		response.Effective, err = s.Policy.Effective(tx, g.agent.ID, grant.Contact, grant.Capability)
		return err
	})
	return response, err
}

// grantID finds a grant by a full or shortened id, over all agents.
func (s *Server) grantID(tx node.Tx, text string) (string, policy.Agent, error) {
	of := map[string]policy.Agent{}
	id, err := short("grant", text, func(visit func(string)) error {
		agents, err := s.Policy.Agents(tx)
		if err != nil {
			return err
		}
		for _, agent := range agents {
			grants, err := s.Policy.Grants(tx, agent.ID, nil)
			if err != nil {
				return err
			}
			for _, grant := range grants {
				of[grant.ID] = agent
				visit(grant.ID)
			}
		}
		return nil
	})
	return id, of[id], err
}

func (s *Server) listGrants(tx node.Tx, r ListGrants) ([]Grant, error) {
	only, err := s.filter(tx, r.Agent)
	if err != nil {
		return nil, err
	}
	var contact *string
	if r.Contact != "" {
		contact = &r.Contact
	}
	views := []Grant{}
	err = s.eachAgent(tx, func(agent policy.Agent) error {
		if only != "" && agent.ID != only {
			return nil
		}
		grants, err := s.Policy.Grants(tx, agent.ID, contact)
		for _, grant := range grants {
			views = append(views, grantView(grant, agent.Handle))
		}
		return err
	})
	return views, err
}

func grantView(grant policy.Grant, agent string) Grant {
	view := Grant{
		ID: grant.ID, Agent: agent, Contact: grant.Contact, Capability: grant.Capability,
		Mode: grant.Mode, ExpiresAt: grant.ExpiresAt, CreatedAt: grant.CreatedAt,
	}
	if !grant.Constraints.Empty() {
		view.Constraints = &grant.Constraints
	}
	return view
}

// explain asks the engine what holds now: towards a contact with the connection
// as it is, or agent-wide for one that is connected and has no grants of its own.
func (s *Server) explain(tx node.Tx, r ExplainGrants) ([]policy.Answer, error) {
	agent, err := s.agent(tx, r.Agent)
	if err != nil {
		return nil, err
	}
	names, err := s.explained(tx, agent, r)
	if err != nil {
		return nil, err
	}
	if r.Contact == "" {
		return s.Decider.Capabilities(tx, policy.Request{AgentID: agent.ID, Connection: string(coordination.ConnActive)}, names)
	}
	connection, err := s.towards(tx, agent.ID, r.Contact)
	if err != nil {
		return nil, err
	}
	return s.Decider.Capabilities(tx, policy.Request{
		AgentID: agent.ID, Contact: r.Contact, Connection: string(connection.Status), StructuredOnly: connection.StructuredOnly,
	}, names)
}

// explained names the capabilities that are asked about.
func (s *Server) explained(tx node.Tx, agent policy.Agent, r ExplainGrants) ([]string, error) {
	if r.Capability != "" {
		if !policy.ValidCapability(r.Capability) {
			return nil, node.BadFields(node.Field{Field: "capability", Problem: "is no capability that the node knows, and no disclose.… or action.… name"})
		}
		return []string{r.Capability}, nil
	}
	answers, err := s.Policy.Effective(tx, agent.ID, r.Contact)
	names := make([]string, len(answers))
	for i, answer := range answers {
		names[i] = answer.Capability
	}
	return names, err
}

// towards finds the agent's newest connection to a contact; the zero Connection
// where there is none.
func (s *Server) towards(tx node.Tx, agentID, contact string) (found coordination.Connection, err error) {
	err = s.eachConnection(tx, agentID, func(connection coordination.Connection) bool {
		if connection.Contact == contact {
			found = connection
		}
		return found.ID != ""
	})
	return found, err
}
