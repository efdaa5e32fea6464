package socket

import (
	"encoding/base64"
	"time"

	"agentlink/coordination"
	"agentlink/node"
)

// Keys is the node's keys, without what is secret of them.
type Keys struct {
	Fingerprint string       `json:"fingerprint"` // of today's
	PublicKey   string       `json:"publicKey"`   // Ed25519, base64url
	Since       time.Time    `json:"since"`
	Earlier     []EarlierKey `json:"earlier,omitempty"` // the latest first
}

// EarlierKey is a key that the node had.
type EarlierKey struct {
	Fingerprint string    `json:"fingerprint"`
	PublicKey   string    `json:"publicKey"`
	Since       time.Time `json:"since"`
	Until       time.Time `json:"until"`
	// ErasedAt is when its secret part was erased, KeptUntil when that will be at the
	// latest.
	ErasedAt  *time.Time `json:"erasedAt,omitempty"`
	KeptUntil *time.Time `json:"keptUntil,omitempty"`
	// Waiting are the connections whose contact still goes by it; More says that there
	// are others.
	Waiting []Connection `json:"waiting,omitempty"`
	More    bool         `json:"more,omitempty"`
}

// RotatedKey is what came of a rotation.
type RotatedKey struct {
	Before      string `json:"before"`      // fingerprint
	Fingerprint string `json:"fingerprint"` // of today's
	Told        int    `json:"told"`        // contacts that are told
}

// DecideKey answers the new key of a contact, the one with this fingerprint.
type DecideKey struct {
	ID          string `json:"id"`
	Fingerprint string `json:"fingerprint"`
}

// OfferedKey is a new key that a contact's node has announced.
type OfferedKey struct {
	Fingerprint string    `json:"fingerprint"`
	At          time.Time `json:"at"`
	// Disputed is another one that contradicts it: then none can be accepted.
	Disputed string `json:"disputed,omitempty"`
}

// The commands about keys.
const (
	KeyShow             = "key.show"              // none → Keys
	KeyRotate           = "key.rotate"            // none → RotatedKey
	ConnectionAcceptKey = "connection.accept-key" // DecideKey → Connection
	ConnectionRefuseKey = "connection.refuse-key" // DecideKey → Connection
)

func (s *Server) keyCommands() {
	reads(s, KeyShow, s.showKeys)
	decides(s, KeyRotate, func(tx node.Tx, actor node.Actor, _ none) (RotatedKey, error) {
		done, err := s.Coordination.RotateKey(tx, actor)
		return RotatedKey{Before: done.Before, Fingerprint: done.After, Told: done.Told}, err
	})
	s.decidesKey(ConnectionAcceptKey, s.Coordination.AcceptKey)
	s.decidesKey(ConnectionRefuseKey, s.Coordination.RefuseKey)
}

func (s *Server) decidesKey(name string, decide func(tx node.Tx, actor node.Actor, id, fingerprint string) (coordination.Connection, error)) {
	decides(s, name, func(tx node.Tx, actor node.Actor, r DecideKey) (Connection, error) {
		return s.changeConnection(tx, actor, r.ID, func(tx node.Tx, actor node.Actor, id string) (coordination.Connection, error) {
			return decide(tx, actor, id, r.Fingerprint)
		})
	})
}

func (s *Server) showKeys(tx node.Tx, _ none) (Keys, error) {
	own, err := s.Coordination.OwnKeys(tx)
	if err != nil {
		return Keys{}, err
	}
	keys := Keys{Fingerprint: own.Fingerprint, PublicKey: base64.RawURLEncoding.EncodeToString(own.PublicKey), Since: own.Since}
	for _, k := range own.Earlier {
		earlier := EarlierKey{
			Fingerprint: k.Fingerprint, PublicKey: base64.RawURLEncoding.EncodeToString(k.PublicKey), Since: k.Since, Until: k.Until, More: k.More,
		}
		if earlier.ErasedAt = &k.ErasedAt; k.ErasedAt.IsZero() {
			until := k.KeptUntil()
			earlier.ErasedAt, earlier.KeptUntil = nil, &until
		}
		for _, c := range k.Waiting {
			shown, err := s.connectionView(tx, c)
			if err != nil {
				return Keys{}, err
			}
			earlier.Waiting = append(earlier.Waiting, shown)
		}
		keys.Earlier = append(keys.Earlier, earlier)
	}
	return keys, nil
}

// offeredKey is what the owner sees of a contact's new key; nil where there is none.
func offeredKey(c coordination.Connection) *OfferedKey {
	if c.Offer == nil {
		return nil
	}
	return &OfferedKey{Fingerprint: c.Offer.Fingerprint, At: c.Offer.At, Disputed: c.Offer.Disputed}
}

// earlierKey is the key of ours that a contact knows, where it is not today's.
func (s *Server) earlierKey(c coordination.Connection) string {
	if c.KnownKey == s.Signer.Fingerprint() {
		return ""
	}
	return c.KnownKey
}
