package oauth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// What secrets begin with, so that they can be told apart, and found where they
// should not be.
const (
	accessPrefix  = "alo_"
	refreshPrefix = "alr_"
	codePrefix    = "alc_"
	secretPrefix  = "als_" // of a client
)

// newSecret makes 256 random bits. crypto/rand never fails: the program ends first.
func newSecret(prefix string) string {
	raw := make([]byte, sha256.Size)
	_, _ = rand.Read(raw)
	return prefix + base64.RawURLEncoding.EncodeToString(raw)
}

// secretLength is that of every secret.
var secretLength = len(accessPrefix) + base64.RawURLEncoding.EncodedLen(sha256.Size)

func looksLike(text, prefix string) bool {
	return len(text) == secretLength && strings.HasPrefix(text, prefix)
}

// hashOf is what is kept of a secret. A slow hash would protect nothing that has
// 256 bits.
func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
