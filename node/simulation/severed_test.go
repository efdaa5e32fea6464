package simulation

import (
	"testing"
	"time"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node/audit"
)

// What the end of a connection does to the tasks and messages under it.

// TestAllThatIsQueuedEnds: also what stands behind a message that has fallen with the
// one before it.
func TestAllThatIsQueuedEnds(t *testing.T) {
	p := newPair(t)
	p.start(plan("2027-02-15"))
	short := p.uid
	p.start(plan("2027-01-15"))
	for _, date := range []string{"2027-01-16", "2027-01-17", "2027-01-18"} {
		p.write(p.a, p.proposing(p.a, date))
	}
	p.deliver(p.a)
	last := p.write(p.a, p.proposing(p.a, "2027-01-19")).ID // its position is above the others'
	p.uid = short
	first := p.write(p.a, p.proposing(p.a, "2027-02-16")).ID
	second := p.write(p.a, p.proposing(p.a, "2027-02-17")).ID
	p.own(p.a, p.a.coordination.RevokeConnection)
	for what, id := range map[string]string{"the first": first, "what rests on it": second, "another task's": last} {
		if m := p.message(p.a, id); m.Status != coordination.MsgFailed || !m.Void {
			t.Errorf("%s is %s, void %v", what, m.Status, m.Void)
		}
	}
}

// TestOutOfStepOnce: tasks that could still change are out of step, and the log says it
// once; one that had expired without an agreement can change no more.
func TestOutOfStepOnce(t *testing.T) {
	for name, test := range map[string]struct {
		agreed, over, want bool
	}{
		"open": {false, false, true}, "agreed": {true, false, true},
		"expired": {false, true, false}, "agreed, then expired": {true, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			if p.start(plan("2027-01-15")); test.agreed {
				p.write(p.b, p.answering(p.b, 1, wire.Accept))
				p.deliver(p.b)
			}
			if test.over {
				p.clock.Advance(25 * time.Hour)
				p.expire(p.a)
			}
			p.own(p.a, p.a.coordination.RevokeConnection)
			rows := 0
			if test.want {
				rows = 1
			}
			if got := p.events(p.a, audit.TaskOutOfStep, ""); p.copyOf(p.a).OutOfStep != test.want || got != rows {
				t.Errorf("out of step %v, %d rows of the log", p.copyOf(p.a).OutOfStep, got)
			}
		})
	}
}

// TestToldTwiceThatItIsOutOfStep: the connection ends under a task that was out of step.
func TestToldTwiceThatItIsOutOfStep(t *testing.T) {
	p := newPair(t)
	p.start(plan("2027-01-15"))
	id := p.write(p.a, p.proposing(p.a, "2027-01-16")).ID
	p.attempt(p.a, id)
	p.answered(p.a, wire.Ack{Ref: id, Status: wire.Rejected, Code: wire.CodeOutOfStep})
	p.own(p.a, p.a.coordination.RevokeConnection)
	if got := p.events(p.a, audit.TaskOutOfStep, ""); got != 1 {
		t.Errorf("the log says so %d times", got)
	}
}
