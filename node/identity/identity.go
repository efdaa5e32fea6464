// Package identity holds who a node is to others: its Ed25519 signing key and
// its age recipient. Both are random, made once, and kept sealed.
package identity

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"time"

	"agentlink/node"
	"agentlink/node/seal"
	"agentlink/node/token"
)

// Keys are a node's secret keys. The store seals Seed and AgeIdentity.
type Keys struct {
	ID          string
	Seed        []byte // of the Ed25519 key, 32 bytes
	AgeIdentity string // AGE-SECRET-KEY-1…
	CreatedAt   time.Time
}

// Store keeps the keys.
type Store interface {
	// InsertNodeKeys stores the keys of a node that has none, and does nothing,
	// without an error, where there are some already.
	InsertNodeKeys(tx node.Tx, keys Keys) error
	// NodeKeys gives the node's keys. Code: not_found when it has none.
	NodeKeys(tx node.Tx) (Keys, error)
}

// Identity is the loaded keys. It is safe for concurrent use.
type Identity struct {
	Signer *token.Signer
	// Recipient is what peers seal for: age1…
	Recipient string

	ageIdentity *seal.Identity
}

// LoadOrCreate gives the node's identity and makes it at the first start. Of
// several replicas that start at once one makes it, and all of them load the
// same.
func LoadOrCreate(ctx context.Context, db node.DB, store Store, ids node.IDs) (*Identity, error) {
	keys, err := load(ctx, db, store)
	if node.CodeOf(err) == node.NotFound {
		keys, err = create(ctx, db, store, ids)
	}
	if err != nil {
		return nil, err
	}
	return fromKeys(keys)
}

func load(ctx context.Context, db node.DB, store Store) (keys Keys, err error) {
	err = db.View(ctx, func(tx node.Tx) error {
		keys, err = store.NodeKeys(tx)
		return err
	})
	return keys, err
}

// create reads what it stored: another replica may have been first.
func create(ctx context.Context, db node.DB, store Store, ids node.IDs) (keys Keys, err error) {
	made := newKeys(ids.New())
	err = db.InTx(ctx, func(tx node.Tx) error {
		made.CreatedAt = tx.Now()
		if err := store.InsertNodeKeys(tx, made); err != nil {
			return err
		}
		keys, err = store.NodeKeys(tx)
		return err
	})
	return keys, err
}

func newKeys(id string) Keys {
	seed := make([]byte, ed25519.SeedSize)
	rand.Read(seed) // never fails: the program ends first
	ageIdentity, _ := seal.NewKeyPair()
	return Keys{ID: id, Seed: seed, AgeIdentity: ageIdentity}
}

func fromKeys(keys Keys) (*Identity, error) {
	ageIdentity, err := seal.ParseIdentity(keys.AgeIdentity)
	if err != nil || len(keys.Seed) != ed25519.SeedSize {
		return nil, node.Wrap(errors.New("the stored keys are damaged"), "load the node's identity")
	}
	return &Identity{
		Signer:      token.NewSigner(ed25519.NewKeyFromSeed(keys.Seed)),
		Recipient:   ageIdentity.Recipient(),
		ageIdentity: ageIdentity,
	}, nil
}

// Open opens what was sealed for Recipient: at most seal.MaxPeerPlaintext bytes.
// Its error wraps seal.ErrNotOpened or is seal.ErrTooLarge.
func (i *Identity) Open(sealed []byte) ([]byte, error) {
	return i.ageIdentity.Open(sealed)
}
