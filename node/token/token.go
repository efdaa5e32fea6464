// Package token signs and opens the node's signed objects: access tokens of
// agents, envelopes, acknowledgements, receipts and cards. It is the only
// importer of a JWT library.
//
// All are compact JWS with one algorithm, EdDSA, and a header of exactly three
// members: alg; typ, which keeps one kind from being taken for another; and kid,
// the fingerprint of the signing key.
package token

import (
	"crypto/ed25519"
	"encoding/base64"
	"strings"

	"github.com/golang-jwt/jwt/v5"

	"agentlink/node"
)

// Kind is the typ of a signed object.
type Kind string

// The kinds.
const (
	Access    Kind = "at+jwt"
	Envelope  Kind = "agentlink-envelope+jwt"
	Ack       Kind = "agentlink-ack+jwt"
	Receipt   Kind = "agentlink-receipt+jwt"
	Card      Kind = "agentlink-card+jwt"
	AuditHead Kind = "agentlink-audit-head+jwt"
	// Succeeds says that one key of a node takes the place of another.
	Succeeds Kind = "agentlink-key+jwt"
	// possessed says the same, signed with the new key.
	possessed Kind = "agentlink-key-proof+jwt"
)

// MaxCompact is how long a compact text is at most: claims of node.MaxJSONBytes
// in base64url, and room for header and signature.
const MaxCompact = (node.MaxJSONBytes+2)/3*4 + 512

// header is what stands in the first part. All three members are required and
// no other is known.
type header struct {
	Alg string `json:"alg"`
	Kid string `json:"kid"`
	Typ Kind   `json:"typ"`
}

var method = jwt.SigningMethodEdDSA

// Sign makes the compact text of an object with today's key. Code: too_large when
// nobody would open it.
func (s *Signer) Sign(kind Kind, claims any) (string, error) {
	return s.keys.Load().today.sign(kind, claims)
}

func (k *held) sign(kind Kind, claims any) (string, error) {
	payload, err := node.Canonical(claims)
	if err != nil {
		return "", node.Wrap(err, "write claims")
	}
	if len(payload) > node.MaxJSONBytes {
		return "", node.Errorf(node.TooLarge, "What is to be signed is larger than 64 KiB.")
	}
	head := node.MustCanonical(header{Alg: method.Alg(), Kid: k.fingerprint, Typ: kind})
	text := encode(head) + "." + encode(payload)
	signature, err := method.Sign(text, k.private)
	if err != nil {
		return "", node.Wrap(err, "sign")
	}
	return text + "." + encode(signature), nil
}

// Open verifies an object with the key that its signer is known by, and decodes
// its claims strictly (node.Decode). Times are the caller's business. Codes:
// unauthorized when kind, key or signature are not the expected ones; too_large;
// bad_request when the signed claims are not valid.
func Open(kind Kind, key ed25519.PublicKey, compact string, into any) error {
	parts, err := split(kind, compact)
	if err != nil {
		return err
	}
	if parts.header.Kid != Fingerprint(key) {
		return invalid()
	}
	if err := method.Verify(parts.signed, parts.signature, key); err != nil {
		return invalid()
	}
	return node.Decode(parts.claims, into)
}

// Peek decodes the claims of an object without verifying anything. It serves to
// find the key that Open then needs, and for nothing else. Codes: as Open.
func Peek(kind Kind, compact string, into any) error {
	parts, err := split(kind, compact)
	if err != nil {
		return err
	}
	return node.Decode(parts.claims, into)
}

// parts are the decoded parts of a compact text.
type parts struct {
	header    header
	signed    string // what the signature covers
	claims    []byte
	signature []byte
}

func split(kind Kind, compact string) (parts, error) {
	if len(compact) > MaxCompact {
		return parts{}, node.Errorf(node.TooLarge, "The signed object is larger than 64 KiB.")
	}
	texts := strings.Split(compact, ".")
	if len(texts) != 3 {
		return parts{}, invalid()
	}
	var decoded [3][]byte
	for i, text := range texts {
		part, ok := decode(text)
		if !ok {
			return parts{}, invalid()
		}
		decoded[i] = part
	}
	p := parts{signed: texts[0] + "." + texts[1], claims: decoded[1], signature: decoded[2]}
	if err := node.Decode(decoded[0], &p.header); err != nil {
		return parts{}, invalid()
	}
	if p.header.Alg != method.Alg() || p.header.Typ != kind {
		return parts{}, invalid()
	}
	return p, nil
}

// invalid says no more than it must: which check failed helps only a forger.
func invalid() error {
	return node.Errorf(node.Unauthorized, "The signed object is not valid here.")
}

var encoding = base64.RawURLEncoding.Strict()

func encode(raw []byte) string { return encoding.EncodeToString(raw) }

// decode takes exactly what encode gives. The library's decoder would skip line
// breaks.
func decode(text string) ([]byte, bool) {
	if text == "" || strings.ContainsAny(text, "\r\n") {
		return nil, false
	}
	raw, err := encoding.DecodeString(text)
	return raw, err == nil
}
