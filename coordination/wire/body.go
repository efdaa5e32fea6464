package wire

import (
	"encoding/base64"
	"errors"
	"fmt"

	"agentlink/node"
)

// ErrForged says that the sealed part belongs to another envelope.
var ErrForged = errors.New("the sealed part belongs to another envelope")

// Seal gives the envelope its body: the inner part, sealed for the recipient's
// node by seal.
func (e Envelope) Seal(inner Inner, seal func(plaintext []byte) ([]byte, error)) (Envelope, error) {
	if !inner.Matches(e) {
		return Envelope{}, ErrForged
	}
	plaintext, err := node.Canonical(inner)
	if err != nil {
		return Envelope{}, fmt.Errorf("write the inner part: %w", err)
	}
	sealed, err := seal(plaintext)
	if err != nil {
		return Envelope{}, err
	}
	e.Body = base64.RawURLEncoding.EncodeToString(sealed)
	return e, nil
}

// Open gives the inner part of an envelope, decoded strictly and checked to
// belong to it. What the content means is not looked at.
func (e Envelope) Open(open func(sealed []byte) ([]byte, error)) (Inner, error) {
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(e.Body)
	if err != nil {
		return Inner{}, fmt.Errorf("the body is not base64url: %w", err)
	}
	plaintext, err := open(sealed)
	if err != nil {
		return Inner{}, err
	}
	var inner Inner
	if err := node.Decode(plaintext, &inner); err != nil {
		return Inner{}, err
	}
	if !inner.Matches(e) {
		return Inner{}, ErrForged
	}
	if inner.Author != AuthorAgent && inner.Author != AuthorOwner {
		return Inner{}, node.BadFields(node.Field{Field: "author", Problem: "must be agent or owner"})
	}
	if len(inner.Content) == 0 {
		return Inner{}, node.BadFields(node.Field{Field: "content", Problem: "is missing"})
	}
	return inner, nil
}

// The values of Inner.Author.
const (
	AuthorAgent = "agent"
	AuthorOwner = "owner"
)
