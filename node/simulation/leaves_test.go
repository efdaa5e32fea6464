package simulation

import (
	"encoding/json"
	"testing"
	"time"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/policy"
)

// What a worker finds when it looks at a queued message: the message leaves, waits, or
// is dropped.

// newest is the last message of a side's copy of the task.
func (p *pair) newest(s *side) (m coordination.Message) {
	p.t.Helper()
	s.in(p.t, func(tx node.Tx) error {
		messages, err := s.store.TaskMessages(tx, s.agent.ID, p.uid)
		if err == nil {
			m = messages[len(messages)-1]
		}
		return err
	})
	return m
}

// letter queues a message about a's own key, which is the node's and not the agent's.
func (p *pair) letter() (id string) {
	p.t.Helper()
	c := p.connectionOf(p.a)
	m := coordination.Message{
		ID: p.a.ids.New(), OwnerID: c.OwnerID, AgentID: c.AgentID, ConnectionID: c.ID, Direction: coordination.Out,
		Type: wire.KeyRotate, Author: "owner", Status: coordination.MsgQueued, Content: json.RawMessage("{}"),
		CreatedAt: p.clock.Now(), ExpiresAt: p.clock.Now().Add(time.Hour),
	}
	p.a.in(p.t, func(tx node.Tx) error { return p.a.store.InsertMessage(tx, m) })
	return m.ID
}

func TestWhatMayLeave(t *testing.T) {
	proposal := func(p *pair) string { p.start(nil); return p.write(p.a, p.proposing(p.a, "2027-01-16")).ID }
	attempted := func(p *pair) string { id := proposal(p); p.attempt(p.a, id); return id }
	cancel := func(p *pair) string { p.start(nil); return p.write(p.a, p.cancelling(p.a)).ID }
	confirm := func(p *pair) string { p.agree(); _, err := p.run(p.a, ""); must(p.t, err); return p.newest(p.a).ID }
	ofOwner := func(p *pair) string {
		p.start(nil)
		return p.write(p.a, func(tx node.Tx) (coordination.Result, error) {
			return p.a.coordination.Propose(tx, p.a.owner, p.uid, plan("2027-01-16"), 0)
		}).ID
	}
	nothing := func(*pair) {}
	disabled := func(p *pair) { p.disable(p.a) }
	denied := func(p *pair) { p.denies("task.*") }
	ended := func(p *pair) { p.alter(p.a, revoked) }
	otherKey := func(p *pair) { p.alter(p.a, func(c *coordination.Connection) { c.KeyChanged = true }) }
	for name, test := range map[string]struct {
		message func(p *pair) string
		then    func(p *pair)
		want    coordination.Do
		code    string // of what is dropped
	}{
		"a proposal":                       {proposal, nothing, coordination.Send, ""},
		"a proposal, disabled":             {proposal, disabled, coordination.Drop, "agent_disabled"},
		"a proposal, denied":               {proposal, denied, coordination.Drop, "policy_denied"},
		"a proposal, no connection":        {proposal, ended, coordination.Drop, wire.CodeNotConnected},
		"a proposal, another key":          {proposal, otherKey, coordination.Wait, ""},
		"an attempted proposal, disabled":  {attempted, disabled, coordination.Wait, ""},
		"the owner's proposal, denied":     {ofOwner, denied, coordination.Send, ""},
		"the owner's proposal, disabled":   {ofOwner, disabled, coordination.Drop, "agent_disabled"},
		"a cancel, denied":                 {cancel, denied, coordination.Send, ""},
		"a confirmation":                   {confirm, nothing, coordination.Send, ""},
		"a confirmation, disabled":         {confirm, disabled, coordination.Wait, ""},
		"a confirmation, denied":           {confirm, denied, coordination.Wait, ""},
		"a confirmation, no connection":    {confirm, ended, coordination.Wait, ""},
		"a letter of the node":             {(*pair).letter, nothing, coordination.Send, ""},
		"a letter of the node, disabled":   {(*pair).letter, disabled, coordination.Send, ""},
		"a letter of the node, no contact": {(*pair).letter, ended, coordination.Drop, wire.CodeNotConnected},
		"a letter of the node, other key":  {(*pair).letter, otherKey, coordination.Wait, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			id := test.message(p)
			test.then(p)
			d := p.looksAt(p.a, id)
			if m := p.message(p.a, id); d.Do != test.want || m.Code != test.code {
				t.Errorf("%s, %q; want %s, %q", d.Do, m.Code, test.want, test.code)
			}
			if pause := d.Next.Sub(p.clock.Now()); d.Do == coordination.Wait && (pause <= 0 || pause > time.Minute) {
				t.Errorf("it is looked at again after %s", pause)
			}
		})
	}
}

