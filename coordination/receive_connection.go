package coordination

import (
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/audit"
)

// receiveRequest takes a contact's request to connect. The owner decides;
// requests that cross are accepted at once, since our owner has approved, or
// made, the outgoing one to that very key.
func (s *Service) receiveRequest(tx node.Tx, r *receiving) (wire.Ack, error) {
	var request wire.Request
	if node.Decode(r.Inner.Content, &request) != nil || !within(request.Note, 0, wire.MaxNote) {
		return s.reject(tx, r, wire.CodeBadContent)
	}
	peer := r.Peer
	if r.connection.ID != "" {
		peer = r.connection.Peer
	}
	if peer.Fingerprint == "" || r.connection.KeyChanged && !s.lostToContact(r.connection) {
		return s.reject(tx, r, wire.CodeNotConnected)
	}
	invited, ok, err := s.redeem(tx, r, request.Secret)
	if err != nil {
		return wire.Ack{}, err
	}
	if !ok {
		return s.reject(tx, r, wire.CodeBadContent)
	}
	switch r.connection.Status {
	case ConnActive:
		return s.reject(tx, r, wire.CodeBadState)
	case PendingOutgoing:
		return applied(), s.crossed(tx, r)
	case PendingIncoming:
		return applied(), s.renewRequest(tx, r, request, invited)
	}
	return applied(), s.newRequest(tx, r, peer, request, invited)
}

// redeem uses an invitation of ours, where the request carries one.
func (s *Service) redeem(tx node.Tx, r *receiving, secret string) (invited, ok bool, err error) {
	if secret == "" {
		return false, true, nil
	}
	used, err := s.Store.UseInvitation(tx, r.agent.ID, hashSecret(secret))
	if err != nil || !used {
		return false, false, err
	}
	return true, true, s.audit(tx, audit.Event{
		Type: audit.InvitationUsed, Actor: peerActor(r.agent.OwnerID, r.agent.ID), AgentID: r.agent.ID, Subject: r.Envelope.JTI,
		Data: map[string]any{"contact": r.Envelope.Iss},
	})
}

// crossed meets our own request with theirs.
func (s *Service) crossed(tx node.Tx, r *receiving) error {
	if err := s.store(tx, r, r.message(tx)); err != nil {
		return err
	}
	c := r.connection
	c.RequestID = r.Envelope.JTI
	return s.accept(tx, peerActor(c.OwnerID, c.AgentID), c)
}

func (s *Service) renewRequest(tx node.Tx, r *receiving, request wire.Request, invited bool) error {
	c := r.connection
	c.RequestID, c.Note, c.UpdatedAt = r.Envelope.JTI, request.Note, tx.Now()
	c.Invited = c.Invited || invited
	if err := s.Store.SaveConnection(tx, c, PendingIncoming); err != nil {
		return err
	}
	return s.store(tx, r, r.message(tx))
}

func (s *Service) newRequest(tx node.Tx, r *receiving, peer Peer, request wire.Request, invited bool) error {
	c := Connection{
		ID: s.IDs.New(), OwnerID: r.agent.OwnerID, AgentID: r.agent.ID, Contact: r.Envelope.Iss, Status: PendingIncoming,
		Peer: peer, RequestID: r.Envelope.JTI, Note: request.Note, Invited: invited,
		CreatedAt: tx.Now(), UpdatedAt: tx.Now(),
	}
	if err := s.introduce(tx, &c); err != nil {
		return err
	}
	if err := s.Store.InsertConnection(tx, c); err != nil {
		return err
	}
	r.connection = c
	if err := s.store(tx, r, r.message(tx)); err != nil {
		return err
	}
	return s.auditConnection(tx, audit.ConnectionReceived, peerActor(c.OwnerID, c.AgentID), c)
}

// receiveNotice takes the contact's answer to our request, or its revocation.
func (s *Service) receiveNotice(tx node.Tx, r *receiving) (wire.Ack, error) {
	var notice wire.Notice
	if node.Decode(r.Inner.Content, &notice) != nil {
		return s.reject(tx, r, wire.CodeBadContent)
	}
	c := r.connection
	about := c.RequestID == notice.Request
	waiting := c.Status == PendingOutgoing && about
	// A revocation that was long on its way may be of an earlier connection: it does
	// not end a later request.
	revocable := c.Status == ConnActive || !c.Status.Ended() && about
	switch {
	case c.ID == "":
		return s.reject(tx, r, wire.CodeConnectionUnknown)
	case r.Envelope.Type == wire.ConnectionAccept && waiting:
		return applied(), s.accepted(tx, r)
	case r.Envelope.Type == wire.ConnectionAccept && c.Status == ConnActive:
		return applied(), s.store(tx, r, r.message(tx)) // the requests crossed
	case r.Envelope.Type == wire.ConnectionReject && waiting:
		return applied(), s.ended(tx, r, ConnRejected, audit.ConnectionRejected)
	case r.Envelope.Type == wire.ConnectionRevoke && revocable:
		return applied(), s.ended(tx, r, ConnRevoked, audit.ConnectionRevoked)
	case r.Envelope.Type == wire.ConnectionRevoke:
		return applied(), s.store(tx, r, r.message(tx)) // that one has ended here too
	}
	return s.reject(tx, r, wire.CodeBadState)
}

func (s *Service) accepted(tx node.Tx, r *receiving) error {
	if err := s.store(tx, r, r.message(tx)); err != nil {
		return err
	}
	c := r.connection
	c.Status, c.UpdatedAt = ConnActive, tx.Now()
	if err := s.Store.SaveConnection(tx, c, PendingOutgoing); err != nil {
		return err
	}
	return s.activated(tx, peerActor(c.OwnerID, c.AgentID), c)
}

func (s *Service) ended(tx node.Tx, r *receiving, status ConnectionStatus, event audit.Type) error {
	if err := s.store(tx, r, r.message(tx)); err != nil {
		return err
	}
	actor := peerActor(r.agent.OwnerID, r.agent.ID)
	c := r.connection
	if err := s.end(tx, actor, c, status, event); err != nil {
		return err
	}
	c.Status = status
	return s.severed(tx, actor, c)
}
