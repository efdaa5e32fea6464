package peer

import (
	"context"
	"net/http"
	"time"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/api/problem"
	"agentlink/node/token"
)

// witnessPerMinute is how often a contact may ask for what we keep of its log.
const witnessPerMinute = 10

// witnessLife is how long a question may say that it is good for.
const witnessLife = 10 * time.Minute

var errAskedOften = &node.Error{Code: node.RateLimited, Message: "That was asked often enough. Wait a minute.",
	Details: map[string]any{problem.RetryAfterDetail: 60}}

func (i *Inbox) postWitness(w http.ResponseWriter, r *http.Request) {
	i.take(w, r, wire.MaxWitness, func(body []byte, ip string) ([]byte, error) {
		return i.testify(r.Context(), string(body), ip)
	})
}

// testify tells an active contact which heads of its log we keep. Everybody else
// gets the same answer, whatever is wrong: whether an address is known here is
// not to be learned.
func (i *Inbox) testify(ctx context.Context, compact, ip string) ([]byte, error) {
	var request wire.WitnessRequest
	a := arrival{ip: ip}
	if token.Peek(token.WitnessRequest, compact, &request) != nil || !request.Valid() {
		return nil, i.noisy(a, errUnknown)
	}
	a.envelope = wire.Envelope{Iss: request.Iss, Aud: request.Aud}
	if err := i.find(ctx, &a); err != nil {
		return nil, err
	}
	if !i.mayAsk(a, request, compact) {
		return nil, i.noisy(a, errUnknown)
	}
	if _, over := i.asked.Over(a.connection.ID, i.Clock.Now()); over {
		return nil, errAskedOften
	}
	i.asked.Spend(a.connection.ID, i.Clock.Now())
	return i.testimony(ctx, request, a.connection)
}

func (i *Inbox) mayAsk(a arrival, request wire.WitnessRequest, compact string) bool {
	peer := a.connection.Peer
	key, err := token.ParseKey(peer.PublicKey)
	var verified wire.WitnessRequest
	if !a.connected || err != nil || token.Open(token.WitnessRequest, key, compact, &verified) != nil {
		return false
	}
	now, iat, exp := i.Clock.Now(), time.Unix(request.Iat, 0), time.Unix(request.Exp, 0)
	return a.connection.Status == coordination.ConnActive && !a.connection.KeyChanged && i.ours(a.envelope) &&
		request.V == max(peer.Version, 1) &&
		!iat.After(now.Add(wire.MaxSkew)) && now.Before(exp.Add(wire.MaxSkew)) && exp.Sub(iat) <= witnessLife
}

func (i *Inbox) testimony(ctx context.Context, request wire.WitnessRequest, c coordination.Connection) ([]byte, error) {
	answer := wire.WitnessAnswer{Iss: request.Aud, Aud: request.Iss, Ref: request.JTI, Iat: i.Clock.Now().Unix()}
	err := i.DB.View(ctx, func(tx node.Tx) (err error) {
		answer.Heads, err = i.Coordination.Testimony(tx, c.ID)
		return err
	})
	if err != nil {
		return nil, i.unavailable(ctx, err, "read the heads of a contact's log")
	}
	signed, err := i.Signer.SignAs(i.knownAs(c), token.WitnessAnswer, answer)
	return []byte(signed), i.unavailable(ctx, err, "sign the heads of a contact's log")
}
