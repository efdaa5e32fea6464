package simulation

import (
	"testing"

	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/policy"
)

// What ends before it has left: held messages, and requests to connect.

func (p *pair) reject(s *side, a approvals.Approval) {
	p.t.Helper()
	_, err := p.decide(s, a, func(d *approvals.Decision) { d.Approve = false })
	must(p.t, err)
}

// lapse lets every open approval of a side run out.
func (p *pair) lapse(s *side) {
	p.t.Helper()
	p.clock.Advance(approvals.DefaultTTL)
	_, err := s.approvals.ExpireStep(p.t.Context())
	must(p.t, err)
}

// events counts what a side's log says of a subject.
func (p *pair) events(s *side, typ audit.Type, subject string) (found int) {
	p.t.Helper()
	s.in(p.t, func(tx node.Tx) error {
		rows, err := s.store.AuditRows(tx, audit.Filter{Types: []audit.Type{typ}, Limit: 100})
		for _, row := range rows {
			if row.Subject == subject {
				found++
			}
		}
		return err
	})
	return found
}

// TestHeldMessageEnds: the owner says no, or nothing, and nothing leaves.
func TestHeldMessageEnds(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(p *pair)
		code string
	}{
		"no":      {func(p *pair) { p.reject(p.a, p.pending(p.a)) }, string(node.ReasonApprovalRejected)},
		"nothing": {func(p *pair) { p.lapse(p.a) }, string(node.ReasonApprovalExpired)},
	} {
		t.Run(name+" to a proposal", func(t *testing.T) {
			p := newPair(t)
			p.start(plan("2027-01-15"))
			p.mode(p.a, policy.Manual)
			id := p.write(p.a, p.proposing(p.a, "2027-01-16")).ID
			test.end(p)
			m := p.message(p.a, id)
			if m.Status != coordination.MsgRejected || m.Code != test.code || m.SettledAt.IsZero() || m.Seq != 0 {
				t.Errorf("it is %s %s, number %d", m.Status, m.Code, m.Seq)
			}
			if task := p.copyOf(p.a); task.Status != coordination.Negotiating || len(task.Copy.Proposals) != 1 {
				t.Errorf("the task is %s with %d proposals", task.Status, len(task.Copy.Proposals))
			}
			if got := p.events(p.a, audit.MessageRejected, id); got != 1 {
				t.Errorf("the log says so %d times", got)
			}
			p.deliver(p.a)
			if got := len(p.copyOf(p.b).Copy.Proposals); got != 1 {
				t.Errorf("the other side has %d proposals", got)
			}
		})
		t.Run(name+" to a start", func(t *testing.T) {
			p := newPair(t)
			p.mode(p.a, policy.Manual)
			p.start(plan("2027-01-15"))
			test.end(p)
			task := p.copyOf(p.a)
			if task.Status != coordination.CancelledTask || task.Copy.Status != coordination.CancelledTask || !task.Held {
				t.Errorf("the task that nobody has seen is %s, held %v", task.Status, task.Held)
			}
			p.a.in(t, func(tx node.Tx) error {
				if _, err := p.a.coordination.Task(tx, p.a.agent.ID, p.uid); node.CodeOf(err) != node.NotFound {
					t.Errorf("its agent sees it: %v", err)
				}
				_, err := p.a.coordination.Task(tx, "", p.uid) // its owner does
				return err
			})
		})
	}
}

// TestNotHeldAnyMore: a message whose row says that it has ended does not leave for an
// approval that is still open.
func TestNotHeldAnyMore(t *testing.T) {
	p := newPair(t)
	p.start(plan("2027-01-15"))
	p.mode(p.a, policy.Manual)
	m := p.message(p.a, p.write(p.a, p.proposing(p.a, "2027-01-16")).ID)
	m.Status = coordination.MsgFailed
	p.a.in(t, func(tx node.Tx) error { return p.a.store.SaveMessage(tx, m, coordination.MsgPendingApproval) })
	if effect, err := p.decide(p.a, p.pending(p.a), nil); err == nil && effect.Outcome != "failed" {
		t.Errorf("its approval is %s", effect.Outcome)
	}
	if got := p.message(p.a, m.ID).Status; got != coordination.MsgFailed {
		t.Errorf("it is %s", got)
	}
}

// TestOwnRequestEnds: a request that waits for our owner is told to nobody.
func TestOwnRequestEnds(t *testing.T) {
	for name, end := range map[string]func(p *pair){
		"no":          func(p *pair) { p.reject(p.a, p.pending(p.a)) },
		"nothing":     func(p *pair) { p.lapse(p.a) },
		"taken back":  func(p *pair) { p.own(p.a, p.a.coordination.RevokeConnection) },
		"denied then": func(p *pair) { p.grant(p.a, policy.ConnectionRequest, policy.Deny); p.approves(p.a, "policy_denied") },
	} {
		t.Run(name, func(t *testing.T) {
			p := newStrangers(t)
			p.mode(p.a, policy.Manual)
			_, err := p.asks(p.a, p.a.actor(), coordination.ConnectRequest{})
			must(t, err)
			approval := p.pending(p.a)
			sent := 0
			p.network.watch = func(*side, []byte) { sent++ }
			end(p)
			p.deliver(p.a)
			c := p.connectionOf(p.a)
			if c.Status != coordination.ConnRevoked || c.Sent || sent != 0 {
				t.Errorf("the connection is %s, and %d envelopes left", c.Status, sent)
			}
			if got := p.approval(p.a, approval.ID).Status; got.Open() {
				t.Errorf("the approval is still %s", got)
			}
			if got := p.events(p.a, audit.ConnectionRevoked, c.ID); got != 1 {
				t.Errorf("the log says %d times that it is revoked", got)
			}
		})
	}
}

