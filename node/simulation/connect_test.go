package simulation

import (
	"context"
	"fmt"
	"testing"

	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/policy"
)

// The rules of connections (docs/protocol.md), each as the shortest history.

// strangers are two sides that do not know each other yet.
func newStrangers(t *testing.T) *pair {
	t.Helper()
	t.Parallel()
	w := newWorld(t)
	t.Cleanup(w.close)
	h := w.history(t, 1)
	p := &pair{history: h, a: h.sides[0], b: h.sides[1]}
	for _, s := range h.sides {
		p.mode(s, policy.Autonomous)
	}
	return p
}

// asks makes an agent, or its owner, ask to connect with the other side.
func (p *pair) asks(s *side, actor node.Actor, request coordination.ConnectRequest) (result coordination.Result, err error) {
	if request == (coordination.ConnectRequest{}) {
		request.Address = p.other(s).address()
	}
	ctx := context.Background()
	prepared, err := s.coordination.PrepareConnect(ctx, p.network, actor, request)
	if err != nil {
		return result, err
	}
	err = s.store.InTx(ctx, func(tx node.Tx) error {
		result, err = s.coordination.Connect(tx, actor, prepared)
		return err
	})
	return result, err
}

func (p *pair) connectionOf(s *side) (c coordination.Connection) {
	p.t.Helper()
	s.in(p.t, func(tx node.Tx) (err error) {
		c, err = s.connection(tx)
		return err
	})
	return c
}

func (p *pair) wantConnection(a, b coordination.ConnectionStatus) {
	p.t.Helper()
	if got := p.connectionOf(p.a).Status; got != a {
		p.t.Errorf("a's connection is %s, want %s", got, a)
	}
	if got := p.connectionOf(p.b).Status; got != b {
		p.t.Errorf("b's connection is %s, want %s", got, b)
	}
}

// own changes a connection as the owner.
// own has an owner change a connection. What the owner is answered is what is stored.
func (p *pair) own(s *side, change func(tx node.Tx, actor node.Actor, id string) (coordination.Connection, error)) {
	p.t.Helper()
	s.in(p.t, func(tx node.Tx) error {
		c, err := s.connection(tx)
		if err != nil {
			return err
		}
		answered, err := change(tx, s.owner, c.ID)
		if err != nil {
			return err
		}
		stored, err := s.store.Connection(tx, c.ID)
		if stored.Status != answered.Status || stored.StructuredOnly != answered.StructuredOnly {
			p.t.Errorf("%s is answered that the connection is %s; it is %s", s.name, answered.Status, stored.Status)
		}
		return err
	})
}

// alter changes the row of a side's connection, beside all rules.
func (p *pair) alter(s *side, change func(*coordination.Connection)) {
	p.t.Helper()
	s.in(p.t, func(tx node.Tx) error {
		c, err := s.connection(tx)
		if err != nil {
			return err
		}
		from := c.Status
		change(&c)
		return s.store.SaveConnection(tx, c, from)
	})
}

func revoked(c *coordination.Connection) { c.Status = coordination.ConnRevoked }

// says queues a chat message of a side's owner.
func (p *pair) says(s *side) (id string) {
	p.t.Helper()
	c := p.connectionOf(s)
	return p.write(s, func(tx node.Tx) (coordination.Result, error) {
		return s.coordination.SendMessage(tx, s.owner, c.ID, "Hello")
	}).ID
}

func TestConnecting(t *testing.T) {
	p := newStrangers(t)
	if _, err := p.asks(p.a, p.a.actor(), coordination.ConnectRequest{}); err != nil {
		t.Fatal(err)
	}
	p.settle(3)
	p.wantConnection(coordination.PendingOutgoing, coordination.PendingIncoming)
	p.own(p.b, p.b.coordination.AcceptConnection)
	p.settle(3)
	p.wantConnection(coordination.ConnActive, coordination.ConnActive)
	for _, s := range p.sides {
		s.in(t, func(tx node.Tx) error {
			contact := p.other(s).address()
			grants, err := s.policy.Grants(tx, s.agent.ID, &contact)
			for _, g := range grants {
				if g.Mode != policy.Ask {
					t.Errorf("%s: a new connection gets %s %s", s.name, g.Capability, g.Mode)
				}
			}
			if len(grants) != 2 {
				t.Errorf("%s: %d default grants, want disclose.* and action.*", s.name, len(grants))
			}
			return err
		})
		if got := p.events(s, audit.ConnectionActive, p.connectionOf(s).ID); got != 1 {
			t.Errorf("%s's log says %d times that the connection is active", s.name, got)
		}
	}
}

