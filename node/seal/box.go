// Package seal keeps secrets: the values of rows, what goes to a peer, and the
// master key that stands behind all of it. It is the only importer of age.
//
// A sealed value of a row is, with XChaCha20-Poly1305 under a key derived from
// the row-sealing key:
//
//	‹1›  ‹nonce 24›  ‹ciphertext, as long as the value›  ‹tag 16›
//
// The first byte is the format. Table, column, row and owner, each behind its
// length, are the associated data, so that a value that was moved to another cell
// does not open, nor what was cut, extended or changed. What leaves the node, and
// the master key's file under a passphrase, are age files
// (https://age-encryption.org/v1).
package seal

import (
	"bytes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"filippo.io/age"
	"golang.org/x/crypto/chacha20poly1305"
)

// format is the first byte of a sealed value. Those from before it are age files,
// whose first byte is a letter.
const format = 1

const valueLabel = "agentlink/row/v2"

// ErrNotOpened is what every failure to open wraps: the value was changed, cut
// or moved, or it was sealed with another key.
var ErrNotOpened = errors.New("the sealed value does not open")

// Place is the cell of the database that a sealed value belongs to.
type Place struct {
	Table, Column, Row, Owner string
}

// associatedData is unambiguous: no two places, and no two labels, share it.
func (p Place) associatedData(label string) []byte {
	return framed(label, p.Table, p.Column, p.Row, p.Owner)
}

// framed joins texts, each behind its length in four bytes.
func framed(parts ...string) []byte {
	size := 4 * len(parts)
	for _, part := range parts {
		size += len(part)
	}
	out := make([]byte, 0, size)
	for _, part := range parts {
		out = binary.BigEndian.AppendUint32(out, uint32(len(part)))
		out = append(out, part...)
	}
	return out
}

// Box seals the values of rows. It is safe for concurrent use.
type Box struct {
	values    cipher.AEAD
	agedKey   []byte
	lookupKey []byte
}

// NewBox makes a box from the row-sealing key; see Master.Box.
func NewBox(key []byte) *Box {
	values, err := chacha20poly1305.NewX(subkey(key, "box/value"))
	if err != nil {
		panic(err) // only for a key of another length
	}
	return &Box{values: values, agedKey: subkey(key, "box/wrap"), lookupKey: lookupKey(key)}
}

func lookupKey(key []byte) []byte { return subkey(key, "box/lookup") }

// subkey derives 32 bytes for one use.
func subkey(key []byte, label string) []byte {
	derived, err := derive(key, nil, "agentlink/v1/"+label, 32)
	if err != nil {
		panic(err) // only for lengths that HKDF cannot give
	}
	return derived
}

func derive(secret, salt []byte, info string, size int) ([]byte, error) {
	return hkdf.Key(sha256.New, secret, salt, info, size)
}

// Seal seals a value for its place.
func (b *Box) Seal(place Place, plaintext []byte) []byte {
	head := 1 + b.values.NonceSize()
	sealed := make([]byte, head, head+len(plaintext)+b.values.Overhead())
	sealed[0] = format
	rand.Read(sealed[1:])                                                                 // never fails: the program ends first
	return b.values.Seal(sealed, sealed[1:], plaintext, place.associatedData(valueLabel)) //nolint:gosec // the nonce is the random bytes behind the format
}

// Open opens a value that was sealed for the same place. Its error wraps
// ErrNotOpened.
func (b *Box) Open(place Place, sealed []byte) ([]byte, error) {
	head := 1 + b.values.NonceSize()
	if len(sealed) < head || sealed[0] != format {
		return decrypt(&aged{key: b.agedKey, place: place}, sealed, int64(len(sealed)))
	}
	plaintext, err := b.values.Open(nil, sealed[1:head], sealed[head:], place.associatedData(valueLabel))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotOpened, err)
	}
	return plaintext, nil
}

// Lookup is a keyed hash (HMAC-SHA256, hex) by which a sealed value can be found
// again. kind keeps the values of different columns apart.
func (b *Box) Lookup(kind, value string) string {
	return hex.EncodeToString(keyedHash(b.lookupKey, framed(kind, value)))
}

func keyedHash(key, message []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(message)
	return mac.Sum(nil)
}

func encrypt(recipient age.Recipient, plaintext []byte) ([]byte, error) {
	var out bytes.Buffer
	out.Grow(len(plaintext) + 256)
	writer, err := age.Encrypt(&out, recipient)
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	if _, err := writer.Write(plaintext); err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	return out.Bytes(), nil
}

// decrypt gives at most limit bytes, and nothing at all unless everything was
// authentic. It reads through age's ReaderAt, which knows the size beforehand
// and takes two thirds of the time and memory that age's Reader takes.
func decrypt(identity age.Identity, sealed []byte, limit int64) ([]byte, error) {
	reader, size, err := age.DecryptReaderAt(bytes.NewReader(sealed), int64(len(sealed)), identity)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotOpened, err)
	}
	if size > limit {
		return nil, ErrTooLarge
	}
	plaintext := make([]byte, size)
	if n, err := reader.ReadAt(plaintext, 0); int64(n) != size || (err != nil && err != io.EOF) {
		return nil, fmt.Errorf("%w: %w", ErrNotOpened, err)
	}
	return plaintext, nil
}
