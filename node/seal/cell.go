package seal

import (
	"crypto/rand"
	"errors"

	"filippo.io/age"
	"golang.org/x/crypto/chacha20poly1305"
)

const rowStanza = "agentlink/row"

// fileKeySize is fixed by age.
const fileKeySize = 16

// cell is age's recipient and identity for one place of the database.
type cell struct {
	key   []byte
	place Place
}

// Wrap implements age.Recipient.
func (c *cell) Wrap(fileKey []byte) ([]*age.Stanza, error) {
	aead, err := chacha20poly1305.NewX(c.key)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, aead.NonceSize(), aead.NonceSize()+len(fileKey)+aead.Overhead())
	rand.Read(nonce) // never fails: the program ends first
	body := aead.Seal(nonce, nonce, fileKey, c.place.associatedData())
	return []*age.Stanza{{Type: rowStanza, Body: body}}, nil
}

// Unwrap implements age.Identity. It takes exactly what Wrap makes.
func (c *cell) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	if len(stanzas) != 1 || stanzas[0].Type != rowStanza || len(stanzas[0].Args) != 0 {
		return nil, age.ErrIncorrectIdentity
	}
	aead, err := chacha20poly1305.NewX(c.key)
	if err != nil {
		return nil, err
	}
	body := stanzas[0].Body
	if len(body) != aead.NonceSize()+fileKeySize+aead.Overhead() {
		return nil, errors.New("the wrapped key has the wrong length")
	}
	nonce, wrapped := body[:aead.NonceSize()], body[aead.NonceSize():]
	fileKey, err := aead.Open(nil, nonce, wrapped, c.place.associatedData())
	if err != nil {
		return nil, age.ErrIncorrectIdentity
	}
	return fileKey, nil
}