// TestDeniedRequest: what bars the agent from asking stops its request before it has left,
// and not its owner's.
func TestDeniedRequest(t *testing.T) {
	for name, owners := range map[string]bool{"the agent's": false, "the owner's": true} {
		t.Run(name, func(t *testing.T) {
			p := newStrangers(t)
			actor, sent := p.a.actor(), 0
			if owners {
				actor = p.a.owner
			}
			_, err := p.asks(p.a, actor, coordination.ConnectRequest{})
			must(t, err)
			p.grant(p.a, policy.ConnectionRequest, policy.Deny)
			p.network.watch = func(*side, []byte) { sent++ }
			p.settle(3)
			if left := sent > 0; left != owners {
				t.Errorf("%d envelopes left", sent)
			}
			c := p.connectionOf(p.a)
			if m := p.message(p.a, c.RequestID); (m.Status == coordination.MsgFailed) == owners {
				t.Errorf("the request is %s %s, the connection %s", m.Status, m.Code, c.Status)
			}
			if got := p.events(p.a, audit.ConnectionRequested, c.ID); got != 1 {
				t.Errorf("the log says so %d times", got)
			}
		})
	}
}

// TestAskedAlready: no second request while one is under way; the other side's own
// request is accepted instead.
func TestAskedAlready(t *testing.T) {
	for name, mode := range map[string]policy.GrantMode{"held": policy.Ask, "sent": policy.Allow} {
		t.Run(name, func(t *testing.T) {
			p := newStrangers(t)
			p.grant(p.a, policy.ConnectionRequest, mode)
			_, err := p.asks(p.a, p.a.actor(), coordination.ConnectRequest{})
			must(t, err)
			for _, actor := range []node.Actor{p.a.actor(), p.a.owner} {
				if _, err := p.asks(p.a, actor, coordination.ConnectRequest{}); node.ReasonOf(err) != node.ReasonBadState {
					t.Errorf("asked again: %v", err)
				}
			}
			p.settle(3)
			if mode == policy.Ask {
				return
			}
			if _, err := p.asks(p.b, p.b.owner, coordination.ConnectRequest{}); err != nil {
				t.Fatal(err)
			}
			p.settle(3)
			if got := p.connectionOf(p.a).Status; got != coordination.ConnActive {
				t.Errorf("the connection is %s", got)
			}
			if _, err := p.asks(p.b, p.b.owner, coordination.ConnectRequest{}); node.ReasonOf(err) != node.ReasonBadState {
				t.Errorf("asked when connected: %v", err)
			}
		})
	}
}

func TestRejectedByThePeersOwner(t *testing.T) {
	p := newStrangers(t)
	_, err := p.asks(p.a, p.a.actor(), coordination.ConnectRequest{})
	must(t, err)
	p.settle(3)
	p.own(p.b, p.b.coordination.RejectConnection)
	p.settle(3)
	p.wantConnection(coordination.ConnRejected, coordination.ConnRejected)
	held, err := p.asks(p.a, p.a.actor(), coordination.ConnectRequest{})
	must(t, err)
	if held.Status != coordination.StatusPendingOwner {
		t.Errorf("after a rejection: %s, want pending_owner in every mode", held.Status)
	}
	if reason := p.pending(p.a).Held[policy.ConnectionRequest]; reason != string(policy.PeerRejected) {
		t.Errorf("held because of %q", reason)
	}
}