// TestCancelLeavesWithoutItsReason: who may no longer speak still says that it is over,
// and no more. A cancel that may have arrived already stays as it is.
func TestCancelLeavesWithoutItsReason(t *testing.T) {
	for name, attempted := range map[string]bool{"never tried": false, "tried": true} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			p.start(nil)
			id := p.write(p.a, p.cancelling(p.a)).ID
			want := "{}"
			if attempted {
				want = string(p.attempt(p.a, id).Inner.Content)
			}
			p.denies("task.*")
			if d := p.attempt(p.a, id); string(d.Inner.Content) != want {
				t.Errorf("it says %s, want %s", d.Inner.Content, want)
			}
		})
	}
}

// requested has a ask to connect; the answer is lost. It returns the request.
func requested(t *testing.T) (p *pair, id string) {
	t.Helper()
	p = newStrangers(t)
	p.mode(p.b, policy.Manual)
	_, err := p.asks(p.a, p.a.owner, coordination.ConnectRequest{})
	must(t, err)
	id = p.connectionOf(p.a).RequestID
	p.deliver(p.a) // b does not know a yet, and reads its card
	p.background(p.b)
	p.clock.Advance(5 * time.Second)
	p.loseAnswers(true)
	p.deliver(p.a)
	p.network.drop = 0
	p.clock.Advance(5 * time.Second)
	if m, c := p.message(p.a, id), p.connectionOf(p.a); m.Status != coordination.MsgQueued || m.Tries != 2 || !c.Sent {
		t.Fatalf("the request is %s after %d tries, sent %v", m.Status, m.Tries, c.Sent)
	}
	return p, id
}

// TestAnsweredRequestIsNotSentAgain: the owner over there has decided before the next
// attempt.
func TestAnsweredRequestIsNotSentAgain(t *testing.T) {
	for name, test := range map[string]struct {
		decide  func(p *pair)
		want    coordination.ConnectionStatus
		message coordination.MessageStatus
	}{
		"accepted": {func(p *pair) { p.own(p.b, p.b.coordination.AcceptConnection) }, coordination.ConnActive, coordination.MsgDelivered},
		"rejected": {func(p *pair) { p.own(p.b, p.b.coordination.RejectConnection) }, coordination.ConnRejected, coordination.MsgFailed},
	} {
		t.Run(name, func(t *testing.T) {
			p, id := requested(t)
			test.decide(p)
			p.deliver(p.b)
			if got := p.connectionOf(p.a).Status; got != test.want {
				t.Fatalf("a's connection is %s", got)
			}
			if d := p.looksAt(p.a, id); d.Do != coordination.Drop {
				t.Errorf("it is to %s", d.Do)
			}
			if m, c := p.message(p.a, id), p.connectionOf(p.a); m.Status != test.message || c.Status != test.want {
				t.Errorf("the request is %s %s, the connection %s", m.Status, m.Code, c.Status)
			}
		})
	}
}

// TestLateNoToARequest: the connection that has come about meanwhile stays.
func TestLateNoToARequest(t *testing.T) {
	for name, accepted := range map[string]bool{"in time": false, "too late": true} {
		t.Run(name, func(t *testing.T) {
			p, id := requested(t)
			want := coordination.ConnRejected
			if accepted {
				p.own(p.b, p.b.coordination.AcceptConnection)
				p.deliver(p.b)
				want = coordination.ConnActive
			}
			p.answered(p.a, wire.Ack{Ref: id, Status: wire.Rejected, Code: wire.CodeNotConnected})
			if m, c := p.message(p.a, id), p.connectionOf(p.a); m.Status != coordination.MsgRejected || c.Status != want {
				t.Errorf("the request is %s, the connection %s", m.Status, c.Status)
			}
		})
	}
}

// TestKeyDiffers: a request whose address has another key than the owner approved fails
// with its connection; what was settled meanwhile stays.
func TestKeyDiffers(t *testing.T) {
	differs := func(p *pair, id string) {
		p.a.in(p.t, func(tx node.Tx) error { return p.a.coordination.KeyDiffers(tx, p.a.agent.ID, id) })
	}
	t.Run("open", func(t *testing.T) {
		p, id := requested(t)
		differs(p, id)
		if m, c := p.message(p.a, id), p.connectionOf(p.a); m.Status != coordination.MsgFailed || c.Status != coordination.ConnRevoked || !c.KeyChanged {
			t.Errorf("the request is %s, the connection %s, key changed %v", m.Status, c.Status, c.KeyChanged)
		}
	})
	t.Run("accepted meanwhile", func(t *testing.T) {
		p, id := requested(t)
		p.own(p.b, p.b.coordination.AcceptConnection)
		p.deliver(p.b)
		differs(p, id)
		if c := p.connectionOf(p.a); c.Status != coordination.ConnActive || c.KeyChanged {
			t.Errorf("the connection is %s, key changed %v", c.Status, c.KeyChanged)
		}
	})
	t.Run("delivered meanwhile", func(t *testing.T) {
		p, id := requested(t)
		p.deliver(p.a)
		differs(p, id)
		if m, c := p.message(p.a, id), p.connectionOf(p.a); m.Status != coordination.MsgDelivered || c.Status != coordination.PendingOutgoing || c.KeyChanged {
			t.Errorf("the request is %s, the connection %s, key changed %v", m.Status, c.Status, c.KeyChanged)
		}
	})
}
