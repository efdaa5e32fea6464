package api

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"time"

	"agentlink/node"
)

// Cursors seals positions in lists and in the feed. A cursor opens only for
// what it was bound to, tells nothing of the position, and is the same whenever
// position and binding are: a stream's ids are stable.
//
// The form is base64url of nonce and AES-256-GCM, where the nonce is a MAC over
// binding and position, so it repeats only where the whole cursor does.
type Cursors struct {
	aead   cipher.AEAD
	macKey []byte
}

// NewCursors makes them from a subkey of the master key, 32 bytes.
func NewCursors(key []byte) *Cursors {
	block, err := aes.NewCipher(derive(key, "cursor sealing"))
	if err != nil {
		panic("api: " + err.Error())
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic("api: " + err.Error())
	}
	return &Cursors{aead: aead, macKey: derive(key, "cursor nonce")}
}

func derive(key []byte, label string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(label))
	return mac.Sum(nil)
}

// Binding is what a cursor is bound to: who may use it, and for which list.
type Binding struct {
	Caller string
	List   string
	Filter any
}

func (b Binding) bytes() []byte { return node.MustCanonical(b) }

func (c *Cursors) seal(binding Binding, position []byte) string {
	bound := binding.bytes()
	mac := hmac.New(sha256.New, c.macKey)
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(bound))))
	mac.Write(bound)
	mac.Write(position)
	nonce := mac.Sum(nil)[:c.aead.NonceSize()]
	return base64.RawURLEncoding.EncodeToString(c.aead.Seal(nonce, nonce, position, bound))
}

// maxCursor is far above any cursor of ours, in characters.
const maxCursor = 512

func (c *Cursors) open(binding Binding, text string) (position []byte, ok bool) {
	if len(text) > maxCursor || strings.ContainsAny(text, "\r\n") { // which the decoder would skip
		return nil, false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) < c.aead.NonceSize() {
		return nil, false
	}
	nonce, sealed := raw[:c.aead.NonceSize()], raw[c.aead.NonceSize():]
	position, err = c.aead.Open(nil, nonce, sealed, binding.bytes())
	return position, err == nil
}

// Place is a place in a list that runs from new to old.
type Place struct {
	At time.Time
	ID string
}

// SealPlace makes the cursor that continues after an entry.
func (c *Cursors) SealPlace(binding Binding, place Place) string {
	position := binary.BigEndian.AppendUint64(nil, uint64(place.At.UnixMicro()))
	return c.seal(binding, append(position, place.ID...))
}

// OpenPlace reads a cursor; "" is the beginning. Code: bad_request.
func (c *Cursors) OpenPlace(binding Binding, text string) (Place, error) {
	if text == "" {
		return Place{}, nil
	}
	position, ok := c.open(binding, text)
	if !ok || len(position) < 8 {
		return Place{}, badCursor("cursor")
	}
	at := time.UnixMicro(int64(binary.BigEndian.Uint64(position))).UTC()
	return Place{At: at, ID: string(position[8:])}, nil
}

// SealPosition makes the cursor that continues after a position of the feed.
func (c *Cursors) SealPosition(binding Binding, position int64) string {
	return c.seal(binding, binary.BigEndian.AppendUint64(nil, uint64(position)))
}

// OpenPosition reads such a cursor; "" is the beginning. field is the
// parameter or header that held it. Code: bad_request.
func (c *Cursors) OpenPosition(binding Binding, field, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	position, ok := c.open(binding, text)
	if !ok || len(position) != 8 {
		return 0, badCursor(field)
	}
	return int64(binary.BigEndian.Uint64(position)), nil
}

func badCursor(field string) error {
	return node.BadFields(node.Field{Field: field, Problem: "is no cursor of this agent for this list and filter"})
}