func TestRevokedPeerIsHeldInEveryMode(t *testing.T) {
	p := newStrangers(t)
	p.connect()
	p.own(p.a, p.a.coordination.RevokeConnection)
	p.settle(2)
	p.wantConnection(coordination.ConnRevoked, coordination.ConnRevoked)
	for _, s := range p.sides {
		held, err := p.asks(s, s.actor(), coordination.ConnectRequest{})
		must(t, err)
		if held.Status != coordination.StatusPendingOwner {
			t.Errorf("%s: %s, want pending_owner", s.name, held.Status)
		}
	}
	effect, err := p.decide(p.a, p.pending(p.a), nil)
	must(t, err)
	if effect.Outcome != "requested" || effect.Approval.Status != approvals.Consumed {
		t.Errorf("%s, %s", effect.Outcome, effect.Approval.Status)
	}
}

// Requests that cross are accepted at once, since each owner approved, or made,
// the outgoing one to that key.
func TestCrossingRequests(t *testing.T) {
	p := newStrangers(t)
	for _, s := range p.sides {
		_, err := p.asks(s, s.owner, coordination.ConnectRequest{})
		must(t, err)
	}
	p.settle(6)
	p.wantConnection(coordination.ConnActive, coordination.ConnActive)
}

// An owner who approves a request to a contact that has asked meanwhile accepts
// that one instead.
func TestApprovedRequestMeetsTheirs(t *testing.T) {
	p := newStrangers(t)
	p.mode(p.b, policy.Manual)
	_, err := p.asks(p.b, p.b.actor(), coordination.ConnectRequest{})
	must(t, err)
	_, err = p.asks(p.a, p.a.actor(), coordination.ConnectRequest{})
	must(t, err)
	p.settle(3)
	_, err = p.decide(p.b, p.pending(p.b), nil)
	must(t, err)
	p.settle(4)
	for _, s := range p.sides {
		s.in(t, func(tx node.Tx) error {
			active := 0
			list, err := s.coordination.Connections(tx, s.agent.ID, coordination.Page{Limit: 10})
			for _, c := range list {
				if c.Status == coordination.ConnActive {
					active++
				}
			}
			if active != 1 {
				t.Errorf("%s has %d active connections, want 1", s.name, active)
			}
			return err
		})
	}
}

func TestInvitation(t *testing.T) {
	p := newStrangers(t)
	var link string
	p.b.in(t, func(tx node.Tx) (err error) {
		_, link, err = p.b.coordination.Invite(tx, p.b.owner, p.b.agent.ID)
		return err
	})
	_, err := p.asks(p.a, p.a.actor(), coordination.ConnectRequest{Invitation: link})
	must(t, err)
	p.settle(3)
	if c := p.connectionOf(p.b); c.Status != coordination.PendingIncoming || !c.Invited {
		t.Errorf("%s, invited %v: an invitation replaces the comparison of keys, never the owner's decision", c.Status, c.Invited)
	}
	p.own(p.b, p.b.coordination.RejectConnection)
	p.settle(2)
	_, err = p.asks(p.a, p.a.owner, coordination.ConnectRequest{Invitation: link})
	must(t, err)
	p.settle(3)
	if c := p.connectionOf(p.a); c.Status != coordination.ConnRejected {
		t.Errorf("used a second time: %s, want rejected", c.Status)
	}
}

// The policy comes before any look-up, and an agent looks up 20 new hosts a day.
func TestLookupsAreBounded(t *testing.T) {
	p := newStrangers(t)
	p.grant(p.a, policy.ConnectionRequest, policy.Deny)
	refused, err := p.asks(p.a, p.a.actor(), coordination.ConnectRequest{Address: "x@nowhere.test"})
	must(t, err)
	if refused.Status != coordination.StatusRefused {
		t.Errorf("%s, want refused before the look-up, which fails", refused.Status)
	}
	p.ungrant(p.a)
	for i := range coordination.MaxNewHosts + 1 {
		want := node.Unavailable
		if i == coordination.MaxNewHosts {
			want = node.RateLimited
		}
		_, err := p.asks(p.a, p.a.actor(), coordination.ConnectRequest{Address: fmt.Sprintf("x@host%d.test", i)})
		if node.CodeOf(err) != want {
			t.Fatalf("host %d: %v, want %s", i, err, want)
		}
	}
}

