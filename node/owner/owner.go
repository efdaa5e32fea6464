// Package owner holds the one person whom a node belongs to, and how they come
// in: the password with which decisions and changes of rules are confirmed on the
// command line, and passkeys, recovery codes, one-time links and sessions for the
// dashboard. It is the only importer of webauthn.
package owner

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"agentlink/node"
	"agentlink/node/audit"
)

// Owner is the person whom the node belongs to.
type Owner struct {
	ID        string
	Name      string // sealed at rest
	CreatedAt time.Time
}

// Store keeps the owner. Every guess at the password, or at what else opens the
// node, is a row, so that the limit holds for all replicas together and over
// restarts.
type Store interface {
	// InsertOwner stores the node's owner. It does nothing and gives false where
	// there is one already.
	InsertOwner(tx node.Tx, owner Owner, passwordHash string) (bool, error)
	// Owner gives the owner. Code: not_found where there is none.
	Owner(tx node.Tx) (Owner, error)
	// LockOwner gives the owner and the password's hash, and keeps other
	// transactions from LockOwner until this one ends. Code: not_found.
	LockOwner(tx node.Tx) (owner Owner, passwordHash string, err error)
	// OwnerPassword gives the password's hash. Code: not_found.
	OwnerPassword(tx node.Tx) (passwordHash string, err error)
	// SetOwnerPassword replaces the hash. Code: not_found.
	SetOwnerPassword(tx node.Tx, ownerID, passwordHash string) error

	// InsertGuess counts a guess of a kind.
	InsertGuess(tx node.Tx, bucket, id string, at time.Time) error
	// DeleteGuess forgets a guess that was right.
	DeleteGuess(tx node.Tx, id string) error
	// Guesses forgets the guesses of since and before, of every kind, and gives
	// the number of the later ones of this kind and the time of the oldest of
	// these.
	Guesses(tx node.Tx, bucket string, since time.Time) (count int, oldest time.Time, err error)
}

// Service is what can be done about the owner.
type Service struct {
	db    node.DB
	store Store
	log   *audit.Log
	ids   node.IDs
	// checking has room for one check of a password.
	checking chan struct{}
}

// New makes the service.
func New(db node.DB, store Store, log *audit.Log, ids node.IDs) *Service {
	return &Service{db: db, store: store, log: log, ids: ids, checking: make(chan struct{}, 1)}
}

// MaxNameChars is how long an owner's name is at most.
const MaxNameChars = 120

// Create makes the node's only owner; the zero Password is none. Codes:
// bad_request, conflict where there is one already.
func (s *Service) Create(tx node.Tx, actor node.Actor, name string, password Password) (Owner, error) {
	if err := checkName(name); err != nil {
		return Owner{}, err
	}
	owner := Owner{ID: s.ids.New(), Name: name, CreatedAt: tx.Now()}
	inserted, err := s.store.InsertOwner(tx, owner, password.stored())
	if err != nil {
		return Owner{}, err
	}
	if !inserted {
		return Owner{}, node.ConflictFor(node.ReasonBadState, "The node has an owner already.")
	}
	actor.OwnerID = owner.ID
	err = s.log.Append(tx, audit.Event{Type: audit.OwnerCreated, Actor: actor, Subject: owner.ID})
	return owner, err
}

func checkName(name string) error {
	if strings.TrimSpace(name) == "" || !utf8.ValidString(name) || utf8.RuneCountInString(name) > MaxNameChars {
		return node.BadFields(node.Field{Field: "name", Problem: fmt.Sprintf("must have 1 to %d characters", MaxNameChars)})
	}
	return nil
}

// Owner gives the node's owner. Code: not_found before Create.
func (s *Service) Owner(tx node.Tx) (Owner, error) { return s.store.Owner(tx) }

// HasPassword says whether the owner has one. Code: not_found before Create.
func (s *Service) HasPassword(tx node.Tx) (bool, error) {
	hash, err := s.store.OwnerPassword(tx)
	return err == nil && !Password{phc: hash}.none(), err
}

// SetPassword replaces the password. Whether the caller may do so is for the
// caller to check (CheckPassword with the old one). Code: not_found.
func (s *Service) SetPassword(tx node.Tx, actor node.Actor, password Password) error {
	owner, _, err := s.store.LockOwner(tx)
	if err != nil {
		return err
	}
	if err := s.store.SetOwnerPassword(tx, owner.ID, password.stored()); err != nil {
		return err
	}
	actor.OwnerID = owner.ID
	return s.log.Append(tx, audit.Event{Type: audit.OwnerPasswordSet, Actor: actor, Subject: owner.ID})
}
