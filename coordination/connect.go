package coordination

import (
	"context"
	"time"

	"agentlink/approvals"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/policy"
)

// MaxNewHosts is how many hosts that it has not met an agent may make the node
// look up in a day.
const MaxNewHosts = 20

// ConnectRequest asks to connect: with an address, or with an invitation link.
type ConnectRequest struct {
	Address    string
	Invitation string
	Note       string // ≤ wire.MaxNote characters
}

// Prepared is a ConnectRequest whose node was looked up.
type Prepared struct {
	Contact node.Address
	Peer    Peer
	Note    string
	Secret  string      // the invitation's
	Refusal *node.Error // the policy said no before any look-up
}

// Directory fetches and verifies a node's card: its signature by its own key,
// and where fingerprint is not "" that it is that key. delivery implements it.
// Codes: unavailable where the node does not answer, conflict for another key.
type Directory interface {
	Lookup(ctx context.Context, host, fingerprint string) (Peer, error)
}

// PrepareConnect asks the policy, and only then fetches the peer's card, outside
// any transaction of the caller's. Codes: bad_request, conflict, rate_limited
// (20 new hosts a day), unavailable.
func (s *Service) PrepareConnect(ctx context.Context, directory Directory, actor node.Actor, request ConnectRequest) (Prepared, error) {
	target, err := parseTarget(request)
	if err != nil {
		return Prepared{}, err
	}
	prepared := Prepared{Contact: target.address, Note: request.Note, Secret: target.secret}
	err = s.DB.InTx(ctx, func(tx node.Tx) (err error) {
		prepared.Refusal, err = s.mayLookUp(tx, actor, target.address)
		return err
	})
	if err != nil || prepared.Refusal != nil {
		return prepared, err
	}
	prepared.Peer, err = directory.Lookup(ctx, target.address.Host, target.fingerprint)
	return prepared, err
}

func (s *Service) mayLookUp(tx node.Tx, actor node.Actor, contact node.Address) (*node.Error, error) {
	agent, err := s.Agents.Agent(tx, actor.AgentID)
	if err != nil {
		return nil, err
	}
	if s.address(agent) == contact.String() {
		return nil, node.BadFields(node.Field{Field: "address", Problem: "is the agent's own"})
	}
	known, err := s.Store.ConnectionsWith(tx, actor.AgentID, contact.String())
	if err != nil {
		return nil, err
	}
	if err := refuseSecond(known); err != nil {
		return nil, err
	}
	if actor.Kind != node.ActorOwner {
		decision, err := s.decideConnect(tx, actor.AgentID, contact.String(), known)
		if err != nil || decision.Outcome == policy.Refused {
			return decision.Refusal(), err
		}
		if err := s.countLookup(tx, actor, contact.Host); err != nil {
			return nil, err
		}
	}
	return nil, s.audit(tx, audit.Event{
		Type: audit.ConnectionLookedUp, Actor: actor, AgentID: actor.AgentID, Data: map[string]any{"host": contact.Host},
	})
}

func (s *Service) countLookup(tx node.Tx, actor node.Actor, host string) error {
	others, err := s.Store.CountLookups(tx, actor.AgentID, host, tx.Now().Add(-24*time.Hour))
	if err != nil {
		return err
	}
	if others >= MaxNewHosts {
		refusal := node.Errorf(node.RateLimited, "An agent may look up 20 new hosts a day. Try again tomorrow.")
		refusal.Details = map[string]any{"retryAfterSeconds": 3600}
		return refusal
	}
	return s.Store.RecordLookup(tx, actor.AgentID, host)
}

// refuseSecond refuses where a connection with the contact is active, or a request of
// ours to it is under way.
func refuseSecond(known []Connection) error {
	for _, c := range known {
		if c.Status == ConnActive || c.Status == PendingOwner || c.Status == PendingOutgoing {
			return node.ConflictFor(node.ReasonBadState, "There is a connection with this contact already; its status is %s.", c.Status)
		}
	}
	return nil
}

func (s *Service) decideConnect(tx node.Tx, agentID, contact string, known []Connection) (policy.Decision, error) {
	status := ""
	if len(known) > 0 {
		status = string(known[0].Status)
	}
	return s.Policy.Decide(tx, policy.Request{
		AgentID: agentID, Contact: contact, Connection: status, Capabilities: []string{policy.ConnectionRequest},
	})
}

