package simulation

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"
	"time"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/outbox"
)

// attempt is what a worker does before and after bytes leave, without a network.
func (p *pair) attempt(s *side, id string) (d coordination.Dispatch) {
	p.t.Helper()
	if d = p.looksAt(s, id); d.Do != coordination.Send {
		p.t.Fatalf("it does not leave: %s", d.Do)
	}
	return d
}

// looksAt is the same, whatever comes of it.
func (p *pair) looksAt(s *side, id string) (d coordination.Dispatch) {
	p.t.Helper()
	s.in(p.t, func(tx node.Tx) (err error) {
		item := outbox.Item{AgentID: s.agent.ID, Ref: id}
		if err := s.coordination.Lock(tx, item); err != nil {
			return err
		}
		d, err = s.coordination.Dispatch(tx, item, func(coordination.Dispatch) ([]byte, error) {
			p.signed++
			return fmt.Append(nil, "signed ", p.signed), nil
		})
		return err
	})
	return d
}

// answered is the other side's answer to a message, and whether that settles it.
func (p *pair) answered(s *side, ack wire.Ack) (done bool) {
	p.t.Helper()
	s.in(p.t, func(tx node.Tx) (err error) {
		done, err = s.coordination.Acknowledged(tx, s.agent.ID, ack)
		return err
	})
	return done
}

// fate is what is to see of a message and its task.
type fate struct {
	Done         bool
	Status       coordination.MessageStatus
	Code         string
	Void         bool
	Settled      bool
	Task         coordination.Status
	Disagreement coordination.Disagreement
	OutOfStep    bool
}

func (p *pair) fateOf(id string, done bool) fate {
	m, task := p.message(p.a, id), p.copyOf(p.a)
	return fate{done, m.Status, m.Code, m.Void, !m.SettledAt.IsZero(), task.Status, task.Disagreement, task.OutOfStep}
}

func (p *pair) wantFate(id string, done bool, want fate) {
	p.t.Helper()
	if got := p.fateOf(id, done); got != want {
		p.t.Errorf("it is %+v, want %+v", got, want)
	}
}

// TestAnswers is what each answer of the other side makes of a proposal, and of a
// cancel: the message, and our copy of the task.
func TestAnswers(t *testing.T) {
	rejected := func(code string) wire.Ack { return wire.Ack{Status: wire.Rejected, Code: code} }
	proposal, cancel := coordination.Negotiating, coordination.CancelledTask
	void := func(code string) fate {
		return fate{Done: true, Status: coordination.MsgRejected, Code: code, Void: true, Settled: true, Task: coordination.Negotiating}
	}
	outOfStep := func(code string) fate { f := void(code); f.OutOfStep = true; return f }
	differs := func(code string, what coordination.Disagreement) fate {
		return fate{Done: true, Status: coordination.MsgRejected, Code: code, Settled: true, Task: cancel, Disagreement: what}
	}
	for name, test := range map[string]struct {
		cancel bool
		ack    wire.Ack
		want   fate
	}{
		"applied":                          {false, wire.Ack{Status: wire.Applied}, fate{Done: true, Status: coordination.MsgDelivered, Settled: true, Task: proposal}},
		"not now":                          {false, rejected(wire.CodeUnavailable), fate{Status: coordination.MsgQueued, Task: proposal}},
		"crossed":                          {false, rejected(wire.CodeVersionConflict), void(wire.CodeVersionConflict)},
		"for a reason nobody knows":        {false, rejected("<b>because</b>"), void("other")},
		"its number was used":              {false, rejected(wire.CodeSeqReused), outOfStep(wire.CodeSeqReused)},
		"the copy was restored":            {false, rejected(wire.CodeRestored), outOfStep(wire.CodeRestored)},
		"the copy takes nothing":           {false, rejected(wire.CodeOutOfStep), outOfStep(wire.CodeOutOfStep)},
		"a proposal confirmed meanwhile":   {false, rejected(wire.CodeAlreadyConfirmed), void(wire.CodeAlreadyConfirmed)},
		"cancel applied":                   {true, wire.Ack{Status: wire.Applied}, fate{Done: true, Status: coordination.MsgDelivered, Settled: true, Task: cancel}},
		"cancel of what is confirmed":      {true, rejected(wire.CodeAlreadyConfirmed), differs(wire.CodeAlreadyConfirmed, coordination.ConfirmedVsEnded)},
		"cancel of what has ended":         {true, rejected(wire.CodeTaskEnded), void(wire.CodeTaskEnded)},
		"cancel whose number was used":     {true, rejected(wire.CodeSeqReused), outOfStep(wire.CodeSeqReused)},
		"cancel that cannot be read":       {true, rejected(wire.CodeForged), void(wire.CodeForged)},
		"cancel that comes from nowhere":   {true, rejected(wire.CodeNotConnected), void(wire.CodeNotConnected)},
		"cancel, the other side is not up": {true, rejected(wire.CodeUnavailable), fate{Status: coordination.MsgQueued, Task: cancel}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			p.start(plan("2027-01-15"))
			write := p.proposing(p.a, "2027-01-16")
			if test.cancel {
				write = p.cancelling(p.a)
			}
			id := p.write(p.a, write).ID
			p.attempt(p.a, id)
			test.ack.Ref = id
			p.wantFate(id, p.answered(p.a, test.ack), test.want)
			if !test.want.Done {
				return
			}
			other := wire.Ack{Ref: id, Status: wire.Rejected, Code: wire.CodeSeqReused} // a second answer changes nothing
			p.wantFate(id, p.answered(p.a, other), test.want)
		})
	}
}

