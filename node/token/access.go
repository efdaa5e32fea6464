package token

import (
	"crypto/rand"
	"time"

	"agentlink/node"
)

// AccessLife is how long an agent's access token is valid.
const AccessLife = 15 * time.Minute

// accessSkew is how far ahead the clock of another replica may be.
const accessSkew = time.Minute

// AccessClaims are the claims of an agent's access token. Times are seconds
// since 1970.
type AccessClaims struct {
	Iss string `json:"iss"` // the node's URL
	Aud string `json:"aud"` // the fingerprint of the node's key
	Sub string `json:"sub"` // agent id
	JTI string `json:"jti"`
	Iat int64  `json:"iat"`
	Exp int64  `json:"exp"`
	// Gen is the generation of the agent's key. The caller compares it with the
	// agent's, on each request.
	Gen int64 `json:"gen"`
}

// Tokens issues and checks agents' access tokens. It is safe for concurrent use.
type Tokens struct {
	signer *Signer
	url    string
}

// NewTokens makes the issuer of a node that agents reach at url.
func NewTokens(signer *Signer, url string) *Tokens {
	return &Tokens{signer: signer, url: url}
}

// Issue makes a token for an agent whose key has the given generation.
func (t *Tokens) Issue(agentID string, generation int64, now time.Time) (compact string, expiresIn time.Duration, err error) {
	claims := AccessClaims{
		Iss: t.url, Aud: t.signer.Fingerprint(), Sub: agentID, JTI: rand.Text(),
		Iat: now.Unix(), Exp: now.Add(AccessLife).Unix(), Gen: generation,
	}
	compact, err = t.signer.Sign(Access, claims)
	return compact, AccessLife, err
}

// Check verifies a token and its times. Whether the agent is enabled and still
// has that generation is the caller's business. Code: unauthorized.
func (t *Tokens) Check(compact string, now time.Time) (AccessClaims, error) {
	var claims AccessClaims
	if err := Open(Access, t.signer.PublicKey(), compact, &claims); err != nil {
		return AccessClaims{}, badAccess()
	}
	if claims.Iss != t.url || claims.Aud != t.signer.Fingerprint() || claims.Sub == "" || claims.JTI == "" {
		return AccessClaims{}, badAccess()
	}
	issued, expires := time.Unix(claims.Iat, 0), time.Unix(claims.Exp, 0)
	if issued.After(now.Add(accessSkew)) || !now.Before(expires) || expires.Sub(issued) > AccessLife {
		return AccessClaims{}, badAccess()
	}
	return claims, nil
}

func badAccess() error {
	return node.Errorf(node.Unauthorized, "The access token is not valid or has expired: ask /oauth/token for a new one.")
}
