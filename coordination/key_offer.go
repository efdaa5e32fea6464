package coordination

import (
	"cmp"
	"slices"
	"time"

	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/seal"
	"agentlink/node/token"
)

// What a contact's node says of a new key of its own, and what our owner decides.

// maxEarlier is how many earlier keys of a contact are remembered.
const maxEarlier = 32

// receiveRotation puts a new key of the contact's before our owner. Nothing changes
// until the owner has accepted it.
func (s *Service) receiveRotation(tx node.Tx, r *receiving) (wire.Ack, error) {
	c := r.connection
	if c.Status != ConnActive {
		return s.reject(tx, r, wire.CodeNotConnected)
	}
	var rotation wire.Rotation
	if node.Decode(r.Inner.Content, &rotation) != nil {
		return s.reject(tx, r, wire.CodeBadContent)
	}
	offer, err := offerOf(c, rotation, tx.Now())
	if err != nil {
		return s.reject(tx, r, wire.CodeBadKey)
	}
	switch taken, err := s.keyTaken(tx, c, offer.Fingerprint); {
	case err != nil:
		return wire.Ack{}, err
	case taken:
		return s.reject(tx, r, wire.CodeBadKey)
	case slices.Contains(c.RefusedKeys, offer.Fingerprint):
		return s.reject(tx, r, wire.CodeKeyRefused)
	}
	if err := s.store(tx, r, r.message(tx)); err != nil {
		return wire.Ack{}, err
	}
	return applied(), s.offered(tx, c, offer)
}

// offerOf follows the statements from the pinned key.
func offerOf(c Connection, rotation wire.Rotation, now time.Time) (KeyOffer, error) {
	contact, err := node.ParseAddress(c.Contact)
	if err != nil {
		return KeyOffer{}, err
	}
	keys, err := token.Follow(contact.Host, c.Peer.PublicKey, rotation.Chain, now)
	if err != nil {
		return KeyOffer{}, err
	}
	last := keys[len(keys)-1]
	if !seal.ValidRecipient(last.Recipient) || c.Peer.had(last.Fingerprint) {
		return KeyOffer{}, node.Errorf(node.BadRequest, "The key cannot take the place of the known one.")
	}
	offer := KeyOffer{Fingerprint: last.Fingerprint, PublicKey: last.Key, Recipient: last.Recipient, At: now}
	for _, key := range keys[:len(keys)-1] {
		offer.Via = append(offer.Via, key.Fingerprint)
	}
	return offer, nil
}

// had says whether a key was this node's before its present one: such a key never
// comes back.
func (p Peer) had(fingerprint string) bool {
	return slices.ContainsFunc(p.Earlier, func(e EarlierKey) bool { return e.Fingerprint == fingerprint })
}

// withEarlier is Earlier once the present key is no longer it.
func (p Peer) withEarlier(now time.Time) []EarlierKey {
	all := append(slices.Clone(p.Earlier), EarlierKey{Fingerprint: p.Fingerprint, PublicKey: p.PublicKey, Until: now})
	return all[max(0, len(all)-maxEarlier):]
}

// keyTaken says whether a key is ours, or that of a contact on another host: then
// whoever announces it has not made it.
func (s *Service) keyTaken(tx node.Tx, c Connection, fingerprint string) (bool, error) {
	if fingerprint == s.Self.Fingerprint {
		return true, nil
	}
	if s.Keys != nil {
		if _, ours, err := s.Keys.Chain(tx, fingerprint); err != nil || ours {
			return ours, err
		}
	}
	holders, err := s.Store.ConnectionsByKey(tx, fingerprint)
	return slices.ContainsFunc(holders, func(other Connection) bool { return hostOf(other) != hostOf(c) }), err
}

func hostOf(c Connection) string {
	contact, err := node.ParseAddress(c.Contact)
	if err != nil {
		return ""
	}
	return contact.Host
}

// offered compares a new key with one that waits for our owner already. One that
// follows from that takes its place; one that comes before it is late; any other
// contradicts it, and then none of the two can be accepted.
func (s *Service) offered(tx node.Tx, c Connection, offer KeyOffer) error {
	event := audit.ConnectionKeyOffered
	switch waiting := c.Offer; {
	case waiting == nil:
		c.Offer = &offer
	case waiting.Fingerprint == offer.Fingerprint, slices.Contains(waiting.Via, offer.Fingerprint):
		return nil
	case slices.Contains(offer.Via, waiting.Fingerprint):
		offer.Disputed = waiting.Disputed
		c.Offer = &offer
	case waiting.Disputed != "":
		return nil
	default:
		waiting.Disputed, event = offer.Fingerprint, audit.ConnectionKeyDisputed
	}
	c.UpdatedAt = tx.Now()
	if err := s.Store.SaveConnection(tx, c, c.Status); err != nil {
		return err
	}
	return s.auditKey(tx, event, peerActor(c.OwnerID, c.AgentID), c, map[string]any{
		"before": c.Peer.Fingerprint, "fingerprint": c.Offer.Fingerprint, "disputed": c.Offer.Disputed,
	})
}