// Connect asks to connect with a prepared contact. Codes: bad_request, conflict
// where a connection is there already.
func (s *Service) Connect(tx node.Tx, actor node.Actor, prepared Prepared) (Result, error) {
	if prepared.Refusal != nil {
		return Result{Status: StatusRefused, Refusal: prepared.Refusal}, nil
	}
	agent, err := s.Agents.Agent(tx, actor.AgentID)
	if err != nil {
		return Result{}, err
	}
	contact := prepared.Contact.String()
	known, err := s.Store.ConnectionsWith(tx, agent.ID, contact)
	if err != nil {
		return Result{}, err
	}
	if err := refuseSecond(known); err != nil {
		return Result{}, err
	}
	connection := Connection{
		ID: s.IDs.New(), OwnerID: agent.OwnerID, AgentID: agent.ID, Contact: contact, Status: PendingOutgoing,
		Peer: prepared.Peer, Initiated: true, Note: prepared.Note, Secret: prepared.Secret,
		CreatedAt: tx.Now(), UpdatedAt: tx.Now(),
	}
	if actor.Kind == node.ActorOwner {
		return s.connect(tx, actor, connection)
	}
	decision, err := s.decideConnect(tx, agent.ID, contact, known)
	if err != nil {
		return Result{}, err
	}
	switch decision.Outcome {
	case policy.Allowed:
		return s.connect(tx, actor, connection)
	case policy.Held:
		return s.holdConnect(tx, actor, connection, decision)
	default:
		return Result{Status: StatusRefused, Refusal: decision.Refusal()}, nil
	}
}

func (s *Service) connect(tx node.Tx, actor node.Actor, c Connection) (Result, error) {
	if err := s.introduce(tx, &c); err != nil {
		return Result{}, err
	}
	if err := s.Store.InsertConnection(tx, c); err != nil {
		return Result{}, err
	}
	return Result{Status: StatusQueued, ID: c.ID}, s.request(tx, actor, c)
}

// request sends our connection.request, or where the contact has asked already,
// from the same key, accepts that request instead.
func (s *Service) request(tx node.Tx, actor node.Actor, c Connection) error {
	known, err := s.Store.ConnectionsWith(tx, c.AgentID, c.Contact)
	if err != nil {
		return err
	}
	for _, theirs := range known {
		if theirs.Status == PendingIncoming && theirs.Peer.Fingerprint == c.Peer.Fingerprint {
			c.Status = ConnRevoked
			if err := s.Store.SaveConnection(tx, c, PendingOutgoing); err != nil {
				return err
			}
			return s.accept(tx, actor, theirs)
		}
	}
	_, recipient, err := s.today(tx)
	if err != nil {
		return err
	}
	m, err := s.notice(tx, c, wire.ConnectionRequest, wire.Request{
		Note: c.Note, Secret: c.Secret, Recipient: recipient, Inbox: s.Self.Inbox,
	}, actor)
	if err != nil {
		return err
	}
	c.RequestID, c.Secret = m.ID, ""
	if err := s.Store.SaveConnection(tx, c, PendingOutgoing); err != nil {
		return err
	}
	return s.auditConnection(tx, audit.ConnectionRequested, actor, c)
}

func (s *Service) holdConnect(tx node.Tx, actor node.Actor, c Connection, decision policy.Decision) (Result, error) {
	c.Status = PendingOwner
	_, reasons := decision.NeedApproval()
	held := map[string]string{}
	for name, reason := range reasons {
		held[name] = string(reason)
	}
	parameters, err := node.Canonical(connectParameters(c))
	if err != nil {
		return Result{}, node.Wrap(err, "write approval parameters")
	}
	approval, err := s.Approvals.Request(tx, actor, approvals.Request{
		AgentID: c.AgentID, OwnerID: c.OwnerID, Kind: approvals.Connection, Action: policy.ConnectionRequest,
		ConnectionID: c.ID, Contact: c.Contact, Subject: c.ID, Parameters: parameters, Held: held,
	})
	if err != nil {
		return Result{}, err
	}
	c.ApprovalID = approval.ID
	if err := s.introduce(tx, &c); err != nil {
		return Result{}, err
	}
	if err := s.Store.InsertConnection(tx, c); err != nil {
		return Result{}, err
	}
	return Result{Status: StatusPendingOwner, ID: c.ID, ApprovalID: approval.ID}, nil
}

// connectParameters is what the owner sees of a request to connect.
func connectParameters(c Connection) map[string]any {
	return map[string]any{"address": c.Contact, "fingerprint": c.Peer.Fingerprint, "note": c.Note}
}

func (s *Service) auditConnection(tx node.Tx, event audit.Type, actor node.Actor, c Connection) error {
	return s.audit(tx, audit.Event{
		Type: event, Actor: actor, AgentID: c.AgentID, ConnectionID: c.ID, Subject: c.ID,
		Data: map[string]any{"contact": c.Contact, "fingerprint": c.Peer.Fingerprint, "status": string(c.Status)},
	})
}

func checkNote(note string) error {
	if !within(note, 0, wire.MaxNote) {
		return node.BadFields(node.Field{Field: "note", Problem: "must have at most 500 characters"})
	}
	return nil
}
