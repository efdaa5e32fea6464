package token

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"slices"
	"time"
)

// MaxSuccession is how many keys may follow one another in one announcement.
const MaxSuccession = 16

// maxStatementSkew is how far ahead the clock of a node may be.
const maxStatementSkew = 300 * time.Second

// Statement says that one key of a node takes the place of another: the same
// claims, signed with both.
type Statement struct {
	Old string `json:"old"` // kind Succeeds, by the key that goes
	New string `json:"new"` // by the key that comes: whoever announces it has it
}

// SuccessionClaims are the claims of both parts of a Statement.
type SuccessionClaims struct {
	Host      string `json:"host"` // of the node's addresses
	From      string `json:"from"` // fingerprint of the key that goes
	To        string `json:"to"`
	Key       string `json:"key"`       // the new one, Ed25519, base64url
	Recipient string `json:"recipient"` // what is sealed for the node from then on: age1…
	Iat       int64  `json:"iat"`
}

// Successor is a key that a statement names.
type Successor struct {
	Fingerprint string
	Key         ed25519.PublicKey
	Recipient   string
}

// NewStatement announces that next takes the place of old.
func NewStatement(old, next *Signer, host, recipient string, now time.Time) (Statement, error) {
	claims := SuccessionClaims{
		Host: host, From: old.Fingerprint(), To: next.Fingerprint(),
		Key: base64.RawURLEncoding.EncodeToString(next.PublicKey()), Recipient: recipient, Iat: now.Unix(),
	}
	byOld, err := old.Sign(Succeeds, claims)
	if err != nil {
		return Statement{}, err
	}
	byNew, err := next.Sign(possessed, claims)
	return Statement{Old: byOld, New: byNew}, err
}

var errNoSuccession = errors.New("the statements do not lead from the known key to another")

// Follow reads statements that lead from a known key of a node to today's, and
// gives each key on the way, the last one today's. Each has to be signed by the
// key before it and by itself, no key comes twice, and none is of low order.
func Follow(host string, known ed25519.PublicKey, chain []Statement, now time.Time) ([]Successor, error) {
	if len(chain) < 1 || len(chain) > MaxSuccession {
		return nil, errNoSuccession
	}
	passed := []string{Fingerprint(known)}
	var keys []Successor
	for _, statement := range chain {
		next, err := follow(host, known, statement, now)
		if err != nil {
			return nil, err
		}
		if slices.Contains(passed, next.Fingerprint) {
			return nil, errNoSuccession
		}
		known, passed, keys = next.Key, append(passed, next.Fingerprint), append(keys, next)
	}
	return keys, nil
}

func follow(host string, known ed25519.PublicKey, statement Statement, now time.Time) (Successor, error) {
	var claims, proof SuccessionClaims
	if err := Open(Succeeds, known, statement.Old, &claims); err != nil {
		return Successor{}, err
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(claims.Key)
	if err != nil {
		return Successor{}, errNoSuccession
	}
	key, err := ParseKey(raw)
	if err != nil {
		return Successor{}, err
	}
	if err := Open(possessed, key, statement.New, &proof); err != nil {
		return Successor{}, err
	}
	switch {
	case proof != claims, claims.Host != host, claims.From != Fingerprint(known), claims.To != Fingerprint(key),
		bytes.Equal(key, known), time.Unix(claims.Iat, 0).After(now.Add(maxStatementSkew)):
		return Successor{}, errNoSuccession
	}
	return Successor{Fingerprint: claims.To, Key: key, Recipient: claims.Recipient}, nil
}