func (s *Service) auditKey(tx node.Tx, event audit.Type, actor node.Actor, c Connection, data map[string]any) error {
	data["contact"] = c.Contact
	return s.audit(tx, audit.Event{
		Type: event, Actor: actor, AgentID: c.AgentID, ConnectionID: c.ID, Subject: c.ID, Data: data,
	})
}

// AcceptKey is the owner's yes to the new key of a contact's node, named by its
// fingerprint so that it is the one that the owner has seen. It holds for every
// connection with that node that waits for the same. Codes: not_found, conflict
// (bad_state) where there is no such key to accept.
func (s *Service) AcceptKey(tx node.Tx, actor node.Actor, id, fingerprint string) (Connection, error) {
	c, err := s.offerToDecide(tx, id, fingerprint)
	if err != nil {
		return c, err
	}
	if c.Offer.Disputed != "" {
		return c, node.ConflictFor(node.ReasonBadState,
			"Two different new keys were announced with the same old one, so that one of them is a thief's. End the connection and connect again.")
	}
	alike, err := s.Store.ConnectionsByKey(tx, c.Peer.Fingerprint)
	if err != nil {
		return c, err
	}
	slices.SortFunc(alike, func(a, b Connection) int { return cmp.Compare(a.ID, b.ID) })
	for _, listed := range alike {
		other, err := s.Store.LockConnection(tx, listed.ID)
		if err != nil {
			return c, err
		}
		if !sameOffer(c, other) {
			continue
		}
		actor.AgentID = other.AgentID
		if err := s.takeKey(tx, actor, other); err != nil {
			return c, err
		}
	}
	return s.Store.Connection(tx, id)
}

func sameOffer(a, b Connection) bool {
	return b.Status == ConnActive && b.Offer != nil && b.Offer.Disputed == "" && b.Offer.Fingerprint == a.Offer.Fingerprint && hostOf(a) == hostOf(b)
}

func (s *Service) offerToDecide(tx node.Tx, id, fingerprint string) (Connection, error) {
	c, err := s.Store.LockConnection(tx, id)
	if err == nil && (c.Status != ConnActive || c.Offer == nil || c.Offer.Fingerprint != fingerprint) {
		err = node.ConflictFor(node.ReasonBadState, "This new key does not wait for a decision. Look at the contact again.")
	}
	return c, err
}

// takeKey pins the offered key of one connection and tells the contact.
func (s *Service) takeKey(tx node.Tx, actor node.Actor, c Connection) error {
	before, offer := c.Peer.Fingerprint, *c.Offer
	c.Peer.Earlier = c.Peer.withEarlier(tx.Now())
	c.Peer.Fingerprint, c.Peer.PublicKey, c.Peer.Recipient = offer.Fingerprint, offer.PublicKey, offer.Recipient
	c.Offer, c.RefusedKeys, c.UpdatedAt = nil, nil, tx.Now()
	// The mark falls where it was theirs; where our own old key is gone, it stays.
	c.KeyChanged = c.KeyChanged && s.lostToContact(c)
	if err := s.Store.SaveConnection(tx, c, c.Status); err != nil {
		return err
	}
	if err := s.Agents.BumpRules(tx, c.AgentID); err != nil {
		return err
	}
	err := s.auditKey(tx, audit.ConnectionKeyAccepted, actor, c, map[string]any{"before": before, "fingerprint": offer.Fingerprint})
	if err != nil {
		return err
	}
	_, err = s.notice(tx, c, wire.KeyAnswer, wire.KeyDecision{Fingerprint: offer.Fingerprint, Accepted: true}, actor)
	return err
}

// lostToContact says that we can no longer sign as the contact knows us.
func (s *Service) lostToContact(c Connection) bool {
	return s.Keys != nil && c.KnownKey != "" && !s.Keys.Signer.Holds(c.KnownKey)
}

// RefuseKey is the owner's no to the new key of a contact's node. What comes signed
// with the known key counts as before. Codes: as AcceptKey.
func (s *Service) RefuseKey(tx node.Tx, actor node.Actor, id, fingerprint string) (Connection, error) {
	c, err := s.offerToDecide(tx, id, fingerprint)
	if err != nil {
		return c, err
	}
	offer := *c.Offer
	c.RefusedKeys = append(c.RefusedKeys, offer.Fingerprint)
	if offer.Disputed != "" {
		c.RefusedKeys = append(c.RefusedKeys, offer.Disputed)
	}
	c.RefusedKeys = c.RefusedKeys[max(0, len(c.RefusedKeys)-maxEarlier):]
	c.Offer, c.UpdatedAt = nil, tx.Now()
	if err := s.Store.SaveConnection(tx, c, c.Status); err != nil {
		return c, err
	}
	err = s.auditKey(tx, audit.ConnectionKeyRefused, actor, c, map[string]any{"before": c.Peer.Fingerprint, "fingerprint": offer.Fingerprint})
	if err != nil {
		return c, err
	}
	if _, err := s.notice(tx, c, wire.KeyAnswer, wire.KeyDecision{Fingerprint: offer.Fingerprint}, actor); err != nil {
		return c, err
	}
	return s.Store.Connection(tx, id)
}
