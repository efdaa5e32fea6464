package audit

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"time"

	"agentlink/node"
)

// Shown is the head of the log as a peer was handed it: where the log ended at
// that moment.
type Shown struct {
	Position int64     `json:"position"`
	Hash     string    `json:"hash"`
	At       time.Time `json:"at"`
}

// Show gives the head as it was last committed, sealed for whoever keeps it for
// us. Only this node opens it, and only under the same name of its place: to the
// peer it tells neither what the log says nor how long it is, and a peer can make
// none up. It takes no lock, and leaves out what the transaction itself will add.
func (l *Log) Show(tx node.Tx, place string) (string, error) {
	head, err := l.store.AuditHead(tx)
	if err != nil {
		return "", err
	}
	plain := binary.BigEndian.AppendUint64(nil, uint64(head.Position))
	plain = binary.BigEndian.AppendUint64(plain, uint64(tx.Now().UnixMicro()))
	plain = append(plain, head.Hash...)
	return shownEncoding.EncodeToString(l.shown.Seal(nil, nil, plain, []byte(place))), nil //nolint:gosec // the cipher makes the nonce itself
}

var shownEncoding = base64.RawURLEncoding.Strict()

// shownFixed is the length of position and time.
const shownFixed = 16

var errNotShown = errors.New("this node did not seal it")

func (l *Log) recall(place, sealed string) (Shown, error) {
	raw, err := shownEncoding.DecodeString(sealed)
	if err != nil {
		return Shown{}, errNotShown
	}
	plain, err := l.shown.Open(nil, nil, raw, []byte(place))
	if err != nil || len(plain) < shownFixed {
		return Shown{}, errNotShown
	}
	return Shown{
		Position: int64(binary.BigEndian.Uint64(plain)),
		At:       time.UnixMicro(int64(binary.BigEndian.Uint64(plain[8:]))).UTC(),
		Hash:     string(plain[shownFixed:]),
	}, nil
}

// shownSeal is the cipher of shown heads. Its nonces are random: with one key
// there may be 2^32 of them, an acknowledgement each.
func shownSeal(key []byte) cipher.AEAD {
	derived, err := hkdf.Key(sha256.New, key, nil, "agentlink/v1/audit/shown", 32)
	if err != nil {
		panic(err) // only for lengths that HKDF cannot give
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		panic(err) // only for lengths that AES does not have
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err)
	}
	return aead
}