// TestGapIsFilled: what the other side says it has not processed is sent again,
// byte for byte, and where the bytes are gone nobody pretends.
func TestGapIsFilled(t *testing.T) {
	for name, kept := range map[string]bool{"from what was kept": true, "but the bytes are gone": false} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			p.start(plan("2027-01-15"))
			second := p.write(p.a, p.proposing(p.a, "2027-01-16")).ID
			p.deliver(p.a)
			third := p.write(p.a, p.proposing(p.a, "2027-01-17")).ID
			p.attempt(p.a, third)
			before := p.message(p.a, second)
			if !kept {
				gone := before
				gone.Envelope = nil
				p.a.in(t, func(tx node.Tx) error { return p.a.store.SaveMessage(tx, gone, gone.Status) })
			}
			done := p.answered(p.a, wire.Ack{Ref: third, Status: wire.Rejected, Code: wire.CodeGap, Ack: 1})
			if !kept {
				p.wantFate(third, done, fate{Done: true, Status: coordination.MsgRejected, Code: wire.CodeSeqReused, Void: true,
					Settled: true, Task: coordination.Negotiating, OutOfStep: true})
				return
			}
			again := p.message(p.a, second)
			if done || again.Status != coordination.MsgQueued || string(again.Envelope) != string(before.Envelope) || again.Seq != 2 {
				t.Fatalf("done is %v, and number %d is %s", done, again.Seq, again.Status)
			}
			if first := p.numbered(p.a, 1); first.Status != coordination.MsgDelivered {
				t.Errorf("number 1, which the other side has, is %s", first.Status)
			}
			if done := p.answered(p.a, wire.Ack{Ref: third, Status: wire.Rejected, Code: wire.CodeGap, Ack: 1}); done {
				t.Error("with the gap on its way it is settled")
			}
			if d := p.attempt(p.a, second); string(d.Envelope) != string(before.Envelope) {
				t.Error("other bytes would leave")
			}
		})
	}
}

func (p *pair) numbered(s *side, seq int64) (m coordination.Message) {
	p.t.Helper()
	s.in(p.t, func(tx node.Tx) (err error) {
		m, err = s.store.NumberedMessage(tx, s.agent.ID, p.uid, coordination.Out, seq)
		return err
	})
	return m
}

// TestGapIsSentAgain: all of it, in its order, by the worker.
func TestGapIsSentAgain(t *testing.T) {
	p := newPair(t)
	p.start(plan("2027-01-15"))
	var gap []string
	for _, date := range []string{"2027-01-16", "2027-01-17"} {
		gap = append(gap, p.write(p.a, p.proposing(p.a, date)).ID)
	}
	p.deliver(p.a)
	last := p.write(p.a, p.proposing(p.a, "2027-01-18")).ID
	p.attempt(p.a, last)
	p.answered(p.a, wire.Ack{Ref: last, Status: wire.Rejected, Code: wire.CodeGap, Ack: 1})
	for _, id := range gap {
		if m := p.message(p.a, id); m.Status != coordination.MsgQueued {
			t.Errorf("number %d is %s", m.Seq, m.Status)
		}
		_, err := p.a.worker.Step(t.Context())
		must(t, err)
		if m := p.message(p.a, id); m.Status != coordination.MsgDelivered {
			t.Errorf("number %d is %s after a look of the worker", m.Seq, m.Status)
		}
	}
}

