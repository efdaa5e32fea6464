package simulation

import (
	"strings"
	"testing"
	"time"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/policy"
)

// revocations are the ways in which an owner, or the other one, takes back what an
// agent might do. deed is the capability in question.
var revocations = map[string]func(p *pair, deed string){
	"deny for the agent":    func(p *pair, deed string) { p.grant(p.a, deed, policy.Deny) },
	"deny for the contact":  func(p *pair, deed string) { p.denies(deed) },
	"deny of all such":      func(p *pair, deed string) { kind, _, _ := strings.Cut(deed, "."); p.deniesAll(kind + ".*") },
	"deny of a disclosure":  func(p *pair, _ string) { p.denies("disclose.availability") },
	"the agent is disabled": func(p *pair, _ string) { p.disable(p.a) },
	"the connection is revoked": func(p *pair, _ string) {
		p.own(p.a, p.a.coordination.RevokeConnection)
	},
	"the peer revokes it": func(p *pair, _ string) {
		p.own(p.b, p.b.coordination.RevokeConnection)
		p.deliver(p.b)
	},
	"the task is cancelled": func(p *pair, _ string) {
		p.a.in(p.t, func(tx node.Tx) error {
			_, err := p.a.coordination.CancelTask(tx, p.a.owner, p.uid, "changed plans")
			return err
		})
	},
}

func (p *pair) setGrant(contact, capability string, mode policy.GrantMode) {
	p.t.Helper()
	p.a.in(p.t, func(tx node.Tx) error {
		_, err := p.a.policy.SetGrant(tx, p.a.owner, policy.NewGrant{AgentID: p.a.agent.ID, Contact: contact, Capability: capability, Mode: mode})
		return err
	})
}

func (p *pair) denies(capability string) { p.setGrant(p.b.address(), capability, policy.Deny) }

// deniesAll also takes away the exact grant, which would be stronger.
func (p *pair) deniesAll(wildcard string) {
	p.a.in(p.t, func(tx node.Tx) error {
		grants, err := p.a.policy.Grants(tx, p.a.agent.ID, nil)
		for _, g := range grants {
			if err == nil && strings.HasPrefix(g.Capability, strings.TrimSuffix(wildcard, "*")) {
				_, err = p.a.policy.RemoveGrant(tx, p.a.owner, g.ID)
			}
		}
		return err
	})
	p.denies(wildcard)
}

func (p *pair) disable(s *side) {
	s.in(p.t, func(tx node.Tx) error {
		_, err := s.policy.SetStatus(tx, s.owner, s.agent.ID, policy.Disabled)
		return err
	})
}

// moments are where a deed stands when it is taken back. before brings it there,
// after does what would let it go.
var moments = map[string]struct {
	deed          string
	before, after func(p *pair)
}{
	"a held proposal, before the decision": {"task.propose",
		func(p *pair) {
			p.start(plan("2027-01-15"))
			p.mode(p.a, policy.Manual)
			p.write(p.a, p.proposing(p.a, "2027-01-16"))
		},
		func(p *pair) {
			for _, waits := range p.a.known(p.history).approvals("pending") {
				_, _ = p.decide(p.a, waits, nil) // whether it says no or failed, nothing leaves
			}
		}},
	"a queued proposal, before it is sent": {"task.propose",
		func(p *pair) { p.start(plan("2027-01-15")); p.write(p.a, p.proposing(p.a, "2027-01-16")) }, func(*pair) {}},
	"a proposal that was lost, before it is sent again": {"task.propose",
		func(p *pair) {
			p.start(plan("2027-01-15"))
			p.write(p.a, p.proposing(p.a, "2027-01-16"))
			p.network.drop = 100
			p.deliver(p.a)
			p.network.drop = 0
		}, func(*pair) {}},
	"a queued proposal, and the node starts again": {"task.propose",
		func(p *pair) { p.start(plan("2027-01-15")); p.write(p.a, p.proposing(p.a, "2027-01-16")) }, func(p *pair) { p.a.start(p.t, p.network) }},
	"an approved action, before its use": {"action.reservation.book",
		func(p *pair) { p.agree(); p.approve() },
		func(p *pair) { _, _ = p.run(p.a, p.approved) }},
}

// approve lets the owner approve the booking, which the agent has not run yet.
func (p *pair) approve() {
	p.t.Helper()
	waits := p.ask(p.a)
	_, err := p.decide(p.a, waits, nil)
	must(p.t, err)
	p.approved = waits.ID
}

// TestTakenBack (S10): whatever is taken back, and however far the deed had come,
// nothing of it is sent and nothing runs after that was committed.
func TestTakenBack(t *testing.T) {
	for what, revoke := range revocations {
		for when, moment := range moments {
			t.Run(what+"/"+when, func(t *testing.T) {
				p := newPair(t)
				moment.before(p)
				revoke(p, moment.deed)
				sent := 0
				p.network.watch = func(from *side, envelope []byte) {
					if typ := claimsOf(envelope).Type; from == p.a && (typ == wire.TaskPropose || typ == wire.TaskConfirm) {
						sent++
					}
				}
				runs := len(p.a.runs)
				moment.after(p)
				for range 4 {
					p.settle(2)
					p.clock.Advance(time.Hour)
				}
				if sent > 0 && !mayStillLeave(what, moment.deed) {
					t.Errorf("%d envelopes leave", sent)
				}
				if ran := len(p.a.runs) - runs; ran > 0 && !mayStillRun(what) {
					t.Errorf("%d runs", ran)
				}
			})
		}
	}
}

// mayStillLeave: what was released goes before the cancel that came after it, in
// the order of the copy (protocol §2); and an action discloses nothing.
func mayStillLeave(what, deed string) bool {
	return what == "the task is cancelled" && deed == "task.propose" || what == "deny of a disclosure" && deed != "task.propose"
}

// mayStillRun: a connection that has ended bars the confirmation and not the run
// (protocol D7), and an action discloses nothing.
func mayStillRun(what string) bool {
	return strings.Contains(what, "revoke") || what == "deny of a disclosure"
}

// TestLateRevocation: a revocation that arrives after both owners have ended the
// connection does not end the request for the next one; the next one's does.
func TestLateRevocation(t *testing.T) {
	p := newPair(t)
	p.own(p.a, p.a.coordination.RevokeConnection) // on its way, for long
	p.own(p.b, p.b.coordination.RevokeConnection)
	_, err := p.asks(p.b, p.b.owner, coordination.ConnectRequest{})
	must(t, err)
	p.deliver(p.a)
	if got := p.connectionOf(p.b).Status; got != coordination.PendingOutgoing {
		t.Fatalf("after the late revocation the request is %s", got)
	}
	p.settle(3)
	if got := p.connectionOf(p.a).Status; got != coordination.PendingIncoming {
		t.Fatalf("over there the request is %s", got)
	}
	p.own(p.b, p.b.coordination.RevokeConnection)
	p.settle(3)
	if got := p.connectionOf(p.a).Status; got != coordination.ConnRevoked {
		t.Errorf("a request that was taken back is %s", got)
	}
}
