// Package peer is the door for other nodes: the inbox that takes envelopes, and
// the card that says who we are. It translates and verifies; what a message does
// is coordination's.
package peer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"time"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/api/problem"
	"agentlink/node/budget"
	"agentlink/node/seal"
	"agentlink/node/token"
)

// Coordination is what the inbox needs of coordination.Service.
type Coordination interface {
	KeyOf(tx node.Tx, envelope wire.Envelope) (connection coordination.Connection, ok bool, err error)
	Answered(tx node.Tx, envelope wire.Envelope) (ack []byte, ok bool, err error)
	Receive(tx node.Tx, in coordination.Incoming, sign func(wire.Ack) ([]byte, error)) (signed []byte, err error)
	MarkKeyChanged(tx node.Tx, connection coordination.Connection) error
	Testimony(tx node.Tx, connectionID string) ([]wire.HeldHead, error)
}

// Config is what an inbox needs. All is required but Log and ClientIP.
type Config struct {
	DB           node.DB
	Coordination Coordination
	Strangers    coordination.StrangerStore
	Signer       *token.Signer
	// Open opens what was sealed for the node.
	Open func(sealed []byte) ([]byte, error)
	// Recipient is what is sealed for the node today; where nil always Self.Recipient.
	Recipient func() string
	Self      coordination.Self
	Clock     node.Clock
	IDs       node.IDs
	Log       *slog.Logger
	// ClientIP tells where a request comes from, for a node behind a proxy. Where
	// nil it is the connection's other end.
	ClientIP func(*http.Request) string
}

// Limits of what a minute may bring. They count rejected messages only, so that
// an honest peer is never slowed.
const (
	unknownPerMinute = 10 // of an IP: unknown senders, forgeries, noise
	maxCounted       = 10_000
)

// Inbox takes envelopes in. It is safe for concurrent use, in any number of
// replicas.
type Inbox struct {
	Config
	noise    *budget.Budget // by IP
	rejected *rejections    // by fingerprint
	asked    *budget.Budget // by connection: questions for our testimony
	slots    slots
	card     card
}

// New makes an inbox.
func New(config Config) *Inbox {
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	if config.Recipient == nil {
		config.Recipient = func() string { return config.Self.Recipient }
	}
	if config.ClientIP == nil {
		config.ClientIP = remoteIP
	}
	return &Inbox{
		Config:   config,
		noise:    budget.New(unknownPerMinute, time.Minute, maxCounted),
		rejected: newRejected(),
		asked:    budget.New(witnessPerMinute, time.Minute, maxCounted),
		slots:    newSlots(),
	}
}

// The refusals. They say the same to everybody and tell no one which check
// failed.
var (
	errNotValid = node.Errorf(node.BadRequest, "This is not an envelope that can be taken.")
	errUnknown  = node.Errorf(node.Unauthorized, "The envelope's signature is not one that is known here.")
	errTooLarge = node.Errorf(node.TooLarge, "The envelope is larger than 64 KiB.")
	errSlowDown = &node.Error{Code: node.RateLimited, Message: "Too many messages from there were refused. Wait a minute.",
		Details: map[string]any{problem.RetryAfterDetail: 60}}
	errKeyWaits    = node.Errorf(node.Unavailable, "The owner here has not accepted this key yet. Send it again later.")
	errUnavailable = node.Errorf(node.Unavailable, "The node cannot take this now. Send it again later.")
)

// Receive takes one envelope: bytes in, HTTP status and bytes out. The answer is
// a signed acknowledgement (200), nothing where a stranger has to ask again
// (202), or a problem. remoteIP is "" for this node's own.
func (i *Inbox) Receive(ctx context.Context, envelope []byte, remoteIP string) (status int, answer []byte) {
	return answered(i.receive(ctx, envelope, ipKey(remoteIP), false))
}

