// Package tokentest makes access tokens that a node must not take, for tests of the
// reader of tokens and of every door that reads them.
package tokentest

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	"agentlink/node/token"
)

// forge signs headers and claims that Signer would never write, with the right
// key: what refuses them is not the signature.
type forge struct{ key ed25519.PrivateKey }

func (f forge) public() ed25519.PublicKey { return f.key.Public().(ed25519.PublicKey) }

func (f forge) fingerprint() string { return token.Fingerprint(f.public()) }

func (f forge) header() string { return headerFor(f.fingerprint()) }

func headerFor(fingerprint string) string {
	return fmt.Sprintf(`{"alg":"EdDSA","kid":%q,"typ":"at+jwt"}`, fingerprint)
}

func (f forge) sign(header, claims string) string {
	return f.signText(encode([]byte(header)) + "." + encode([]byte(claims)))
}

func (f forge) signText(text string) string {
	return text + "." + encode(ed25519.Sign(f.key, []byte(text)))
}

// Mutant is a token that must not be taken.
type Mutant struct{ Name, Compact string }

// Forge is who has a node's key and signs what the node would never sign, for one
// of its agents. A token that it makes differs from a good one in one point.
type Forge struct {
	Key  ed25519.PrivateKey
	URL  string // of the node, as in iss
	Sub  string // agent id
	Gen  int64  // generation of the agent's key
	Time time.Time
}

func (f Forge) claims() string {
	return fmt.Sprintf(`{"iss":%q,"aud":%q,"sub":%q,"jti":"x","iat":%d,"exp":%d,"gen":%d}`,
		f.URL, forge{f.Key}.fingerprint(), f.Sub, f.Time.Unix(), f.Time.Add(token.AccessLife).Unix(), f.Gen)
}

// Good is the token that all mutants come from.
func (f Forge) Good() string {
	by := forge{f.Key}
	return by.sign(by.header(), f.claims())
}

// Mutants are tokens that are to be refused.
func (f Forge) Mutants() []Mutant {
	by := forge{f.Key}
	return slices.Concat(headerMutants(by, f.claims()), shapeMutants(by, f.Good()), f.claimMutants())
}

func stranger() forge {
	_, key, _ := ed25519.GenerateKey(nil) // never fails
	return forge{key}
}

var encoding = base64.RawURLEncoding.Strict()

func encode(raw []byte) string { return encoding.EncodeToString(raw) }
