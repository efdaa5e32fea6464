package token

import (
	"crypto/ed25519"
	"fmt"
	"testing"
)

const nodeURL = "http://localhost:7410"

// forge signs headers and claims that Signer would never write, with the right
// key: what refuses them is not the signature.
type forge struct {
	key    ed25519.PrivateKey
	signer *Signer
	header string // the right one for an Envelope
}

func newForge(t testing.TB) forge {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	signer := NewSigner(key)
	return forge{key: key, signer: signer, header: fmt.Sprintf(`{"alg":"EdDSA","kid":%q,"typ":%q}`, signer.Fingerprint(), Envelope)}
}

func (f forge) sign(header, claims string) string {
	text := encode([]byte(header)) + "." + encode([]byte(claims))
	return text + "." + encode(ed25519.Sign(f.key, []byte(text)))
}