func answered(answer []byte, err error) (status int, text []byte) {
	switch {
	case err != nil:
		return problem.Status(node.CodeOf(err)), problem.Of(err, "").JSON()
	case len(answer) == 0:
		return http.StatusAccepted, nil
	}
	return http.StatusOK, answer
}

// arrival is an envelope on its way through the checks.
type arrival struct {
	compact    []byte
	sha256     string
	envelope   wire.Envelope
	ip         string
	connection coordination.Connection
	connected  bool   // there is a connection between the two addresses, in any status
	key        string // fingerprint of the key of the contact's that has signed it
	answer     []byte // stored when it came before
	head       bool   // the sender wants to keep the head of our log
}

func (i *Inbox) receive(ctx context.Context, compact []byte, ip string, head bool) ([]byte, error) {
	if len(compact) > wire.MaxEnvelope {
		return nil, errTooLarge
	}
	a := arrival{compact: compact, ip: ip, head: head}
	if token.Peek(token.Envelope, string(compact), &a.envelope) != nil || !a.envelope.Valid() {
		return nil, i.noisy(a, errNotValid)
	}
	sum := sha256.Sum256(compact)
	a.sha256 = hex.EncodeToString(sum[:])
	if err := i.find(ctx, &a); err != nil {
		return nil, err
	}
	key, waits := signerOf(a.connection, compact)
	switch {
	case waits:
		return nil, errKeyWaits
	case !a.connected || key == "":
		return i.stranger(ctx, a)
	}
	a.key = key
	return i.known(ctx, a)
}

// signerOf names the key of a contact's that has signed an envelope: the pinned one,
// or one that it has replaced. waits says that it is a new one, about which the
// owner has not decided yet.
func signerOf(c coordination.Connection, compact []byte) (fingerprint string, waits bool) {
	if signedBy(c.Peer.PublicKey, compact) {
		return c.Peer.Fingerprint, false
	}
	for _, earlier := range c.Peer.Earlier {
		if signedBy(earlier.PublicKey, compact) {
			return earlier.Fingerprint, false
		}
	}
	return "", c.Offer != nil && signedBy(c.Offer.PublicKey, compact)
}

// find looks for the key that the envelope has to be signed with, and for the
// answer that it got before.
func (i *Inbox) find(ctx context.Context, a *arrival) error {
	err := i.DB.View(ctx, func(tx node.Tx) (err error) {
		a.connection, a.connected, err = i.Coordination.KeyOf(tx, a.envelope)
		if err != nil || !a.connected {
			return err
		}
		answer, ok, err := i.Coordination.Answered(tx, a.envelope)
		if ok {
			a.answer = answer
		}
		return err
	})
	return i.unavailable(ctx, err, "find the connection of an envelope")
}

func signedBy(publicKey, compact []byte) bool {
	key, err := token.ParseKey(publicKey)
	var verified wire.Envelope
	return err == nil && token.Open(token.Envelope, key, string(compact), &verified) == nil
}

// known takes a message whose signature is the pinned one, or by a key before that:
// then it is only told so. The stored answer
// comes before the question whether it is timely: what was applied stays
// applied, and its sender should learn so.
func (i *Inbox) known(ctx context.Context, a arrival) ([]byte, error) {
	peer := a.connection.Peer
	if _, over := i.rejected.Over(a.key, i.Clock.Now()); over {
		return nil, errSlowDown
	}
	if !i.ours(a.envelope) {
		return nil, i.reject(a, errNotValid)
	}
	if a.answer != nil {
		return i.again(ctx, a)
	}
	if a.envelope.Timeliness(i.Clock.Now()) != wire.Timely {
		return nil, i.reject(a, errNotValid)
	}
	in := coordination.Incoming{Envelope: a.envelope, ConnectionID: a.connection.ID, Sha256: a.sha256, Key: a.key, Head: a.head}
	if a.envelope.V != max(peer.Version, 1) {
		in.Forged, in.OtherVersion = true, true // whatever it says
		return i.apply(ctx, in)
	}
	inner, err := i.open(a.envelope)
	if in.Inner = inner; err != nil {
		// Signed by the peer, so it gets a signed answer: its sender need not try again.
		in.Inner, in.Forged = wire.Inner{}, true
	}
	return i.apply(ctx, in)
}

