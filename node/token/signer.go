package token

import (
	"crypto/ed25519"
	"sync/atomic"

	"agentlink/node"
)

// Signer signs with the node's keys: with today's, and for those who have not
// accepted it yet, with an earlier one. It is safe for concurrent use.
type Signer struct {
	keys atomic.Pointer[keyRing]
}

// keyRing is replaced as a whole.
type keyRing struct {
	today *held
	all   map[string]*held // by fingerprint
}

type held struct {
	private     ed25519.PrivateKey // nil once it was erased
	public      ed25519.PublicKey
	fingerprint string
}

// Earlier is a key that today's has replaced.
type Earlier struct {
	Public ed25519.PublicKey
	// Private is nil once it was erased: what it has signed is still recognised.
	Private ed25519.PrivateKey
}

// NewSigner makes a signer. A key of the wrong length panics: it never comes
// from outside.
func NewSigner(key ed25519.PrivateKey) *Signer {
	s := &Signer{}
	s.Replace(key, nil)
	return s
}

// Replace makes another key today's, at once for everybody who holds the signer.
func (s *Signer) Replace(today ed25519.PrivateKey, earlier []Earlier) {
	public, ok := today.Public().(ed25519.PublicKey)
	if !ok || len(today) != ed25519.PrivateKeySize {
		panic("token: this is no Ed25519 key")
	}
	ring := &keyRing{today: &held{private: today, public: public, fingerprint: Fingerprint(public)}, all: map[string]*held{}}
	for _, e := range earlier {
		fingerprint := Fingerprint(e.Public)
		ring.all[fingerprint] = &held{private: e.Private, public: e.Public, fingerprint: fingerprint}
	}
	ring.all[ring.today.fingerprint] = ring.today
	s.keys.Store(ring)
}

// Fingerprint names today's key.
func (s *Signer) Fingerprint() string { return s.keys.Load().today.fingerprint }

// PublicKey is what others verify with.
func (s *Signer) PublicKey() ed25519.PublicKey { return s.keys.Load().today.public }

// Key is the public key with this fingerprint, if it is, or was, the node's.
func (s *Signer) Key(fingerprint string) (key ed25519.PublicKey, ours bool) {
	if k := s.keys.Load().all[fingerprint]; k != nil {
		return k.public, true
	}
	return nil, false
}

// KeyOf is Key, or today's key where the fingerprint is not of the node's.
func (s *Signer) KeyOf(fingerprint string) ed25519.PublicKey {
	if key, ours := s.Key(fingerprint); ours {
		return key
	}
	return s.PublicKey()
}

// Holds says whether SignAs can sign with a key.
func (s *Signer) Holds(fingerprint string) bool {
	k := s.keys.Load().all[fingerprint]
	return k != nil && k.private != nil
}

// Held is a fingerprint that SignAs can sign with: the given one, or "" for today's
// where that key is gone.
func (s *Signer) Held(fingerprint string) string {
	if s.Holds(fingerprint) {
		return fingerprint
	}
	return ""
}

// SignAs signs with the key that somebody knows the node by; "" is today's.
// Codes: as Sign, and unavailable where the node has no such key any more.
func (s *Signer) SignAs(fingerprint string, kind Kind, claims any) (string, error) {
	ring := s.keys.Load()
	k := ring.today
	if fingerprint != "" {
		k = ring.all[fingerprint]
	}
	if k == nil || k.private == nil {
		return "", node.Errorf(node.Unavailable, "The node no longer has the key that this was to be signed with.")
	}
	return k.sign(kind, claims)
}

// SignedWith is the fingerprint of the key that something says to be signed with; ""
// where it says nothing. It verifies nothing.
func SignedWith(kind Kind, compact string) string {
	parts, err := split(kind, compact)
	if err != nil {
		return ""
	}
	return parts.header.Kid
}

// OpenOwn verifies what this node has signed itself, with whichever of its keys.
// Codes: as Open.
func (s *Signer) OpenOwn(kind Kind, compact string, into any) error {
	parts, err := split(kind, compact)
	if err != nil {
		return err
	}
	key, ours := s.Key(parts.header.Kid)
	if !ours {
		return invalid()
	}
	return Open(kind, key, compact, into)
}
