package owner

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"time"

	"agentlink/node"
	"agentlink/node/audit"
)

// AccessStore keeps what lets the owner into the dashboard. Secrets come to it as
// SHA-256, hex: each has at least 128 random bits, so that nobody finds one by
// trying, and a slow hash would only slow the node.
type AccessStore interface {
	// InsertSession stores a session by the hash of its cookie's value.
	InsertSession(tx node.Tx, session Session, hash string) error
	// SessionByHash gives a session without its client. Code: not_found.
	SessionByHash(tx node.Tx, hash string) (Session, error)
	// SessionByID does the same by id. Code: not_found.
	SessionByID(tx node.Tx, id string) (Session, error)
	// Sessions lists them with their clients, the last seen first, at most
	// MaxSessions.
	Sessions(tx node.Tx) ([]Session, error)
	// TouchSession sets when a session was last seen and when its owner was before
	// that, unless it was seen later.
	TouchSession(tx node.Tx, id string, at, previous time.Time) error
	// SeeOwner sets when the owner was last seen in any session, and gives what
	// that was before; zero at first. Code: not_found.
	SeeOwner(tx node.Tx, at time.Time) (before time.Time, err error)
	// ConfirmSession sets when its owner last signed in. Code: not_found.
	ConfirmSession(tx node.Tx, id string, at time.Time) error
	// DeleteSession says whether there was one.
	DeleteSession(tx node.Tx, id string) (bool, error)
	// DeleteOverSessions forgets those last seen at idle or before, or opened at
	// opened or before.
	DeleteOverSessions(tx node.Tx, idle, opened time.Time) error

	// InsertLink stores a one-time link by the hash of its secret, and forgets
	// those that were over at forget.
	InsertLink(tx node.Tx, link Link, hash string, forget time.Time) error
	// UseLink marks a link as used, unless it was or is over.
	UseLink(tx node.Tx, hash string, purpose Purpose) (bool, error)
	// LinkByHash gives a link, used or not. Code: not_found.
	LinkByHash(tx node.Tx, hash string) (Link, error)
	// DeleteLinks forgets all links of a purpose.
	DeleteLinks(tx node.Tx, purpose Purpose) error

	// InsertPasskey says false where the authenticator's credential is known.
	InsertPasskey(tx node.Tx, passkey Passkey) (bool, error)
	// Passkeys lists them, the oldest first.
	Passkeys(tx node.Tx) ([]Passkey, error)
	// LockPasskey gives the passkey of a credential and keeps other transactions
	// off it until this one ends. Code: not_found.
	LockPasskey(tx node.Tx, credentialID []byte) (Passkey, error)
	// UsedPasskey stores the credential as it is after its use, and the time.
	UsedPasskey(tx node.Tx, passkey Passkey) error
	// DeletePasskey says whether there was one.
	DeletePasskey(tx node.Tx, id string) (bool, error)

	// SpendChallenge remembers a challenge until it is over; false where it was
	// spent before.
	SpendChallenge(tx node.Tx, hash string, over time.Time) (bool, error)

	// ReplaceRecoveryCodes stores new codes in the place of all others.
	ReplaceRecoveryCodes(tx node.Tx, ownerID string, hashes []string) error
	// UseRecoveryCode says whether there was such a code, unused.
	UseRecoveryCode(tx node.Tx, hash string) (bool, error)
	// RecoveryCodes says how many are unused and when they were made; the zero
	// time where there are none, used or not.
	RecoveryCodes(tx node.Tx) (left int, madeAt time.Time, err error)
}

// Access is how the owner comes into the dashboard.
type Access struct {
	db    node.DB
	store AccessStore
	owner *Service
	log   *audit.Log
	ids   node.IDs
	key   []byte
	sites []Site
}

// AccessConfig is what Access needs.
type AccessConfig struct {
	DB    node.DB
	Store AccessStore
	Owner *Service
	Audit *audit.Log
	IDs   node.IDs
	// Key is the subkey of the master key for sessions.
	Key []byte
	// Fingerprint is the node's; its cookie bears the first 8 characters, since
	// cookies ignore ports.
	Fingerprint string
	// Origins are scheme and host[:port] under which the owner reaches the
	// dashboard. Links lead to the first.
	Origins []string
}

// NewAccess makes the service.
func NewAccess(c AccessConfig) (*Access, error) {
	a := &Access{db: c.DB, store: c.Store, owner: c.Owner, log: c.Audit, ids: c.IDs, key: c.Key}
	for _, origin := range c.Origins {
		site, err := newSite(origin, c.Fingerprint)
		if err != nil {
			return nil, err
		}
		a.sites = append(a.sites, site)
	}
	if len(a.sites) == 0 {
		return nil, errors.New("the dashboard has no address")
	}
	return a, nil
}

// mac is a keyed hash over texts of which none can run into the next.
func (a *Access) mac(label string, parts ...string) []byte {
	mac := hmac.New(sha256.New, a.key)
	for _, part := range append([]string{label}, parts...) {
		_ = binary.Write(mac, binary.BigEndian, uint32(len(part))) // a hash takes everything
		mac.Write([]byte(part))
	}
	return mac.Sum(nil)
}

// newSecret makes 256 random bits as they stand in cookies and links.
func newSecret() string {
	secret := make([]byte, 32)
	rand.Read(secret) // never fails: the program ends first
	return base64.RawURLEncoding.EncodeToString(secret)
}

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