// The owner approves an address and a key: to another key nothing is sent.
func TestAnotherKeyAtSendingTime(t *testing.T) {
	p := newStrangers(t)
	p.mode(p.a, policy.Manual)
	_, err := p.asks(p.a, p.a.actor(), coordination.ConnectRequest{})
	must(t, err)
	p.network.sides[p.b.host] = &side{disk: newDisk(t, p.b.host, p.clock)}
	t.Cleanup(func() { _ = p.network.sides[p.b.host].store.Close() })
	sent := 0
	p.network.watch = func(*side, []byte) { sent++ }
	_, err = p.decide(p.a, p.pending(p.a), nil)
	must(t, err)
	p.deliver(p.a)
	if c := p.connectionOf(p.a); sent != 0 || c.Status == coordination.PendingOutgoing || !c.KeyChanged {
		t.Errorf("%d envelopes sent, connection %s, key changed %v", sent, c.Status, c.KeyChanged)
	}
}

// A contact with structuredOnly: free text to it is always held, fields are not.
func TestStructuredOnly(t *testing.T) {
	p := newPair(t)
	before := p.rulesOf(p.a)
	p.own(p.a, func(tx node.Tx, actor node.Actor, id string) (coordination.Connection, error) {
		return p.a.coordination.SetStructuredOnly(tx, actor, id, true)
	})
	c := p.connectionOf(p.a)
	if got := p.events(p.a, audit.ConnectionSettings, c.ID); got != 1 || p.rulesOf(p.a) == before {
		t.Errorf("the log says so %d times; the rules are at %d, and were at %d", got, p.rulesOf(p.a), before)
	}
	held := p.write(p.a, func(tx node.Tx) (coordination.Result, error) {
		return p.a.coordination.SendMessage(tx, p.a.actor(), c.ID, "free text")
	})
	if held.Status != coordination.StatusPendingApproval {
		t.Errorf("free text: %s, want held", held.Status)
	}
	if reason := p.pending(p.a).Held[policy.MessageSend]; reason != string(policy.StructuredOnly) {
		t.Errorf("held because of %q", reason)
	}
}

// rulesOf is the revision of the rules of a side's agent.
func (p *pair) rulesOf(s *side) (rev int64) {
	p.t.Helper()
	s.in(p.t, func(tx node.Tx) error {
		agent, err := s.policy.Agent(tx, s.agent.ID)
		rev = agent.RulesRev
		return err
	})
	return rev
}

// What the acceptor sends waits until its acceptance is acknowledged.
func TestAcceptanceGoesFirst(t *testing.T) {
	p := newStrangers(t)
	_, err := p.asks(p.a, p.a.actor(), coordination.ConnectRequest{})
	must(t, err)
	p.settle(3)
	p.own(p.b, p.b.coordination.AcceptConnection)
	c := p.connectionOf(p.b)
	p.says(p.b)
	var order []wire.Type
	p.network.watch = func(_ *side, envelope []byte) {
		order = append(order, claimsOf(envelope).Type)
	}
	p.network.drop = 100
	p.deliver(p.b)
	p.network.drop = 0
	p.settle(4)
	var messages []coordination.Message
	p.b.in(t, func(tx node.Tx) (err error) {
		messages, err = p.b.store.Thread(tx, c.ID, coordination.Page{Limit: 10})
		return err
	})
	for _, m := range messages {
		if m.Type == wire.ConnectionAccept && p.events(p.b, audit.MessageDelivered, m.ID) != 1 {
			t.Error("the log does not say that the acceptance was delivered")
		}
	}
	if len(order) < 3 || order[0] != wire.ConnectionAccept || order[1] != wire.ConnectionAccept || order[len(order)-1] != wire.Message {
		t.Errorf("sent in the order %v", order)
	}
}
