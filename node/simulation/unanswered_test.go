package simulation

import (
	"strings"
	"testing"
	"time"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/policy"
)

// What becomes of a message whose answer never comes, and of one that would be taken
// back too late.

// doubted has a's second proposal lose its answer and be taken back: a is in doubt,
// and a task.void waits. It returns the proposal.
func (p *pair) doubted() (id string) {
	p.t.Helper()
	p.start(plan("2027-01-15"))
	id = p.write(p.a, p.proposing(p.a, "2027-01-16")).ID
	p.attempt(p.a, id)
	p.grant(p.a, "task.propose", policy.Deny)
	p.clock.Advance(2 * time.Second)
	_, err := p.a.worker.Step(p.t.Context())
	must(p.t, err)
	if !p.copyOf(p.a).InDoubt {
		p.t.Fatal("a is not in doubt")
	}
	return id
}

// isOver lets the time of everything pass that a task can still be told.
func (p *pair) isOver(s *side) {
	p.t.Helper()
	p.clock.Advance(24*time.Hour + wire.ConfirmLife)
	p.expire(s)
}

func (p *pair) wantOutOfStep(s *side) {
	p.t.Helper()
	if task := p.copyOf(s); !task.OutOfStep || task.InDoubt {
		p.t.Errorf("%s's task is out of step %v, in doubt %v", s.name, task.OutOfStep, task.InDoubt)
	}
	if waits := p.waiting(); strings.Contains(waits, "code=") {
		p.t.Errorf("something still waits: %s", waits)
	}
}

// TestWithdrawalIsNeverAnswered: nobody will say any more what became of the message.
func TestWithdrawalIsNeverAnswered(t *testing.T) {
	p := newPair(t)
	id := p.doubted()
	p.isOver(p.a)
	if m := p.message(p.a, id); m.Status != coordination.MsgFailed || m.Code != string(node.PolicyDenied) || m.Void {
		t.Errorf("the message is %s %s, void %v", m.Status, m.Code, m.Void)
	}
	p.wantOutOfStep(p.a)
}

// TestProbeIsNeverAnswered: nor what a restored node has to ask.
func TestProbeIsNeverAnswered(t *testing.T) {
	p := newPair(t)
	p.start(plan("2027-01-15"))
	p.restored(p.a)
	if !p.copyOf(p.a).InDoubt {
		t.Fatal("the restored node is not in doubt")
	}
	p.isOver(p.a)
	p.wantOutOfStep(p.a)
}

// TestConfirmationIsNeverAnswered: what was carried out is not taken back.
func TestConfirmationIsNeverAnswered(t *testing.T) {
	p := newPair(t)
	p.agree()
	id := p.confirms(p.a)
	p.isOver(p.a)
	if m := p.message(p.a, id); m.Status != coordination.MsgFailed || m.Code != wire.CodeTooLate || m.Void {
		t.Errorf("the confirmation is %s %s, void %v", m.Status, m.Code, m.Void)
	}
	if got := p.copyOf(p.a).Status; got != coordination.Confirmed {
		t.Errorf("the task is %s", got)
	}
	p.wantOutOfStep(p.a)
}

// confirms has a side carry out what was agreed, and its confirmation lose its answer.
func (p *pair) confirms(s *side) (id string) {
	p.t.Helper()
	_, err := p.run(s, "")
	must(p.t, err)
	id = p.newest(s).ID
	p.attempt(s, id)
	return id
}

// TestConfirmationIsRefused: the other side's copy takes nothing, and ours stays.
func TestConfirmationIsRefused(t *testing.T) {
	for _, code := range []string{wire.CodeOutOfStep, wire.CodeSeqReused, wire.CodeRestored} {
		t.Run(code, func(t *testing.T) {
			p := newPair(t)
			p.agree()
			id := p.confirms(p.a)
			done := p.answered(p.a, wire.Ack{Ref: id, Status: wire.Rejected, Code: code})
			p.wantFate(id, done, fate{Done: true, Status: coordination.MsgRejected, Code: code, Settled: true,
				Task: coordination.Confirmed, OutOfStep: true})
		})
	}
}

// TestCancelThatMetAConfirmIsNotVoid: the two have crossed, both owners were told, and
// that the cancel may then not leave changes nothing of it.
func TestCancelThatMetAConfirmIsNotVoid(t *testing.T) {
	p := newPair(t)
	p.agree()
	id := p.write(p.b, p.cancelling(p.b)).ID
	_, err := p.run(p.a, "")
	must(t, err)
	p.deliver(p.a)
	p.disable(p.b)
	p.deliver(p.b)
	if m := p.message(p.b, id); m.Status != coordination.MsgFailed || m.Void {
		t.Errorf("the cancel is %s, void %v", m.Status, m.Void)
	}
	if b := p.copyOf(p.b); b.Status != coordination.CancelledTask || b.Copy.Crossed == nil || b.Disagreement != coordination.ConfirmedVsEnded {
		t.Errorf("b is %s, crossed %v, says %q", b.Status, b.Copy.Crossed, b.Disagreement)
	}
}

// TestVoidOnce: a proposal that crossed is void for that, whatever the other side's
// answer to it says later; the log tells it once. Where it says that it was applied, the
// copies no longer follow one another.
func TestVoidOnce(t *testing.T) {
	for name, test := range map[string]struct {
		answer wire.Ack
		status coordination.MessageStatus
		out    bool
	}{
		"rejected": {wire.Ack{Status: wire.Rejected, Code: wire.CodeStaleVersion}, coordination.MsgRejected, false},
		"applied":  {wire.Ack{Status: wire.Applied}, coordination.MsgDelivered, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			p.start(plan("2027-01-15"))
			id := p.write(p.b, p.proposing(p.b, "2027-01-17")).ID
			p.attempt(p.b, id)
			p.write(p.a, p.proposing(p.a, "2027-01-16"))
			p.deliver(p.a)
			test.answer.Ref = id
			p.answered(p.b, test.answer)
			m := p.message(p.b, id)
			if m.Status != test.status || !m.Void || m.VoidReason != wire.CodeVersionConflict {
				t.Errorf("it is %s, void %v for %s", m.Status, m.Void, m.VoidReason)
			}
			if got := p.events(p.b, audit.TaskVoided, id); got != 1 {
				t.Errorf("%d rows of the log say that it is void", got)
			}
			if got := p.copyOf(p.b).OutOfStep; got != test.out {
				t.Errorf("out of step is %v", got)
			}
		})
	}
}
