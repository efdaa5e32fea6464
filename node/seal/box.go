// Package seal keeps secrets: the values of rows, what goes to a peer, and the
// master key that stands behind all of it. It is the only importer of age.
//
// A sealed value is an age file (https://age-encryption.org/v1) with one
// recipient of our own kind, drawn here with its binary parts in angle brackets:
//
//	age-encryption.org/v1                        the format's first line
//	-> agentlink/row                             our kind of recipient
//	base64 ‹nonce 24› ‹wrapped file key 32›      XChaCha20-Poly1305
//	--- base64 ‹MAC 32›                          over all of the above
//	‹nonce 16› ‹chunks of at most 64 KiB + 16›   ChaCha20-Poly1305, as age has it
//
// The file key is wrapped under a key derived from the row-sealing key. The
// associated data of that wrap are table, column, row and owner, each behind its
// length, so that a value that was moved to another cell does not open. What was
// cut, extended or changed does not open either, since age authenticates header
// and chunks.
package seal

import (
	"bytes"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"filippo.io/age"
)

// ErrNotOpened is what every failure to open wraps: the value was changed, cut
// or moved, or it was sealed with another key.
var ErrNotOpened = errors.New("the sealed value does not open")

// Place is the cell of the database that a sealed value belongs to.
type Place struct {
	Table, Column, Row, Owner string
}

// associatedData is unambiguous: no two places share it.
func (p Place) associatedData() []byte {
	return framed("agentlink/row/v1", p.Table, p.Column, p.Row, p.Owner)
}

// framed joins texts, each behind its length in four bytes.
func framed(parts ...string) []byte {
	var out []byte
	for _, part := range parts {
		out = binary.BigEndian.AppendUint32(out, uint32(len(part)))
		out = append(out, part...)
	}
	return out
}

// Box seals the values of rows. It is safe for concurrent use.
type Box struct {
	wrapKey   []byte
	lookupKey []byte
}

// NewBox makes a box from the row-sealing key, Master.Key(UseRows).
func NewBox(key []byte) *Box {
	return &Box{wrapKey: subkey(key, "box/wrap"), lookupKey: subkey(key, "box/lookup")}
}

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
func (b *Box) Seal(place Place, plaintext []byte) ([]byte, error) {
	return encrypt(&cell{key: b.wrapKey, place: place}, plaintext)
}

// Open opens a value that was sealed for the same place. Its error wraps
// ErrNotOpened.
func (b *Box) Open(place Place, sealed []byte) ([]byte, error) {
	return decrypt(&cell{key: b.wrapKey, place: place}, sealed, int64(len(sealed)))
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
