package coordination

import (
	"time"

	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/identity"
)

// A node's key changes by a statement that the old key signs. Each contact is told,
// and until its owner has accepted, what is for it is signed with the key that it
// knows: Connection.KnownKey. How it goes on is in docs/adr/0017.

const (
	// KeyPatience is how long an earlier key is kept for contacts that have not accepted
	// the newer one. Then it is erased, and they stand as "key changed".
	KeyPatience = 30 * 24 * time.Hour
	// LettersLife is how long what was sealed for an earlier key can still be opened: no
	// envelope is under way for longer.
	LettersLife = wire.MaxDeadline + wire.ConfirmLife + 24*time.Hour
	// tellAgain is how long it takes until a contact that has not decided is told again.
	tellAgain = 24 * time.Hour
)

// today is our key as peers should see it. A node without Keys has one for ever.
func (s *Service) today(tx node.Tx) (fingerprint, recipient string, err error) {
	if s.Keys == nil {
		return s.Self.Fingerprint, s.Self.Recipient, nil
	}
	key, err := s.Keys.Today(tx)
	return key.Fingerprint, key.Recipient, err
}

// introduce notes that a contact is going to know us by today's key.
func (s *Service) introduce(tx node.Tx, c *Connection) error {
	if s.Keys == nil {
		return nil
	}
	fingerprint, _, err := s.today(tx)
	c.KnownKey = fingerprint
	return err
}

// signsAs is the key that we sign with for a contact; "" is today's. It is that too
// where the one that the contact knows is gone.
func (s *Service) signsAs(c Connection) string {
	if s.Keys == nil {
		return ""
	}
	return s.Keys.Signer.Held(c.KnownKey)
}

// KeyRotation is what came of a rotation.
type KeyRotation struct {
	Before, After string // fingerprints
	Told          int    // contacts that are told
}

// RotateKey makes new keys for this node and tells every active contact, all in one
// transaction. Code: conflict where too many earlier keys are still in use.
func (s *Service) RotateKey(tx node.Tx, actor node.Actor) (KeyRotation, error) {
	before, after, err := s.Keys.Rotate(tx, actor.OwnerID, s.Self.Host)
	if err != nil {
		return KeyRotation{}, err
	}
	if err := s.Store.FillKnownKey(tx, before.Fingerprint); err != nil {
		return KeyRotation{}, err
	}
	done := KeyRotation{Before: before.Fingerprint, After: after.Fingerprint}
	err = s.eachConnection(tx, func(c Connection) error {
		told, err := s.rotated(tx, actor, c, after)
		if told {
			done.Told++
		}
		return err
	})
	if err != nil {
		return KeyRotation{}, err
	}
	return done, s.audit(tx, audit.Event{Type: audit.KeyRotated, Actor: actor, Data: map[string]any{
		"before": done.Before, "fingerprint": done.After, "told": done.Told,
	}})
}

// rotated is what a new key of ours means for one connection.
func (s *Service) rotated(tx node.Tx, actor node.Actor, listed Connection, after identity.Key) (told bool, err error) {
	if listed.Status.Ended() {
		return false, nil
	}
	c, err := s.Store.LockConnection(tx, listed.ID)
	if err != nil {
		return false, err
	}
	actor.AgentID = c.AgentID
	switch {
	case s.withinNode(c):
		return false, s.rotatedWithin(tx, actor, c, after)
	case c.Status == PendingOwner: // nothing has left: the contact will know only the new key
		c.KnownKey = after.Fingerprint
		return false, s.Store.SaveConnection(tx, c, c.Status)
	case c.Status == PendingOutgoing:
		return false, s.requestAnew(tx, actor, c, after)
	case c.Status == ConnActive:
		c.KeyDeclined = false
		return true, s.tellKey(tx, actor, c)
	}
	return false, nil
}

// withinNode says whether both ends of a connection are agents of this node.
func (s *Service) withinNode(c Connection) bool {
	contact, err := node.ParseAddress(c.Contact)
	return err == nil && contact.Host == s.Self.Host
}

// rotatedWithin follows the rotation on the other end too: it is the same node, and
// the same owner who wants it.
func (s *Service) rotatedWithin(tx node.Tx, actor node.Actor, c Connection, after identity.Key) error {
	c.Peer.Earlier = c.Peer.withEarlier(tx.Now())
	c.Peer.Fingerprint, c.Peer.PublicKey, c.Peer.Recipient = after.Fingerprint, after.PublicKey, after.Recipient
	c.KnownKey, c.UpdatedAt = after.Fingerprint, tx.Now()
	if err := s.Store.SaveConnection(tx, c, c.Status); err != nil || c.Status != PendingOutgoing {
		return err
	}
	return s.requestAnew(tx, actor, c, after)
}

// requestAnew asks once more, under the new key, where a request to connect has not
// been answered: who reads our card now finds no key there that signed the first.
// A request that has arrived rests on the key that it was signed with.
func (s *Service) requestAnew(tx node.Tx, actor node.Actor, c Connection, after identity.Key) error {
	asked, err := s.lockedMessage(tx, c.AgentID, c.RequestID)
	if err != nil {
		return ignoreNotFound(err)
	}
	if asked.Status != MsgQueued {
		return nil
	}
	var request wire.Request
	if err := node.Decode(asked.Content, &request); err != nil {
		return err
	}
	if err := s.fail(tx, actor, asked, wire.CodeKeyRetired); err != nil {
		return err
	}
	if asked.Author != authorOwner {
		actor = nodeActor(c.OwnerID, c.AgentID)
	}
	c.KnownKey, request.Recipient = after.Fingerprint, after.Recipient
	m, err := s.noticeFor(tx, c, wire.ConnectionRequest, request, asked.Needs, actor)
	if err != nil {
		return err
	}
	c.RequestID, c.UpdatedAt = m.ID, tx.Now()
	return s.Store.SaveConnection(tx, c, c.Status)
}

// tellKey queues the statements that lead the contact from the key that it knows
// to today's. c is locked, and is saved.
func (s *Service) tellKey(tx node.Tx, actor node.Actor, c Connection) error {
	links, known, err := s.Keys.Chain(tx, c.KnownKey)
	if err != nil || !known || len(links) == 0 {
		return err
	}
	if err := s.dropTellings(tx, actor, c); err != nil {
		return err
	}
	var rotation wire.Rotation
	for _, link := range links {
		rotation.Chain = append(rotation.Chain, link.Statement)
	}
	if _, err := s.notice(tx, c, wire.KeyRotate, rotation, actor); err != nil {
		return err
	}
	c.KeyToldAt = tx.Now()
	return s.Store.SaveConnection(tx, c, c.Status)
}

// dropTellings takes back what was queued about a key that is no longer today's.
func (s *Service) dropTellings(tx node.Tx, actor node.Actor, c Connection) error {
	return s.eachQueued(tx, c, func(m Message) error {
		if m.Type != wire.KeyRotate {
			return nil
		}
		return s.fail(tx, actor, m, wire.CodeKeyRetired)
	})
}

// tellNewcomer serves a contact that has known us since before our key was replaced,
// and has become active only now.
func (s *Service) tellNewcomer(tx node.Tx, c Connection) error {
	if s.Keys == nil || c.KnownKey == "" {
		return nil
	}
	return s.tellKey(tx, nodeActor(c.OwnerID, c.AgentID), c)
}
