package socket

import (
	"context"
	"time"

	"agentlink/coordination"
	"agentlink/node"
)

// Connection is a connection as its owner sees it.
type Connection struct {
	ID             string                        `json:"id"`
	Agent          string                        `json:"agent"` // handle
	Contact        string                        `json:"contact"`
	Status         coordination.ConnectionStatus `json:"status"`
	Fingerprint    string                        `json:"fingerprint"`
	Initiated      bool                          `json:"initiated"` // our side asked
	Note           string                        `json:"note,omitempty"`
	StructuredOnly bool                          `json:"structuredOnly"`
	KeyChanged     bool                          `json:"keyChanged"`
	// OfferedKey is a new key that the contact has announced and the owner decides about.
	OfferedKey *OfferedKey `json:"offeredKey,omitempty"`
	// KnownKey is the fingerprint of an earlier key of ours that the contact goes by,
	// while it has not accepted today's; KeyDeclined says that its owner does not want to.
	KnownKey    string    `json:"knownKey,omitempty"`
	KeyDeclined bool      `json:"keyDeclined,omitempty"`
	CreatedAt   time.Time `json:"createdAt"`
	UpdatedAt   time.Time `json:"updatedAt"`
}

// The commands about connections.
const (
	ConnectionList     = "connection.list"     // ListOf → []Connection
	ConnectionShow     = "connection.show"     // ByID → Connection
	ConnectionRequest  = "connection.request"  // RequestConnection → Sent
	ConnectionAccept   = "connection.accept"   // ByID → Connection
	ConnectionReject   = "connection.reject"   // ByID → Connection
	ConnectionRevoke   = "connection.revoke"   // ByID → Connection
	ConnectionSettings = "connection.settings" // ChangeConnection → Connection
	ConnectionInvite   = "connection.invite"   // AgentRef → Invitation
)

// ListOf narrows a list to an agent's, and to its newest entries.
type ListOf struct {
	Agent string `json:"agent,omitempty"`
	Limit int    `json:"limit,omitempty"` // 0 means 50
}

// RequestConnection asks to connect: with an address or an invitation link.
type RequestConnection struct {
	Agent      string `json:"agent,omitempty"`
	Address    string `json:"address,omitempty"`
	Invitation string `json:"invitation,omitempty"`
	Note       string `json:"note,omitempty"`
}

// ChangeConnection changes what the owner sets for a contact.
type ChangeConnection struct {
	ID             string `json:"id"`
	StructuredOnly bool   `json:"structuredOnly"`
}

// Sent is what came of something that the owner sent.
type Sent struct {
	Status string `json:"status"`
	ID     string `json:"id"`
}

// Invitation is an invitation link, shown once.
type Invitation struct {
	ID        string    `json:"id"`
	Agent     string    `json:"agent"`
	Link      string    `json:"link"`
	ExpiresAt time.Time `json:"expiresAt"`
}

func (s *Server) connectionCommands() {
	reads(s, ConnectionList, s.listConnections)
	reads(s, ConnectionShow, func(tx node.Tx, r ByID) (Connection, error) {
		connection, err := s.connection(tx, r.ID)
		if err != nil {
			return Connection{}, err
		}
		return s.connectionView(tx, connection)
	})
	acts(s, ConnectionRequest, s.requestConnection)
	s.changesConnection(ConnectionAccept, s.Coordination.AcceptConnection)
	s.changesConnection(ConnectionReject, s.Coordination.RejectConnection)
	s.changesConnection(ConnectionRevoke, s.Coordination.RevokeConnection)
	decides(s, ConnectionSettings, func(tx node.Tx, actor node.Actor, r ChangeConnection) (Connection, error) {
		return s.changeConnection(tx, actor, r.ID, func(tx node.Tx, actor node.Actor, id string) (coordination.Connection, error) {
			return s.Coordination.SetStructuredOnly(tx, actor, id, r.StructuredOnly)
		})
	})
	decides(s, ConnectionInvite, s.invite)
}

type connectionChange func(tx node.Tx, actor node.Actor, id string) (coordination.Connection, error)

func (s *Server) changesConnection(name string, change connectionChange) {
	decides(s, name, func(tx node.Tx, actor node.Actor, r ByID) (Connection, error) {
		return s.changeConnection(tx, actor, r.ID, change)
	})
}

func (s *Server) changeConnection(tx node.Tx, actor node.Actor, id string, change connectionChange) (Connection, error) {
	connection, err := s.connection(tx, id)
	if err != nil {
		return Connection{}, err
	}
	actor.AgentID = connection.AgentID
	if connection, err = change(tx, actor, connection.ID); err != nil {
		return Connection{}, err
	}
	return s.connectionView(tx, connection)
}

