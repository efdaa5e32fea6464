package socket

import (
	"time"

	"agentlink/node"
	"agentlink/node/oauth"
)

// Program is a program of others that acts as an agent.
type Program struct {
	ID    string `json:"id"` // of the approval
	Agent string `json:"agent"`
	Name  string `json:"name"` // what it calls itself
	// Document is the URL by which its host vouches for it, "" where it registered by
	// itself.
	Document  string    `json:"document,omitempty"`
	Redirect  string    `json:"redirect"` // where answers to it go
	CreatedAt time.Time `json:"createdAt"`
	// LastUsedAt is when it last got a token; it needs one every 15 minutes.
	LastUsedAt time.Time `json:"lastUsedAt"`
}

// The commands about programs of others.
const (
	ClientList   = "client.list"   // AgentRef → []Program
	ClientRevoke = "client.revoke" // RevokeClient → Program
)

// RevokeClient disconnects a program. Client is its id, or eight or more
// characters of its beginning or end.
type RevokeClient struct {
	Agent  string `json:"agent,omitempty"`
	Client string `json:"client"`
}

func (s *Server) clientCommands() {
	reads(s, ClientList, func(tx node.Tx, r AgentRef) ([]Program, error) {
		agent, err := s.agent(tx, r.Agent)
		if err != nil {
			return nil, err
		}
		connected, err := s.Clients.Clients(tx, agent.ID)
		views := make([]Program, len(connected))
		for i, c := range connected {
			views[i] = programView(c, agent.Handle)
		}
		return views, err
	})
	decides(s, ClientRevoke, func(tx node.Tx, actor node.Actor, r RevokeClient) (Program, error) {
		agent, err := s.agent(tx, r.Agent)
		if err != nil {
			return Program{}, err
		}
		id, err := s.findClient(tx, agent.ID, r.Client)
		if err != nil {
			return Program{}, err
		}
		actor.AgentID = agent.ID
		revoked, err := s.Clients.Revoke(tx, actor, agent.ID, id)
		return programView(revoked, agent.Handle), err
	})
}

func (s *Server) findClient(tx node.Tx, agentID, name string) (string, error) {
	if node.ValidID(name) {
		return name, nil
	}
	return short("program", name, func(visit func(id string)) error {
		connected, err := s.Clients.Clients(tx, agentID)
		for _, c := range connected {
			visit(c.ID)
		}
		return err
	})
}

func programView(c oauth.Connected, agent string) Program {
	view := Program{
		ID: c.ID, Agent: agent, Name: c.Client.Name, Redirect: c.Client.Redirect(), CreatedAt: c.CreatedAt, LastUsedAt: c.LastUsedAt,
	}
	if c.Client.ClientID != c.Client.ID {
		view.Document = c.Client.ClientID
	}
	return view
}
