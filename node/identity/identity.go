// Package identity holds who a node is to others: its Ed25519 signing key and
// its age recipient. Both are random, made once, and kept sealed.
package identity

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
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
	// LockNodeKeys is NodeKeys for who is going to replace them: one at a time.
	LockNodeKeys(tx node.Tx) (Keys, error)
	// ReplaceNodeKeys puts keys in the place of those that are there, which are kept
	// as retired.
	ReplaceNodeKeys(tx node.Tx, keys Keys, retired Retired) error
	// RetiredKeys lists the keys that were replaced, the oldest first.
	RetiredKeys(tx node.Tx) ([]Retired, error)
	// EraseSeed and EraseAgeIdentity remove what a retired key could still do.
	EraseSeed(tx node.Tx, fingerprint string) error
	EraseAgeIdentity(tx node.Tx, fingerprint string) error
}

// Identity is the loaded keys. It is safe for concurrent use.
type Identity struct {
	// Signer signs with today's key, and as an earlier one for those who do not know
	// today's yet.
	Signer *token.Signer

	store Store
	ids   node.IDs
	mu    sync.Mutex // one loading at a time
	// sealed are what opens letters: today's first, then those of earlier keys.
	sealed atomic.Pointer[[]*seal.Identity]
	first  string
	passed int // how many keys there were before today's
}

// LoadOrCreate gives the node's identity and makes it at the first start. Of
// several replicas that start at once one makes it, and all of them load the
// same.
func LoadOrCreate(ctx context.Context, db node.DB, store Store, ids node.IDs) (*Identity, error) {
	_, err := load(ctx, db, store)
	if node.CodeOf(err) == node.NotFound {
		err = create(ctx, db, store, ids)
	}
	if err != nil {
		return nil, err
	}
	i := &Identity{store: store, ids: ids}
	if err := i.Refresh(ctx, db); err != nil {
		return nil, err
	}
	return i, nil
}

func load(ctx context.Context, db node.DB, store Store) (keys Keys, err error) {
	err = db.View(ctx, func(tx node.Tx) error {
		keys, err = store.NodeKeys(tx)
		return err
	})
	return keys, err
}

func create(ctx context.Context, db node.DB, store Store, ids node.IDs) error {
	made := newKeys(ids.New())
	return db.InTx(ctx, func(tx node.Tx) error {
		made.CreatedAt = tx.Now()
		return store.InsertNodeKeys(tx, made) // another replica may have been first
	})
}

func newKeys(id string) Keys {
	seed := make([]byte, ed25519.SeedSize)
	rand.Read(seed) // never fails: the program ends first
	ageIdentity, _ := seal.NewKeyPair()
	return Keys{ID: id, Seed: seed, AgeIdentity: ageIdentity}
}

// First is the fingerprint of the node's first key, a name that stays.
func (i *Identity) First() string { return i.first }

// Recipient is what peers seal for: age1…
func (i *Identity) Recipient() string { return (*i.sealed.Load())[0].Recipient() }

// Open opens what was sealed for Recipient, or for that of an earlier key that is
// kept for letters under way: at most seal.MaxPeerPlaintext bytes. Its error wraps
// seal.ErrNotOpened or is seal.ErrTooLarge.
func (i *Identity) Open(sealed []byte) (opened []byte, err error) {
	for _, identity := range *i.sealed.Load() {
		if opened, err = identity.Open(sealed); !errors.Is(err, seal.ErrNotOpened) {
			return opened, err
		}
	}
	return nil, err
}

// Refresh loads the keys as they are stored: another replica may have replaced them.
func (i *Identity) Refresh(ctx context.Context, db node.DB) error {
	return db.View(ctx, func(tx node.Tx) error {
		loaded, err := i.read(tx)
		if err == nil {
			i.use(loaded)
		}
		return err
	})
}

// loaded are keys ready for use.
type loaded struct {
	today   ed25519.PrivateKey
	earlier []token.Earlier
	sealed  []*seal.Identity
}

func (i *Identity) read(tx node.Tx) (loaded, error) {
	keys, err := i.store.NodeKeys(tx)
	if err != nil {
		return loaded{}, err
	}
	retired, err := i.store.RetiredKeys(tx)
	if err != nil {
		return loaded{}, err
	}
	l, err := prepare(keys, retired)
	return l, node.Wrap(err, "load the node's identity")
}

func (l loaded) first() string {
	if len(l.earlier) > 0 {
		return token.Fingerprint(l.earlier[len(l.earlier)-1].Public)
	}
	return token.Fingerprint(l.today.Public().(ed25519.PublicKey))
}

var errDamaged = errors.New("the stored keys are damaged")

func prepare(keys Keys, retired []Retired) (l loaded, err error) {
	today, err := seal.ParseIdentity(keys.AgeIdentity)
	if err != nil || len(keys.Seed) != ed25519.SeedSize {
		return loaded{}, errDamaged
	}
	l.today, l.sealed = ed25519.NewKeyFromSeed(keys.Seed), []*seal.Identity{today}
	for _, r := range slices.Backward(retired) {
		if token.Fingerprint(r.PublicKey) != r.Fingerprint {
			return loaded{}, errDamaged
		}
		earlier := token.Earlier{Public: r.PublicKey}
		if len(r.Seed) == ed25519.SeedSize {
			earlier.Private = ed25519.NewKeyFromSeed(r.Seed)
		}
		l.earlier = append(l.earlier, earlier)
		if r.AgeIdentity == "" {
			continue
		}
		opens, err := seal.ParseIdentity(r.AgeIdentity)
		if err != nil {
			return loaded{}, errDamaged
		}
		l.sealed = append(l.sealed, opens)
	}
	return l, nil
}

// use puts keys in place. The recipient comes first, so that nobody who sees the
// new key still tells the old recipient.
func (i *Identity) use(l loaded) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(l.earlier) < i.passed {
		return // read before another key was made, and late
	}
	i.passed = len(l.earlier)
	i.sealed.Store(&l.sealed)
	if i.Signer == nil {
		i.Signer, i.first = token.NewSigner(l.today), l.first()
	}
	i.Signer.Replace(l.today, l.earlier)
}