// TestNotSent: an attempt that wrote no byte is none. Where it was the only one,
// the message has no number and can still be taken back.
func TestNotSent(t *testing.T) {
	p := newPair(t)
	p.start(plan("2027-01-15"))
	id := p.write(p.a, p.proposing(p.a, "2027-01-16")).ID
	back := func() coordination.Message {
		p.a.in(t, func(tx node.Tx) error { return p.a.coordination.NotSent(tx, p.a.agent.ID, id) })
		return p.message(p.a, id)
	}
	if m := back(); m.Tries != 0 {
		t.Errorf("without an attempt there are %d", m.Tries)
	}
	p.attempt(p.a, id)
	p.attempt(p.a, id)
	if m := back(); m.Tries != 1 || m.Seq != 2 || m.AttemptedAt.IsZero() || m.Envelope == nil {
		t.Errorf("after one of two attempts: %d tries, number %d, attempted at %s", m.Tries, m.Seq, m.AttemptedAt)
	}
	if m := back(); m.Tries != 0 || m.Seq != 0 || !m.AttemptedAt.IsZero() || m.Envelope != nil || m.Sha256 != "" {
		t.Errorf("after the only one: %d tries, number %d, attempted at %s", m.Tries, m.Seq, m.AttemptedAt)
	}
	if got := p.copyOf(p.a).OutSeq; got != 1 {
		t.Errorf("the task's last number is %d, want 1", got)
	}

	later := p.write(p.a, p.cancelling(p.a)).ID
	p.attempt(p.a, id)
	p.attempt(p.a, later)
	if m := back(); m.Seq != 2 || p.copyOf(p.a).OutSeq != 3 {
		t.Errorf("with a later number given, this one is %d and the last %d, want 2 and 3", m.Seq, p.copyOf(p.a).OutSeq)
	}
	p.attempt(p.a, id)
	p.answered(p.a, wire.Ack{Ref: id, Status: wire.Applied})
	if m := back(); m.Tries != 1 || m.Seq != 2 || m.Status != coordination.MsgDelivered {
		t.Errorf("a delivered one: %d tries, number %d, %s", m.Tries, m.Seq, m.Status)
	}
}

// TestKeptOnce: of one message two different envelopes never leave.
func TestKeptOnce(t *testing.T) {
	p := newPair(t)
	p.start(plan("2027-01-15"))
	id := p.write(p.a, p.proposing(p.a, "2027-01-16")).ID
	first := p.attempt(p.a, id)
	again := p.attempt(p.a, id)
	if first.Again || !again.Again || len(first.Envelope) == 0 || string(first.Envelope) != string(again.Envelope) {
		t.Errorf("first %q (again: %v), then %q (again: %v)", first.Envelope, first.Again, again.Envelope, again.Again)
	}
	hash := fmt.Sprintf("%x", sha256.Sum256(first.Envelope))
	if m := p.message(p.a, id); string(m.Envelope) != string(first.Envelope) || m.Sha256 != hash || m.Tries != 2 {
		t.Errorf("what is kept is %q with %s, %d tries", m.Envelope, m.Sha256, m.Tries)
	}
}

// TestWhatIsNotSignedWasNotAttempted: where no envelope can be made, nothing of the
// attempt is kept.
func TestWhatIsNotSignedWasNotAttempted(t *testing.T) {
	p := newPair(t)
	p.start(plan("2027-01-15"))
	id, before := p.write(p.a, p.proposing(p.a, "2027-01-16")).ID, p.copyOf(p.a)
	broken := errors.New("no key")
	err := p.a.store.InTx(t.Context(), func(tx node.Tx) error {
		_, err := p.a.coordination.Dispatch(tx, outbox.Item{AgentID: p.a.agent.ID, Ref: id}, func(coordination.Dispatch) ([]byte, error) { return nil, broken })
		return err
	})
	m := p.message(p.a, id)
	if !errors.Is(err, broken) || m.Tries != 0 || m.Seq != 0 || m.Envelope != nil || p.copyOf(p.a).OutSeq != before.OutSeq {
		t.Errorf("%v: %d tries, number %d, %q", err, m.Tries, m.Seq, m.Envelope)
	}
}

// TestChatIsNotSentForever: a message that nobody answers fails when its time is
// over, and not a moment before.
func TestChatIsNotSentForever(t *testing.T) {
	for name, attempted := range map[string]bool{"never tried": false, "tried": true} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			c := p.connectionOf(p.a)
			p.grant(p.a, "message.send", "allow")
			id := p.write(p.a, func(tx node.Tx) (coordination.Result, error) {
				return p.a.coordination.SendMessage(tx, p.a.actor(), c.ID, "Hello")
			}).ID
			if attempted {
				p.attempt(p.a, id)
			}
			p.clock.Advance(wire.ChatLife - time.Microsecond)
			p.expire(p.a)
			if m := p.message(p.a, id); m.Status != coordination.MsgQueued {
				t.Fatalf("before its end it is %s", m.Status)
			}
			p.clock.Advance(time.Second)
			p.expire(p.a)
			if m := p.message(p.a, id); m.Status != coordination.MsgFailed || m.Code != wire.CodeTooLate || m.SettledAt.IsZero() {
				t.Errorf("at its end it is %s %s", m.Status, m.Code)
			}
		})
	}
}

func (p *pair) expire(s *side) {
	p.t.Helper()
	_, err := s.coordination.ExpireStep(p.t.Context())
	must(p.t, err)
}
