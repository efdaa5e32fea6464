package seal

import (
	"errors"

	"filippo.io/age"
	"golang.org/x/crypto/chacha20poly1305"
)

// rowStanza is the kind of recipient of values that were sealed as age files, which
// was done until November 2026. They are opened, and written no more.
const rowStanza = "agentlink/row"

// fileKeySize is fixed by age.
const fileKeySize = 16

// aged is age's identity for one place of the database.
type aged struct {
	key   []byte
	place Place
}

// Unwrap implements age.Identity. It takes one stanza, whose body is
// ‹nonce 24› ‹file key, sealed with XChaCha20-Poly1305 for the place›.
func (a *aged) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	if len(stanzas) != 1 || stanzas[0].Type != rowStanza || len(stanzas[0].Args) != 0 {
		return nil, age.ErrIncorrectIdentity
	}
	aead, err := chacha20poly1305.NewX(a.key)
	if err != nil {
		return nil, err
	}
	body := stanzas[0].Body
	if len(body) != aead.NonceSize()+fileKeySize+aead.Overhead() {
		return nil, errors.New("the wrapped key has the wrong length")
	}
	nonce, wrapped := body[:aead.NonceSize()], body[aead.NonceSize():]
	fileKey, err := aead.Open(nil, nonce, wrapped, a.place.associatedData("agentlink/row/v1"))
	if err != nil {
		return nil, age.ErrIncorrectIdentity
	}
	return fileKey, nil
}
