package delivery

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/token"
)

// Witnesses asks contacts for the heads of our log that they keep.
type Witnesses struct {
	Transport Transport
	Signer    *token.Signer
	Clock     node.Clock
	IDs       node.IDs
}

// How asking a contact can fail.
var (
	ErrTooOld      = errors.New("the contact's node does not keep heads: it is too old")
	ErrRefused     = errors.New("the contact's node does not know us as an active contact")
	ErrUnreachable = errors.New("the contact's node gave no answer that counts")
)

// questionLife is how long a question is good for.
const questionLife = time.Minute

// Ask gives what a contact keeps. Its error is one of those above, perhaps with a
// cause. The answer is the contact's word, signed with the key that is pinned for
// it: it may leave heads out, and what it makes up does not open.
func (w *Witnesses) Ask(ctx context.Context, contact coordination.Witness) ([]wire.HeldHead, error) {
	target, err := url.Parse(contact.Peer.Inbox)
	if err != nil {
		return nil, errors.Join(ErrUnreachable, err)
	}
	target = &url.URL{Scheme: target.Scheme, Host: target.Host, Path: wire.WitnessPath}
	now := w.Clock.Now()
	request := wire.WitnessRequest{
		V: max(contact.Peer.Version, 1), Iss: contact.Address, Aud: contact.Contact, JTI: w.IDs.New(),
		Iat: now.Unix(), Exp: now.Add(questionLife).Unix(),
	}
	compact, err := w.Signer.SignAs(contact.Key, token.WitnessRequest, request)
	if err != nil {
		return nil, err
	}
	status, _, answer, _, err := w.Transport.Post(ctx, target.String(), []byte(compact))
	switch {
	case err != nil:
		return nil, errors.Join(ErrUnreachable, err)
	case status == http.StatusUnauthorized:
		return nil, ErrRefused
	case status == http.StatusTooManyRequests || status >= http.StatusInternalServerError:
		return nil, ErrUnreachable
	case status != http.StatusOK:
		return nil, ErrTooOld
	}
	return w.read(contact, request, answer)
}

func (w *Witnesses) read(contact coordination.Witness, request wire.WitnessRequest, answer []byte) ([]wire.HeldHead, error) {
	key, err := token.ParseKey(contact.Peer.PublicKey)
	if err != nil {
		return nil, errors.Join(ErrUnreachable, err)
	}
	var said wire.WitnessAnswer
	if err := token.Open(token.WitnessAnswer, key, string(answer), &said); err != nil {
		return nil, errors.Join(ErrUnreachable, err)
	}
	if said.Iss != request.Aud || said.Aud != request.Iss || said.Ref != request.JTI || len(said.Heads) > wire.MaxHeads {
		return nil, errors.Join(ErrUnreachable, errors.New("the answer is about something else"))
	}
	return said.Heads, nil
}
