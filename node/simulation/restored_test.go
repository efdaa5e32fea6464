package simulation

import (
	"testing"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/policy"
)

// What a node does with what its restored database holds (D13).

func (p *pair) restored(s *side) {
	p.t.Helper()
	s.in(p.t, s.coordination.Restored)
}

// TestRestoredQueue: what may have left in bytes that are gone is not sent again.
func TestRestoredQueue(t *testing.T) {
	chat := func(p *pair) string { return p.says(p.a) }
	proposal := func(p *pair) string {
		p.start(plan("2027-01-15"))
		return p.write(p.a, p.proposing(p.a, "2027-01-16")).ID
	}
	revocation := func(p *pair) string {
		p.own(p.a, p.a.coordination.RevokeConnection)
		return p.queued(p.a)[0].ID
	}
	withdrawal := func(p *pair) string {
		p.doubted()
		for _, m := range p.queued(p.a) {
			if m.Type == wire.TaskVoid {
				return m.ID
			}
		}
		return ""
	}
	kept := func(write func(p *pair) string) func(p *pair) string {
		return func(p *pair) string { id := write(p); p.attempt(p.a, id); return id }
	}
	for name, test := range map[string]struct {
		write func(p *pair) string
		want  coordination.MessageStatus
	}{
		"chat": {chat, coordination.MsgFailed}, "chat, with its envelope": {kept(chat), coordination.MsgQueued},
		"a proposal": {proposal, coordination.MsgFailed}, "a proposal, with its envelope": {kept(proposal), coordination.MsgQueued},
		"a revocation": {revocation, coordination.MsgQueued}, "a withdrawal": {withdrawal, coordination.MsgQueued},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			id := test.write(p)
			p.restored(p.a)
			m := p.message(p.a, id)
			if failed := m.Code == wire.CodeRestored; m.Status != test.want || failed != (test.want == coordination.MsgFailed) {
				t.Errorf("it is %s %q, want %s", m.Status, m.Code, test.want)
			}
		})
	}
}

func (p *pair) queued(s *side) (list []coordination.Message) {
	p.t.Helper()
	c := p.connectionOf(s)
	s.in(p.t, func(tx node.Tx) (err error) {
		list, err = s.store.QueuedMessages(tx, s.agent.ID, c.ID)
		return err
	})
	return list
}

// TestRestoredTasks: each unfinished task asks once whether its next number is free.
func TestRestoredTasks(t *testing.T) {
	for name, test := range map[string]struct {
		begin func(p *pair)
		asks  int
		doubt bool
	}{
		"open":     {func(p *pair) { p.start(plan("2027-01-15")) }, 1, true},
		"agreed":   {func(p *pair) { p.agree() }, 1, true},
		"held":     {func(p *pair) { p.mode(p.a, policy.Manual); p.start(plan("2027-01-15")) }, 0, false},
		"ended":    {func(p *pair) { p.agree(); p.write(p.a, p.cancelling(p.a)); p.deliver(p.a) }, 0, false},
		"in doubt": {func(p *pair) { p.doubted() }, 1, true}, // that of before
		"out of step": {func(p *pair) {
			p.start(plan("2027-01-15"))
			id := p.write(p.a, p.proposing(p.a, "2027-01-16")).ID
			p.attempt(p.a, id)
			p.answered(p.a, wire.Ack{Ref: id, Status: wire.Rejected, Code: wire.CodeOutOfStep})
		}, 0, false},
		"of a connection that ended": {func(p *pair) {
			p.start(plan("2027-01-15"))
			p.alter(p.a, revoked)
		}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			test.begin(p)
			p.restored(p.a)
			asks := 0
			for _, m := range p.queued(p.a) {
				if m.Type == wire.TaskVoid {
					asks++
				}
			}
			if got := p.copyOf(p.a).InDoubt; asks != test.asks || got != test.doubt {
				t.Errorf("it asks %d times, in doubt %v; want %d, %v", asks, got, test.asks, test.doubt)
			}
		})
	}
}

// TestRestoredAsksOfEach: of two tasks both.
func TestRestoredAsksOfEach(t *testing.T) {
	p := newPair(t)
	var tasks []string
	for range 2 {
		p.start(plan("2027-01-15"))
		tasks = append(tasks, p.uid)
	}
	p.restored(p.a)
	for _, p.uid = range tasks {
		if !p.copyOf(p.a).InDoubt {
			t.Error("it does not ask")
		}
	}
}

// TestRestoredAsks: where the number is free the copies are in step; where it is not, both
// sides say that they are not.
func TestRestoredAsks(t *testing.T) {
	for name, forgotten := range map[string]bool{"nothing was forgotten": false, "a proposal was": true} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			p.start(plan("2027-01-15"))
			if forgotten {
				p.receive(p.b, wire.TaskPropose, 2, 0, p.proposal(2, plan("2027-01-16")))
			}
			p.restored(p.a)
			p.deliver(p.a)
			for _, s := range p.sides {
				if task := p.copyOf(s); task.OutOfStep != forgotten || task.InDoubt {
					t.Errorf("%s: out of step %v, in doubt %v", s.name, task.OutOfStep, task.InDoubt)
				}
			}
		})
	}
}
