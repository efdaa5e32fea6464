package identity

import (
	"crypto/ed25519"
	"time"

	"agentlink/node"
	"agentlink/node/token"
)

// Retired is a key that another one has replaced.
type Retired struct {
	OwnerID     string // who replaced it
	Number      int64  // from 1, in the order in which they were replaced
	Fingerprint string
	PublicKey   ed25519.PublicKey
	Seed        []byte // nil once it was erased
	AgeIdentity string // "" once it was erased
	// Statement says which key took its place.
	Statement token.Statement
	CreatedAt time.Time
	RetiredAt time.Time
	ErasedAt  time.Time // of the seed; zero while it is there
}

// Key is today's key as others see it.
type Key struct {
	Fingerprint string
	PublicKey   ed25519.PublicKey
	Recipient   string
	CreatedAt   time.Time
}

// MaxUnerased is how many earlier keys may still be in use when another one is made.
const MaxUnerased = token.MaxSuccession - 1

// Today reads today's key from the database. Every choice that lasts goes by it
// and not by what this process remembers.
func (i *Identity) Today(tx node.Tx) (Key, error) {
	keys, err := i.store.NodeKeys(tx)
	if err != nil {
		return Key{}, err
	}
	return keys.public()
}

// Fingerprint names the signing key among the keys.
func (k Keys) Fingerprint() (string, error) {
	key, err := k.public()
	return key.Fingerprint, err
}

func (k Keys) public() (Key, error) {
	l, err := prepare(k, nil)
	if err != nil {
		return Key{}, node.Wrap(err, "read the node's key")
	}
	public := l.today.Public().(ed25519.PublicKey)
	return Key{Fingerprint: token.Fingerprint(public), PublicKey: public, Recipient: l.sealed[0].Recipient(), CreatedAt: k.CreatedAt}, nil
}

// Retired lists the keys that were replaced, the oldest first.
func (i *Identity) Retired(tx node.Tx) ([]Retired, error) { return i.store.RetiredKeys(tx) }

// Rotate makes new keys and retires today's, which state so. The new ones are used
// from the commit on. Code: conflict where too many earlier keys are still in use.
func (i *Identity) Rotate(tx node.Tx, ownerID, host string) (before, after Key, err error) {
	keys, err := i.store.LockNodeKeys(tx)
	if err != nil {
		return Key{}, Key{}, err
	}
	retired, err := i.store.RetiredKeys(tx)
	if err != nil {
		return Key{}, Key{}, err
	}
	if unerased(retired) >= MaxUnerased {
		return Key{}, Key{}, node.ConflictFor(node.ReasonBadState, "Too many earlier keys are still in use. Wait until your contacts have accepted.")
	}
	made := newKeys(i.ids.New())
	made.CreatedAt = tx.Now()
	if before, err = keys.public(); err != nil {
		return Key{}, Key{}, err
	}
	if after, err = made.public(); err != nil {
		return Key{}, Key{}, err
	}
	statement, err := token.NewStatement(signerOf(keys), signerOf(made), host, after.Recipient, tx.Now())
	if err != nil {
		return Key{}, Key{}, err
	}
	err = i.store.ReplaceNodeKeys(tx, made, Retired{
		OwnerID: ownerID, Number: int64(len(retired)) + 1, Fingerprint: before.Fingerprint, PublicKey: before.PublicKey, Seed: keys.Seed,
		AgeIdentity: keys.AgeIdentity, Statement: statement, CreatedAt: keys.CreatedAt, RetiredAt: tx.Now(),
	})
	if err != nil {
		return Key{}, Key{}, err
	}
	return before, after, i.useAtCommit(tx)
}

func unerased(retired []Retired) (count int) {
	for _, r := range retired {
		if r.ErasedAt.IsZero() {
			count++
		}
	}
	return count
}

func signerOf(keys Keys) *token.Signer {
	return token.NewSigner(ed25519.NewKeyFromSeed(keys.Seed))
}

func (i *Identity) useAtCommit(tx node.Tx) error {
	l, err := i.read(tx)
	if err == nil {
		tx.OnCommit(func() { i.use(l) })
	}
	return err
}

// Link is a step from one of the node's keys to the next.
type Link struct {
	To        string // fingerprint
	Statement token.Statement
}

// Chain leads from one of the node's keys to today's; it is empty for today's own.
// known is false for a key that was never this node's.
func (i *Identity) Chain(tx node.Tx, from string) (links []Link, known bool, err error) {
	today, err := i.Today(tx)
	if err != nil || from == today.Fingerprint {
		return nil, true, err
	}
	retired, err := i.store.RetiredKeys(tx)
	for at, r := range retired {
		known = known || r.Fingerprint == from
		if !known {
			continue
		}
		to := today.Fingerprint
		if at+1 < len(retired) {
			to = retired[at+1].Fingerprint
		}
		links = append(links, Link{To: to, Statement: r.Statement})
	}
	return links, known, err
}

// EraseSeed removes what a retired key could still sign with.
func (i *Identity) EraseSeed(tx node.Tx, fingerprint string) error {
	if err := i.store.EraseSeed(tx, fingerprint); err != nil {
		return err
	}
	return i.useAtCommit(tx)
}

// EraseAgeIdentity removes what opens letters sealed for a retired key.
func (i *Identity) EraseAgeIdentity(tx node.Tx, fingerprint string) error {
	if err := i.store.EraseAgeIdentity(tx, fingerprint); err != nil {
		return err
	}
	return i.useAtCommit(tx)
}