// open gives the sealed part. A request to connect has to name a recipient that
// is one, and an inbox where its sender is at home.
func (i *Inbox) open(envelope wire.Envelope) (wire.Inner, error) {
	inner, err := envelope.Open(i.Open)
	if err != nil || envelope.Type != wire.ConnectionRequest {
		return inner, err
	}
	var request wire.Request
	if err := node.Decode(inner.Content, &request); err != nil {
		return wire.Inner{}, err
	}
	sender, err := node.ParseAddress(envelope.Iss)
	if err != nil || !seal.ValidRecipient(request.Recipient) || !wire.InboxOn(request.Inbox, sender.Host) {
		return wire.Inner{}, node.Errorf(node.BadRequest, "The request to connect names no inbox of its sender's.")
	}
	return inner, nil
}

// apply receives and signs in one transaction; the answer leaves after the commit.
func (i *Inbox) apply(ctx context.Context, in coordination.Incoming) ([]byte, error) {
	var signed []byte
	var ack wire.Ack
	err := i.DB.InTx(ctx, func(tx node.Tx) (err error) {
		signed, err = i.Coordination.Receive(tx, in, i.sign(&ack))
		return err
	})
	if err != nil {
		return nil, i.unavailable(ctx, err, "receive an envelope")
	}
	if ack.Status == wire.Rejected && ack.Code != wire.CodeGap && ack.Code != wire.CodeUnavailable {
		i.rejected.Spend(in.Key, i.Clock.Now())
	}
	return signed, nil
}

// sign makes the acknowledgement and remembers it.
func (i *Inbox) sign(made *wire.Ack) func(wire.Ack) ([]byte, error) {
	return func(ack wire.Ack) ([]byte, error) {
		*made = ack
		signed, err := i.Signer.SignAs(ack.SignAs, token.Ack, ack)
		return []byte(signed), err
	}
}

func (i *Inbox) ours(envelope wire.Envelope) bool {
	address, err := node.ParseAddress(envelope.Aud)
	return err == nil && address.Host == i.Self.Host
}

// again gives a stored answer once more. Where the contact knows us by another key by
// now, it is signed with that one.
func (i *Inbox) again(ctx context.Context, a arrival) ([]byte, error) {
	as := i.knownAs(a.connection)
	if by := token.SignedWith(token.Ack, string(a.answer)); by == as || by == "" {
		return a.answer, nil
	}
	var ack wire.Ack
	if err := i.Signer.OpenOwn(token.Ack, string(a.answer), &ack); err != nil {
		return nil, i.unavailable(ctx, err, "read a stored answer")
	}
	signed, err := i.Signer.SignAs(as, token.Ack, ack)
	return []byte(signed), err
}

// knownAs is the key of ours that a contact knows; today's where that one is gone.
func (i *Inbox) knownAs(c coordination.Connection) string {
	return cmp.Or(i.Signer.Held(c.KnownKey), i.Signer.Fingerprint())
}

// reject counts a message against the node that signed it.
func (i *Inbox) reject(a arrival, err error) error {
	i.rejected.Spend(a.key, i.Clock.Now())
	return err
}

// noisy counts a message that nobody known has signed, and slows its origin down.
func (i *Inbox) noisy(a arrival, err error) error {
	if a.ip == "" {
		return err
	}
	now := i.Clock.Now()
	if _, over := i.noise.Over(a.ip, now); over {
		return errSlowDown
	}
	i.noise.Spend(a.ip, now)
	return err
}

// unavailable hides the node's own failures. They use up no number.
func (i *Inbox) unavailable(ctx context.Context, err error, doing string) error {
	if err == nil {
		return nil
	}
	if ctx.Err() == nil {
		i.Log.Error("inbox", "doing", doing, "error", err)
	}
	return errUnavailable
}
