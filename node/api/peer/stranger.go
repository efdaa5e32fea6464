package peer

import (
	"context"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/token"
)

// stranger takes what no pinned key has signed. Only a request to connect is
// worth keeping, and it waits until its sender's card was read. That holds for a
// known address too: whether its key has changed, or somebody forges its name,
// only the card tells. Whether the recipient exists is not looked at.
func (i *Inbox) stranger(ctx context.Context, a arrival) ([]byte, error) {
	if a.envelope.Type != wire.ConnectionRequest || !i.ours(a.envelope) {
		return nil, i.noisy(a, errUnknown)
	}
	if a.envelope.V != wire.Version || a.envelope.Timeliness(i.Clock.Now()) != wire.Timely {
		return nil, i.noisy(a, errNotValid)
	}
	sender, err := node.ParseAddress(a.envelope.Iss)
	if err != nil {
		return nil, i.noisy(a, errNotValid)
	}
	waiting := coordination.Stranger{ID: i.IDs.New(), SHA256: a.sha256, Host: sender.Host, IP: a.ip, Envelope: a.compact}
	answer, admitted, err := i.admit(ctx, waiting)
	if err == nil && !admitted {
		return nil, errSlowDown
	}
	return answer, err
}

func (i *Inbox) admit(ctx context.Context, stranger coordination.Stranger) (answer []byte, admitted bool, err error) {
	err = i.DB.InTx(ctx, func(tx node.Tx) (err error) {
		answer, admitted, err = coordination.AdmitStranger(tx, i.Strangers, stranger)
		return err
	})
	return answer, admitted, i.unavailable(ctx, err, "admit a stranger")
}

// Introduce ends the waiting of a stranger whose node's card was read: a valid
// request is received, one that this node did not sign is dropped, and a known
// address that shows another key is marked. It settles the stranger's row.
func (i *Inbox) Introduce(ctx context.Context, stranger coordination.Stranger, peer coordination.Peer) error {
	in, valid := i.verified(stranger, peer)
	err := i.DB.InTx(ctx, func(tx node.Tx) error {
		if !valid {
			return i.Strangers.DeleteStranger(tx, stranger.ID)
		}
		connection, known, err := i.Coordination.KeyOf(tx, in.Envelope)
		switch {
		case err != nil:
			return err
		case known && connection.Peer.Fingerprint == peer.Fingerprint:
			// It was taken in meanwhile, and when it comes again it is answered.
			return i.Strangers.DeleteStranger(tx, stranger.ID)
		case known:
			return i.keyChanged(tx, stranger, connection)
		}
		return i.meet(tx, stranger, in)
	})
	if node.CodeOf(err) == node.NotFound {
		return i.nobody(ctx, stranger, in)
	}
	return err
}

// verified checks a waiting request against its node's card. What its content
// says of recipient and inbox has to be what the card says.
func (i *Inbox) verified(stranger coordination.Stranger, peer coordination.Peer) (coordination.Incoming, bool) {
	var envelope wire.Envelope
	if token.Peek(token.Envelope, string(stranger.Envelope), &envelope) != nil || !signedBy(peer.PublicKey, stranger.Envelope) ||
		envelope.Timeliness(i.Clock.Now()) != wire.Timely {
		return coordination.Incoming{}, false
	}
	inner, err := i.open(envelope)
	var request wire.Request
	if err != nil || node.Decode(inner.Content, &request) != nil || request.Recipient != peer.Recipient || request.Inbox != peer.Inbox {
		return coordination.Incoming{}, false
	}
	return coordination.Incoming{Envelope: envelope, Inner: inner, Sha256: stranger.SHA256, Peer: peer}, true
}

func (i *Inbox) keyChanged(tx node.Tx, stranger coordination.Stranger, connection coordination.Connection) error {
	if err := i.Coordination.MarkKeyChanged(tx, connection); err != nil {
		return err
	}
	return i.Strangers.SettleStranger(tx, stranger.ID, nil)
}

// meet receives the request. Where a connection has come of it the answer is kept
// there; where none has, it stays with the stranger for a while.
func (i *Inbox) meet(tx node.Tx, stranger coordination.Stranger, in coordination.Incoming) error {
	var ack wire.Ack
	signed, err := i.Coordination.Receive(tx, in, i.sign(&ack))
	if err != nil {
		return err
	}
	_, known, err := i.Coordination.KeyOf(tx, in.Envelope)
	if err != nil {
		return err
	}
	if known {
		return i.Strangers.DeleteStranger(tx, stranger.ID)
	}
	return i.Strangers.SettleStranger(tx, stranger.ID, signed)
}

// nobody answers a request to an agent that does not exist. This is the one way
// to learn it, and it is narrow: few requests of a host are looked at in a day,
// and those answered so count among them.
func (i *Inbox) nobody(ctx context.Context, stranger coordination.Stranger, in coordination.Incoming) error {
	var ack wire.Ack
	return i.DB.InTx(ctx, func(tx node.Tx) error {
		signed, err := i.sign(&ack)(wire.Ack{
			Iss: in.Envelope.Aud, Aud: in.Envelope.Iss, Ref: in.Envelope.JTI, SHA256: in.Sha256,
			Status: wire.Rejected, Code: wire.CodeConnectionUnknown, Iat: tx.Now().Unix(),
		})
		if err != nil {
			return err
		}
		return i.Strangers.SettleStranger(tx, stranger.ID, signed)
	})
}
