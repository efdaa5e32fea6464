package token

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base32"
	"strings"

	"filippo.io/edwards25519"

	"agentlink/node"
)

var fingerprintEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// Fingerprint names a public key: its SHA-256 in base32, lower case, 52
// characters.
func Fingerprint(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return strings.ToLower(fingerprintEncoding.EncodeToString(sum[:]))
}

// ParseKey reads an Ed25519 public key of 32 bytes. Keys of low order are
// refused, since one signature fits every message under them, and so are
// encodings that are not the one of their point. Code: bad_request.
func ParseKey(raw []byte) (ed25519.PublicKey, error) {
	if !usableKey(raw) {
		return nil, node.Errorf(node.BadRequest, "The public key is not a usable Ed25519 key.")
	}
	return ed25519.PublicKey(bytes.Clone(raw)), nil
}

func usableKey(raw []byte) bool {
	if len(raw) != ed25519.PublicKeySize {
		return false
	}
	point, err := new(edwards25519.Point).SetBytes(raw)
	if err != nil || !bytes.Equal(point.Bytes(), raw) {
		return false
	}
	cleared := new(edwards25519.Point).MultByCofactor(point)
	return cleared.Equal(edwards25519.NewIdentityPoint()) == 0
}
