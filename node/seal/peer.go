package seal

import (
	"errors"

	"filippo.io/age"
)

// MaxPeerPlaintext is how much of a peer's sealed part is opened at most. A
// whole envelope has 64 KiB, so that no honest one comes near.
const MaxPeerPlaintext = 65 << 10

// ErrTooLarge says that a sealed value holds more than may be opened.
var ErrTooLarge = errors.New("the sealed value is too large")

// NewKeyPair makes an age key pair: the secret identity (AGE-SECRET-KEY-1…) and
// the recipient (age1…) that may be shown to everybody.
func NewKeyPair() (identity, recipient string) {
	key, err := age.GenerateX25519Identity()
	if err != nil {
		panic(err) // only when there is no randomness
	}
	return key.String(), key.Recipient().String()
}

// ValidRecipient says whether text is an age X25519 recipient that can be sealed
// for: a point of low order cannot.
func ValidRecipient(text string) bool {
	recipient, err := age.ParseX25519Recipient(text)
	if err != nil {
		return false
	}
	_, err = recipient.Wrap(make([]byte, fileKeySize))
	return err == nil
}

// ToRecipient seals for the holder of the recipient's identity. It does not say
// who sealed: whoever knows a recipient can seal for it.
func ToRecipient(recipient string, plaintext []byte) ([]byte, error) {
	if len(plaintext) > MaxPeerPlaintext {
		return nil, ErrTooLarge
	}
	to, err := age.ParseX25519Recipient(recipient)
	if err != nil {
		return nil, errors.New("seal: this is not an age X25519 recipient")
	}
	return encrypt(to, plaintext)
}

// Identity is a parsed secret identity. It is safe for concurrent use.
type Identity struct {
	key *age.X25519Identity
}

// ParseIdentity reads AGE-SECRET-KEY-1….
func ParseIdentity(text string) (*Identity, error) {
	key, err := age.ParseX25519Identity(text)
	if err != nil {
		// age's error is dropped: it could quote the key.
		return nil, errors.New("seal: this is not an age X25519 identity")
	}
	return &Identity{key: key}, nil
}

// Recipient is the public half: age1….
func (i *Identity) Recipient() string { return i.key.Recipient().String() }

// Open opens what ToRecipient sealed. Errors wrap ErrNotOpened or are
// ErrTooLarge.
func (i *Identity) Open(sealed []byte) ([]byte, error) {
	return decrypt(i.key, sealed, MaxPeerPlaintext)
}

// FromIdentity is ParseIdentity and Open in one.
func FromIdentity(identity string, sealed []byte) ([]byte, error) {
	key, err := ParseIdentity(identity)
	if err != nil {
		return nil, err
	}
	return key.Open(sealed)
}
