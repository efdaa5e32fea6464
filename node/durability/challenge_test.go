package durability

import (
	"crypto/sha256"
	"encoding/base64"
)

// challengeOf is the verifier as PKCE shows it beforehand (RFC 7636 §4.2).
func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
