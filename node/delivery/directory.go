package delivery

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"time"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/seal"
	"agentlink/node/token"
)

// MaxCardLife is how long a card may say that it is good for.
const MaxCardLife = 31 * 24 * time.Hour

// ErrOtherKey says that the node at an address has another key than the one
// that was agreed on.
var ErrOtherKey = errors.New("the node has another key")

var _ coordination.Directory = (*Directory)(nil)

// Directory looks up nodes by the card that they serve.
type Directory struct {
	Client interface {
		Get(ctx context.Context, url string) (status int, answer []byte, err error)
	}
	Clock node.Clock
	// Self is this node. It is not asked over the network.
	Self coordination.Self
	// Signer and Recipient are this node's, asked for each time: its owner can replace
	// its keys.
	Signer    *token.Signer
	Recipient func() string
	// AllowPlain tries http where a host that is not loopback does not answer https.
	AllowPlain bool
}

// Lookup implements coordination.Directory. Codes: bad_request for a host that
// can be no node's, conflict with ErrOtherKey for another fingerprint,
// unavailable for everything else.
func (d *Directory) Lookup(ctx context.Context, host, fingerprint string) (coordination.Peer, error) {
	if !node.ValidHost(host) {
		return coordination.Peer{}, node.BadFields(node.Field{Field: "address", Problem: "names no host that a node can have"})
	}
	peer, err := d.find(ctx, host)
	if err != nil {
		return coordination.Peer{}, err
	}
	if fingerprint != "" && peer.Fingerprint != fingerprint {
		return coordination.Peer{}, &node.Error{Code: node.Conflict, Err: ErrOtherKey,
			Message: "The node at this address has another key than the one that was given. Compare fingerprints with its owner."}
	}
	return peer, nil
}

func (d *Directory) find(ctx context.Context, host string) (coordination.Peer, error) {
	if host == d.Self.Host {
		return coordination.Peer{
			Fingerprint: d.Signer.Fingerprint(), PublicKey: d.Signer.PublicKey(), Recipient: d.Recipient(),
			Inbox: d.Self.Inbox, Version: wire.Version,
		}, nil
	}
	compact, err := d.fetch(ctx, host)
	if err != nil {
		return coordination.Peer{}, noNode("There is no AgentLink node at this address that can be reached.", err)
	}
	peer, err := readCard(compact, host, d.Clock.Now())
	if err != nil {
		return coordination.Peer{}, noNode("The node at this address shows a card that is not valid.", err)
	}
	return peer, nil
}

func noNode(message string, err error) error {
	return &node.Error{Code: node.Unavailable, Message: message, Err: err}
}

func (d *Directory) fetch(ctx context.Context, host string) (compact string, err error) {
	for _, scheme := range d.schemes(host) {
		var status int
		var answer []byte
		target := url.URL{Scheme: scheme, Host: host, Path: wire.CardPath}
		status, answer, err = d.Client.Get(ctx, target.String())
		if err == nil && status != http.StatusOK {
			err = errors.New("no card: " + http.StatusText(status))
		}
		if err == nil {
			return string(answer), nil
		}
	}
	return "", err
}

func (d *Directory) schemes(host string) []string {
	switch {
	case node.IsLoopback(host):
		return []string{"http"}
	case d.AllowPlain:
		return []string{"https", "http"}
	}
	return []string{"https"}
}

// readCard verifies a card by the key inside it, and that it is this host's. The
// inbox has to be on the very same host and port: a card speaks for no other.
func readCard(compact, host string, now time.Time) (coordination.Peer, error) {
	var claimed, card wire.Card
	if err := token.Peek(token.Card, compact, &claimed); err != nil {
		return coordination.Peer{}, err
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(claimed.PublicKey)
	if err != nil {
		return coordination.Peer{}, errors.New("the public key is not base64url")
	}
	key, err := token.ParseKey(raw)
	if err != nil {
		return coordination.Peer{}, err
	}
	if err := token.Open(token.Card, key, compact, &card); err != nil {
		return coordination.Peer{}, err
	}
	if err := checkCard(card, token.Fingerprint(key), host, now); err != nil {
		return coordination.Peer{}, err
	}
	return coordination.Peer{
		Fingerprint: card.Fingerprint, PublicKey: key, Recipient: card.Recipient, Inbox: card.Inbox,
		Version: wire.Shared(card.Versions),
	}, nil
}

func checkCard(card wire.Card, fingerprint, host string, now time.Time) error {
	issued, expires := time.Unix(card.Iat, 0), time.Unix(card.Exp, 0)
	switch {
	case card.Host != host:
		return errors.New("the card is another host's")
	case card.Fingerprint != fingerprint:
		return errors.New("the fingerprint is not that of the key")
	case issued.After(now.Add(wire.MaxSkew)), !now.Before(expires.Add(wire.MaxSkew)), expires.Sub(issued) > MaxCardLife:
		return errors.New("the card's times are not valid now")
	case wire.Shared(card.Versions) == 0:
		return errors.New("no protocol version is shared")
	case !seal.ValidRecipient(card.Recipient):
		return errors.New("the recipient is not an age recipient")
	case !wire.InboxOn(card.Inbox, host):
		return errors.New("the inbox is on another host")
	}
	return nil
}
