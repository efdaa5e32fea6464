package socket

import (
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
	GrantSet     = "grant.set"     // SetGrant → GrantChange
	GrantList    = "grant.list"    // ListGrants → []Grant
	GrantRemove  = "grant.remove"  // ByID → GrantChange
	GrantExplain = "grant.explain" // ExplainGrants → []policy.Answer
)

// SetGrant describes a grant to set. Constraints nil keeps those that are there.
type SetGrant struct {
	Agent       string              `json:"agent,omitempty"`
	Contact     string              `json:"contact,omitempty"`
	Capability  string              `json:"capability"`
	Mode        policy.GrantMode    `json:"mode"`
	Constraints *policy.Constraints `json:"constraints,omitempty"`
	ExpiresAt   time.Time           `json:"expiresAt,omitzero"`
}

// GrantChange is a changed grant, with the answer that now holds for each
// capability it touches.
type GrantChange struct {
	Grant     Grant           `json:"grant"`
	Effective []policy.Answer `json:"effective"`
}

// ListGrants narrows a list of grants: to an agent, and to one contact.
type ListGrants struct {
	Agent   string `json:"agent,omitempty"`
	Contact string `json:"contact,omitempty"`
}

// ExplainGrants asks what holds for an agent towards a contact; "" asks about
// requests that concern no contact.
type ExplainGrants struct {
	Agent   string `json:"agent,omitempty"`
	Contact string `json:"contact,omitempty"`
}

// ByID names a thing by its id, or by eight or more characters of its
// beginning or end.
type ByID struct {
	ID string `json:"id"`
}

func (s *Server) grantCommands() {
	decides(s, GrantSet, s.setGrant)
	decides(s, GrantRemove, s.removeGrant)
	reads(s, GrantList, s.listGrants)
	reads(s, GrantExplain, s.explain)
}

func (s *Server) setGrant(tx node.Tx, actor node.Actor, r SetGrant) (GrantChange, error) {
	agent, err := s.agent(tx, r.Agent)
	if err != nil {
		return GrantChange{}, err
	}
	actor.AgentID = agent.ID
	grant, err := s.Policy.SetGrant(tx, actor, policy.NewGrant{
		AgentID: agent.ID, Contact: r.Contact, Capability: r.Capability, Mode: r.Mode,
		Constraints: r.Constraints, ExpiresAt: r.ExpiresAt,
	})
	if err != nil {
		return GrantChange{}, err
	}
	effective, err := s.Policy.Effective(tx, agent.ID, grant.Contact, grant.Capability)
	return GrantChange{Grant: grantView(grant, agent.Handle), Effective: effective}, err
}

func (s *Server) removeGrant(tx node.Tx, actor node.Actor, r ByID) (GrantChange, error) {
	id, agent, err := s.grantID(tx, r.ID)
	if err != nil {
		return GrantChange{}, err
	}
	actor.AgentID = agent.ID
	grant, err := s.Policy.RemoveGrant(tx, actor, id)
	if err != nil {
		return GrantChange{}, err
	}
	effective, err := s.Policy.Effective(tx, agent.ID, grant.Contact, grant.Capability)
	return GrantChange{Grant: grantView(grant, agent.Handle), Effective: effective}, err
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
	agents, err := s.agents(tx, r.Agent)
	if err != nil {
		return nil, err
	}
	var contact *string
	if r.Contact != "" {
		contact = &r.Contact
	}
	views := []Grant{}
	for _, agent := range agents {
		grants, err := s.Policy.Grants(tx, agent.ID, contact)
		if err != nil {
			return nil, err
		}
		for _, grant := range grants {
			views = append(views, grantView(grant, agent.Handle))
		}
	}
	return views, nil
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
	answers, err := s.Policy.Effective(tx, agent.ID, r.Contact)
	if err != nil || r.Contact == "" {
		return answers, err
	}
	connection, err := s.towards(tx, agent.ID, r.Contact)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(answers))
	for i, answer := range answers {
		names[i] = answer.Capability
	}
	return s.Decider.Capabilities(tx, policy.Request{
		AgentID: agent.ID, Contact: r.Contact, Connection: string(connection.Status), StructuredOnly: connection.StructuredOnly,
	}, names)
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
