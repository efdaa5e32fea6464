package simulation

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strings"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/delivery"
	"agentlink/node/token"
)

// network carries envelopes between the sides, badly: it drops, repeats, delays
// and cuts in two.
type network struct {
	rng   *rand.Rand
	sides map[string]*side // by host
	// drop and repeat are chances in 100.
	drop, repeat int
	parted       bool
	late         []late // copies that arrive some time later
	// watch sees every envelope that is handed over, before it may get lost.
	watch func(from *side, envelope []byte)
	// refused hears of an envelope that a living node could not take.
	refused func(by *side, status int, answer []byte)
}

type late struct {
	host     string
	envelope []byte
}

func (n *network) chance(percent int) bool { return percent > 0 && n.rng.IntN(100) < percent }

// link is the network as one side's worker sees it.
type link struct {
	*network
	side *side
}

func (n *network) from(s *side) link { return link{n, s} }

var errLost = errors.New("the network lost it")

// Post implements delivery.Transport.
func (l link) Post(ctx context.Context, url string, body []byte) (int, http.Header, []byte, bool, error) {
	host := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), wire.InboxPath)
	if l.watch != nil {
		l.watch(l.side, body)
	}
	switch {
	case l.parted && l.chance(50):
		happened("no byte leaves: the network is cut")
		return 0, nil, nil, false, errLost
	case l.parted || l.chance(l.drop):
		happened("an envelope is lost")
		return 0, nil, nil, true, errLost
	}
	if l.chance(l.repeat) {
		happened("an envelope is duplicated")
		l.late = append(l.late, late{host, append([]byte{}, body...)})
	}
	if l.chance(l.drop) { // it arrives, later than its sender waits
		happened("an envelope is late")
		l.late = append(l.late, late{host, append([]byte{}, body...)})
		return 0, nil, nil, true, errLost
	}
	status, answer, alive := l.hands(ctx, host, body)
	if !alive || l.chance(l.drop) {
		happened("an answer is lost")
		return 0, nil, nil, true, errLost
	}
	return status, nil, answer, true, nil
}

// deliverLate hands over one of the copies that are still on their way.
func (n *network) deliverLate() {
	if len(n.late) == 0 {
		return
	}
	i := n.rng.IntN(len(n.late))
	if i > 0 {
		happened("envelopes are reordered")
	}
	one := n.late[i]
	n.late = append(n.late[:i], n.late[i+1:]...)
	n.hands(context.Background(), one.host, one.envelope)
}

// hands an envelope over.
func (n *network) hands(ctx context.Context, host string, envelope []byte) (status int, answer []byte, alive bool) {
	to := n.sides[host]
	status, answer, alive = to.hear(ctx, envelope)
	if alive && status >= http.StatusInternalServerError && n.refused != nil {
		n.refused(to, status, answer)
	}
	return status, answer, alive
}

// hear takes an envelope in, unless the process dies of it.
func (s *side) hear(ctx context.Context, envelope []byte) (status int, answer []byte, alive bool) {
	alive = s.survives(func() { status, answer = s.inbox.Receive(ctx, envelope, "") })
	return status, answer, alive
}

// survives says whether the process lived through f.
func (s *side) survives(f func()) (alive bool) {
	defer func() {
		if r := recover(); r != nil {
			if _, died := r.(death); !died {
				panic(r)
			}
			alive = false
		}
	}()
	if s.db.died != "" {
		return false
	}
	f()
	return s.db.died == ""
}

// Lookup implements coordination.Directory.
func (n *network) Lookup(_ context.Context, host, fingerprint string) (coordination.Peer, error) {
	s, ok := n.sides[host]
	if !ok {
		return coordination.Peer{}, node.Errorf(node.Unavailable, "The node does not answer.")
	}
	self := s.self()
	if fingerprint != "" && fingerprint != self.Fingerprint {
		return coordination.Peer{}, delivery.ErrOtherKey
	}
	return coordination.Peer{
		Fingerprint: self.Fingerprint, PublicKey: s.identity.Signer.PublicKey(), Recipient: self.Recipient,
		Inbox: self.Inbox, Version: wire.Version,
	}, nil
}

// claimsOf reads an envelope's claims off the wire.
func claimsOf(envelope []byte) (claims wire.Envelope) {
	_ = token.Peek(token.Envelope, string(envelope), &claims)
	return claims
}