// approves says yes where that is of no use any more.
func (p *pair) approves(s *side, code string) {
	p.t.Helper()
	effect, err := p.decide(s, p.pending(s), nil)
	must(p.t, err)
	if effect.Outcome != "failed" || effect.Code != code {
		p.t.Errorf("%s %s, want failed %s", effect.Outcome, effect.Code, code)
	}
}

// TestTheirRequestIsAcceptedInstead: a request of ours that waits for the owner
// ends when the owner accepts the contact's own.
func TestTheirRequestIsAcceptedInstead(t *testing.T) {
	p := newStrangers(t)
	p.mode(p.b, policy.Manual)
	_, err := p.asks(p.b, p.b.actor(), coordination.ConnectRequest{})
	must(t, err)
	ours := p.pending(p.b)
	_, err = p.asks(p.a, p.a.actor(), coordination.ConnectRequest{})
	must(t, err)
	p.settle(3)
	by := map[coordination.ConnectionStatus]string{}
	p.b.in(t, func(tx node.Tx) error {
		list, err := p.b.coordination.Connections(tx, p.b.agent.ID, coordination.Page{Limit: 10})
		for _, c := range list {
			by[c.Status] = c.ID
		}
		return err
	})
	own, theirs := by[coordination.PendingOwner], by[coordination.PendingIncoming]
	if own == "" || theirs == "" {
		t.Fatalf("the connections are %v", by)
	}
	accept := func(id string) error {
		return p.b.store.InTx(t.Context(), func(tx node.Tx) error {
			_, err := p.b.coordination.AcceptConnection(tx, p.b.owner, id)
			return err
		})
	}
	if err := accept(own); node.ReasonOf(err) != node.ReasonBadState {
		t.Errorf("accepting our own: %v", err)
	}
	must(t, accept(theirs))
	if err := accept(theirs); node.ReasonOf(err) != node.ReasonBadState {
		t.Errorf("accepting twice: %v", err)
	}
	p.settle(3)
	p.b.in(t, func(tx node.Tx) error {
		for id, want := range map[string]coordination.ConnectionStatus{own: coordination.ConnRevoked, theirs: coordination.ConnActive} {
			if c, err := p.b.coordination.Connection(tx, p.b.agent.ID, id); err != nil || c.Status != want {
				t.Errorf("%s, want %s; %v", c.Status, want, err)
			}
		}
		return nil
	})
	if got := p.approval(p.b, ours.ID).Status; got.Open() {
		t.Errorf("the approval of ours is still %s", got)
	}
	if got := p.connectionOf(p.a).Status; got != coordination.ConnActive {
		t.Errorf("over there it is %s", got)
	}
}

// TestEndedOnce: what has ended is not ended again, and a changed key is told once.
func TestEndedOnce(t *testing.T) {
	p := newPair(t)
	c := p.connectionOf(p.a)
	for range 2 {
		p.a.in(t, func(tx node.Tx) error { return p.a.coordination.MarkKeyChanged(tx, c) })
	}
	if got := p.connectionOf(p.a); !got.KeyChanged || p.events(p.a, audit.ConnectionKeyChanged, c.ID) != 1 {
		t.Errorf("key changed %v, in the log %d times", got.KeyChanged, p.events(p.a, audit.ConnectionKeyChanged, c.ID))
	}
	p.own(p.a, p.a.coordination.RevokeConnection)
	err := p.a.store.InTx(t.Context(), func(tx node.Tx) error {
		_, err := p.a.coordination.RevokeConnection(tx, p.a.owner, c.ID)
		return err
	})
	if node.ReasonOf(err) != node.ReasonBadState {
		t.Errorf("revoked twice: %v", err)
	}
}

// TestForeignIsUnknown: what is another agent's and what is nobody's are the same.
func TestForeignIsUnknown(t *testing.T) {
	p := newPair(t)
	p.start(plan("2027-01-15"))
	id := p.write(p.a, p.proposing(p.a, "2027-01-16")).ID
	c := p.connectionOf(p.a)
	reads := func(agentID, connection, message, uid string) (errs [3]error) {
		p.a.in(t, func(tx node.Tx) error {
			_, errs[0] = p.a.coordination.Connection(tx, agentID, connection)
			_, errs[1] = p.a.coordination.Message(tx, agentID, message)
			_, errs[2] = p.a.coordination.Task(tx, agentID, uid)
			return nil
		})
		return errs
	}
	if got := reads(p.a.agent.ID, c.ID, id, p.uid); got != [3]error{} {
		t.Errorf("our own: %v", got)
	}
	foreign, nothing := reads("another", c.ID, id, p.uid), reads(p.a.agent.ID, "none", "none", "none")
	for i := range foreign {
		if node.CodeOf(foreign[i]) != node.NotFound || foreign[i].Error() != nothing[i].Error() {
			t.Errorf("foreign: %v; none: %v", foreign[i], nothing[i])
		}
	}
	p.a.in(t, func(tx node.Tx) error {
		if _, err := p.a.coordination.Connection(tx, "", c.ID); err != nil {
			t.Errorf("the owner: %v", err)
		}
		return nil
	})
}
