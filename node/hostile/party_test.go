package hostile

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"

	"agentlink/node/seal"
	"agentlink/node/token"
)

// party is the keys of a node that is none of ours.
type party struct {
	key                 ed25519.PrivateKey
	signer              *token.Signer
	identity, recipient string
}

func newParty() party {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	p := party{key: key, signer: token.NewSigner(key)}
	p.identity, p.recipient = seal.NewKeyPair()
	return p
}

func (p party) sign(kind token.Kind, claims any) string {
	compact, err := p.signer.Sign(kind, claims)
	if err != nil {
		panic(err)
	}
	return compact
}

// signRaw signs claims byte for byte, valid JSON or not.
func (p party) signRaw(header, claims string) string {
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(header)) + "." + encode([]byte(claims))
	return signed + "." + encode(ed25519.Sign(p.key, []byte(signed)))
}