// requestConnection looks the peer up between two transactions, since no
// transaction may wait for the network.
func (s *Server) requestConnection(ctx context.Context, r RequestConnection) (Sent, error) {
	var actor node.Actor
	err := s.DB.View(ctx, func(tx node.Tx) (err error) {
		actor, err = s.actorFor(ctx, tx, r.Agent)
		return err
	})
	if err != nil {
		return Sent{}, err
	}
	prepared, err := s.Coordination.PrepareConnect(ctx, s.Directory, actor, coordination.ConnectRequest{
		Address: r.Address, Invitation: r.Invitation, Note: r.Note,
	})
	if err != nil {
		return Sent{}, err
	}
	if prepared.Refusal != nil {
		return Sent{}, prepared.Refusal
	}
	return s.send(ctx, func(tx node.Tx) (coordination.Result, error) {
		return s.Coordination.Connect(tx, actor, prepared)
	})
}

// send commits what f did, a refusal with its decision too.
func (s *Server) send(ctx context.Context, f func(node.Tx) (coordination.Result, error)) (Sent, error) {
	var result coordination.Result
	err := s.DB.InTx(ctx, func(tx node.Tx) (err error) {
		result, err = f(tx)
		return err
	})
	if err != nil {
		return Sent{}, err
	}
	if result.Refusal != nil {
		return Sent{}, result.Refusal
	}
	return Sent{Status: result.Status, ID: result.ID}, nil
}

// actorFor is the owner acting for one of the agents.
func (s *Server) actorFor(ctx context.Context, tx node.Tx, name string) (node.Actor, error) {
	agent, err := s.agent(tx, name)
	if err != nil {
		return node.Actor{}, err
	}
	actor, err := s.actor(ctx, tx)
	actor.AgentID = agent.ID
	return actor, err
}

func (s *Server) invite(tx node.Tx, actor node.Actor, r AgentRef) (Invitation, error) {
	agent, err := s.agent(tx, r.Agent)
	if err != nil {
		return Invitation{}, err
	}
	actor.AgentID = agent.ID
	invitation, link, err := s.Coordination.Invite(tx, actor, agent.ID)
	return Invitation{ID: invitation.ID, Agent: agent.Handle, Link: link, ExpiresAt: invitation.ExpiresAt}, err
}

func (s *Server) listConnections(tx node.Tx, r ListOf) ([]Connection, error) {
	agentID, err := s.filter(tx, r.Agent)
	if err != nil {
		return nil, err
	}
	connections, err := s.Coordination.Connections(tx, agentID, coordination.Page{Limit: limit(r.Limit)})
	if err != nil {
		return nil, err
	}
	names, err := s.agentNames(tx)
	views := make([]Connection, len(connections))
	for i, connection := range connections {
		views[i] = s.connectionOf(connection, names[connection.AgentID])
	}
	return views, err
}

func limit(asked int) int {
	if asked <= 0 {
		return 50
	}
	return min(asked, pageSize)
}

// connection finds one of any agent by its full or shortened id.
func (s *Server) connection(tx node.Tx, id string) (coordination.Connection, error) {
	if !node.ValidID(id) {
		var err error
		if id, err = s.shortConnection(tx, id); err != nil {
			return coordination.Connection{}, err
		}
	}
	return s.Coordination.Connection(tx, "", id)
}

func (s *Server) shortConnection(tx node.Tx, text string) (string, error) {
	return short("connection", text, func(visit func(string)) error {
		return s.eachConnection(tx, "", func(connection coordination.Connection) bool {
			visit(connection.ID)
			return false
		})
	})
}

func (s *Server) eachConnection(tx node.Tx, agentID string, visit func(coordination.Connection) (stop bool)) error {
	return each(
		func(page coordination.Page) ([]coordination.Connection, error) {
			return s.Coordination.Connections(tx, agentID, page)
		},
		func(connection coordination.Connection) (time.Time, string) {
			return connection.CreatedAt, connection.ID
		}, visit)
}

func (s *Server) connectionView(tx node.Tx, connection coordination.Connection) (Connection, error) {
	agent, err := s.Policy.Agent(tx, connection.AgentID)
	return s.connectionOf(connection, agent.Handle), err
}

func (s *Server) connectionOf(connection coordination.Connection, agent string) Connection {
	return Connection{
		ID: connection.ID, Agent: agent, Contact: connection.Contact, Status: connection.Status,
		Fingerprint: connection.Peer.Fingerprint, Initiated: connection.Initiated, Note: connection.Note,
		StructuredOnly: connection.StructuredOnly, KeyChanged: connection.KeyChanged,
		OfferedKey: offeredKey(connection), KnownKey: s.earlierKey(connection), KeyDeclined: connection.KeyDeclined,
		CreatedAt: connection.CreatedAt, UpdatedAt: connection.UpdatedAt,
	}
}
