package coordination

import (
	"slices"
	"time"

	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/identity"
)

// What contacts say to a new key of ours.

// receiveDecision takes what the owner over there has decided about our new key.
func (s *Service) receiveDecision(tx node.Tx, r *receiving) (wire.Ack, error) {
	if r.connection.Status != ConnActive {
		return s.reject(tx, r, wire.CodeNotConnected)
	}
	var decision wire.KeyDecision
	if node.Decode(r.Inner.Content, &decision) != nil {
		return s.reject(tx, r, wire.CodeBadContent)
	}
	newer, err := s.newerKey(tx, r.connection, decision.Fingerprint)
	if err != nil {
		return wire.Ack{}, err
	}
	if !newer && decision.Fingerprint != r.connection.KnownKey {
		return s.reject(tx, r, wire.CodeBadKey)
	}
	if err := s.store(tx, r, r.message(tx)); err != nil || !newer {
		return applied(), err
	}
	if decision.Accepted {
		r.connection, err = s.knownAs(tx, r.connection, decision.Fingerprint)
		return applied(), err
	}
	return applied(), s.declined(tx, r.connection, decision.Fingerprint)
}

// newerKey says whether a fingerprint is of a key of ours that came after the one
// that the contact knows.
func (s *Service) newerKey(tx node.Tx, c Connection, fingerprint string) (bool, error) {
	if s.Keys == nil || c.KnownKey == "" {
		return false, nil
	}
	links, _, err := s.Keys.Chain(tx, c.KnownKey)
	return slices.ContainsFunc(links, func(l identity.Link) bool { return l.To == fingerprint }), err
}

// knownAs notes that the contact goes by a newer key of ours. Where today's is
// another one still, it is told of that.
func (s *Service) knownAs(tx node.Tx, c Connection, fingerprint string) (Connection, error) {
	actor := peerActor(c.OwnerID, c.AgentID)
	if err := s.dropTellings(tx, actor, c); err != nil {
		return c, err
	}
	before := c.KnownKey
	// The mark was for our old key that is gone, if it was: the contact had no other reason.
	c.KeyChanged = c.KeyChanged && !s.lostToContact(c)
	c.KnownKey, c.KeyDeclined, c.KeyToldAt, c.UpdatedAt = fingerprint, false, time.Time{}, tx.Now()
	if err := s.Store.SaveConnection(tx, c, c.Status); err != nil {
		return c, err
	}
	err := s.auditKey(tx, audit.ConnectionKeyKnown, actor, c, map[string]any{"before": before, "fingerprint": fingerprint})
	if err != nil {
		return c, err
	}
	return c, s.tellKey(tx, nodeActor(c.OwnerID, c.AgentID), c)
}

// declined notes that the owner over there does not accept a newer key of ours.
func (s *Service) declined(tx node.Tx, c Connection, fingerprint string) error {
	today, _, err := s.today(tx)
	if err != nil || today != fingerprint || c.KeyDeclined {
		return err
	}
	c.KeyDeclined, c.KeyToldAt, c.UpdatedAt = true, time.Time{}, tx.Now()
	if err := s.Store.SaveConnection(tx, c, c.Status); err != nil {
		return err
	}
	return s.auditKey(tx, audit.ConnectionKeyDeclined, peerActor(c.OwnerID, c.AgentID), c, map[string]any{"fingerprint": fingerprint})
}

// lockFor locks the connection of a message before the message itself, where an
// answer to it is about our key.
func (s *Service) lockFor(tx node.Tx, agentID string, ack wire.Ack) error {
	if ack.Code != wire.CodeKeyRetired && ack.Code != wire.CodeKeyRefused {
		return nil
	}
	m, err := s.Store.Message(tx, agentID, ack.Ref)
	if err == nil {
		_, err = s.Store.LockConnection(tx, m.ConnectionID)
	}
	return err
}

// keyRetired takes the answer that a message was signed with a key that the contact
// goes by no longer. It was not looked at and never will be as it is, so that it
// may be signed anew. Where the contact knows a key that this copy of the node
// does not have, everything to it stops.
func (s *Service) keyRetired(tx node.Tx, m Message, ack wire.Ack) (done bool, err error) {
	c, err := s.Store.LockConnection(tx, m.ConnectionID)
	if err != nil {
		return false, err
	}
	newer, err := s.newerKey(tx, c, ack.Key)
	switch {
	case err != nil:
		return false, err
	case newer:
		if _, err := s.knownAs(tx, c, ack.Key); err != nil {
			return false, err
		}
	case ack.Key != c.KnownKey:
		if err := s.MarkKeyChanged(tx, c); err != nil {
			return false, err
		}
	}
	if m, err = s.Store.Message(tx, m.AgentID, m.ID); err != nil || m.Status != MsgQueued {
		return true, err // it was about a key, and fell with the news
	}
	m.Envelope, m.Sha256 = nil, ""
	return false, s.Store.SaveMessage(tx, m, MsgQueued)
}

// keyRefused takes the answer that the owner over there has refused the key that m
// announces.
func (s *Service) keyRefused(tx node.Tx, m Message) error {
	c, err := s.Store.LockConnection(tx, m.ConnectionID)
	if err != nil {
		return err
	}
	today, _, err := s.today(tx)
	if err != nil {
		return err
	}
	return s.declined(tx, c, today)
}
