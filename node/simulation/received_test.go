package simulation

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/policy"
)

// received finds what came under a number.
func (p *pair) received(s *side, seq int64) (m coordination.Message) {
	p.t.Helper()
	s.in(p.t, func(tx node.Tx) (err error) {
		m, err = s.store.NumberedMessage(tx, s.agent.ID, p.uid, coordination.In, seq)
		return err
	})
	return m
}

func (p *pair) proposal(version int, fields json.RawMessage) wire.Proposal {
	return wire.Proposal{Version: version, Fields: fields, Digest: coordination.Digest(p.uid, coordination.Initiator, version, fields)}
}

// TestNumbers is what each number of the other side gets, of a task whose number
// 1 has come and that has said nothing itself.
func TestNumbers(t *testing.T) {
	create := func(p *pair) any {
		return wire.Create{TaskType: "dinner.coordination", Title: "Another", Deadline: p.clock.Now().Add(time.Hour)}
	}
	second := func(p *pair) any { return p.proposal(2, plan("2027-01-16")) }
	names := func(id string) func(*pair) any { return func(*pair) any { return wire.Void{JTI: id} } }
	came := func(p *pair) any { return wire.Void{JTI: p.received(p.b, 1).ID} }
	for name, test := range map[string]struct {
		typ       wire.Type
		seq, ack  int64
		content   func(*pair) any
		status    string
		code      string
		outOfStep bool
		inSeq     int64
	}{
		"the next":                         {wire.TaskPropose, 2, 0, second, wire.Applied, "", false, 2},
		"the next, which cannot be read":   {wire.TaskPropose, 2, 0, func(*pair) any { return "x" }, wire.Rejected, wire.CodeBadContent, false, 2},
		"one too far":                      {wire.TaskPropose, 3, 0, second, wire.Rejected, wire.CodeGap, false, 1},
		"another message under a number":   {wire.TaskPropose, 1, 0, second, wire.Rejected, wire.CodeSeqReused, true, 1},
		"it knows what was never said":     {wire.TaskPropose, 2, 1, second, wire.Rejected, wire.CodeRestored, true, 1},
		"started again":                    {wire.TaskCreate, 2, 0, create, wire.Rejected, wire.CodeUIDTaken, false, 1},
		"started again under its number":   {wire.TaskCreate, 1, 0, create, wire.Rejected, wire.CodeSeqReused, true, 1},
		"withdrawn in time":                {wire.TaskVoid, 2, 0, names("019f1c3a-7b00-7000-8000-000000000009"), wire.Applied, wire.CodeVoided, false, 2},
		"a withdrawal of nothing":          {wire.TaskVoid, 2, 0, names("it"), wire.Rejected, wire.CodeBadContent, false, 2},
		"withdrawn too late":               {wire.TaskVoid, 1, 0, came, wire.Applied, wire.CodeAlreadyProcessed, false, 1},
		"another one withdrawn":            {wire.TaskVoid, 1, 0, names("019f1c3a-7b00-7000-8000-000000000009"), wire.Rejected, wire.CodeSeqReused, true, 1},
		"something withdrawn, nobody says": {wire.TaskVoid, 1, 0, names(""), wire.Rejected, wire.CodeSeqReused, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			p.start(plan("2027-01-15"))
			ack := p.receive(p.b, test.typ, test.seq, test.ack, test.content(p))
			if ack.Status != test.status || ack.Code != test.code {
				t.Errorf("%s %s, want %s %s", ack.Status, ack.Code, test.status, test.code)
			}
			if task := p.copyOf(p.b); task.OutOfStep != test.outOfStep || task.InSeq != test.inSeq {
				t.Errorf("out of step %v, number %d; want %v, %d", task.OutOfStep, task.InSeq, test.outOfStep, test.inSeq)
			}
			if !test.outOfStep {
				return
			}
			if ack := p.receive(p.b, wire.TaskPropose, 2, 0, second(p)); ack.Code != wire.CodeOutOfStep {
				t.Errorf("then the next gets %q", ack.Code)
			}
		})
	}
}

// TestRejectedIsWithdrawn: the withdrawal of what was rejected gets the same answer.
func TestRejectedIsWithdrawn(t *testing.T) {
	p := newPair(t)
	p.start(plan("2027-01-15"))
	p.receive(p.b, wire.TaskPropose, 2, 0, p.proposal(7, plan("2027-01-16")))
	ack := p.receive(p.b, wire.TaskVoid, 2, 0, wire.Void{JTI: p.received(p.b, 2).ID})
	if ack.Status != wire.Rejected || ack.Code != wire.CodeStaleVersion || p.copyOf(p.b).OutOfStep {
		t.Errorf("%s %s, out of step %v", ack.Status, ack.Code, p.copyOf(p.b).OutOfStep)
	}
}

// TestVoidedComesLate: what was withdrawn in time comes all the same, and is told so.
// Another message under its number is not.
func TestVoidedComesLate(t *testing.T) {
	p := newPair(t)
	p.start(plan("2027-01-15"))
	late := p.a.ids.New()
	p.receive(p.b, wire.TaskVoid, 2, 0, wire.Void{JTI: late})
	ack := p.receiveAs(p.b, late, wire.TaskPropose, 2, 0, p.proposal(2, plan("2027-01-16")))
	if ack.Status != wire.Rejected || ack.Code != wire.CodeVoided || p.copyOf(p.b).OutOfStep {
		t.Errorf("%s %s, out of step %v", ack.Status, ack.Code, p.copyOf(p.b).OutOfStep)
	}
	ack = p.receive(p.b, wire.TaskPropose, 2, 0, p.proposal(2, plan("2027-01-16")))
	if ack.Status != wire.Rejected || ack.Code != wire.CodeSeqReused || !p.copyOf(p.b).OutOfStep {
		t.Errorf("another one: %s %s, out of step %v", ack.Status, ack.Code, p.copyOf(p.b).OutOfStep)
	}
}

// TestVoidedStartComesLate: so it is with the start of a task.
func TestVoidedStartComesLate(t *testing.T) {
	p := newPair(t)
	p.uid = p.a.ids.New()
	late := p.a.ids.New()
	p.receive(p.b, wire.TaskVoid, 1, 0, wire.Void{JTI: late})
	create := wire.Create{TaskType: "dinner.coordination", Title: "Dinner", Deadline: p.clock.Now().Add(time.Hour)}
	if ack := p.receiveAs(p.b, late, wire.TaskCreate, 1, 0, create); ack.Status != wire.Rejected || ack.Code != wire.CodeVoided {
		t.Errorf("%s %q", ack.Status, ack.Code)
	}
}

// TestNumbersOutliveAnswers: a message that comes again when its answer is kept no
// longer gets the same one, by its number.
func TestNumbersOutliveAnswers(t *testing.T) {
	p := newPair(t)
	p.start(plan("2027-01-15"))
	ids := map[string]string{"": p.a.ids.New(), wire.CodeStaleVersion: p.a.ids.New()}
	send := func(code string, seq int64, version int) {
		t.Helper()
		ack := p.receiveAs(p.b, ids[code], wire.TaskPropose, seq, 0, p.proposal(version, plan("2027-01-16")))
		if applied := ack.Status == wire.Applied; ack.Code != code || applied != (code == "") {
			t.Errorf("number %d: %s %q, want %q", seq, ack.Status, ack.Code, code)
		}
	}
	send("", 2, 2)
	send(wire.CodeStaleVersion, 3, 7)
	p.clock.Advance(2*time.Hour + wire.KeepAnswer)
	p.expire(p.b)
	for _, id := range ids {
		p.b.in(t, func(tx node.Tx) error {
			if _, kept, err := p.b.store.KeptAck(tx, p.b.agent.ID, id, p.a.address()); kept || err != nil {
				t.Errorf("its answer is still kept: %v", err)
			}
			return nil
		})
	}
	send("", 2, 2)
	send(wire.CodeStaleVersion, 3, 7)
	if p.copyOf(p.b).OutOfStep {
		t.Error("they are out of step")
	}
}

// TestLogOfWhatCame: each message that was applied stands in the log.
func TestLogOfWhatCame(t *testing.T) {
	p := newPair(t)
	p.agree()
	p.write(p.a, p.cancelling(p.a))
	p.deliver(p.a)
	for seq, typ := range map[int64]audit.Type{1: audit.TaskStarted, 2: audit.TaskCancelled} {
		if got := p.events(p.b, typ, p.received(p.b, seq).ID); got != 1 {
			t.Errorf("b's log has %s of number %d %d times", typ, seq, got)
		}
	}
	if got := p.events(p.a, audit.TaskResponded, p.received(p.a, 1).ID); got != 1 {
		t.Errorf("a's log has the response %d times", got)
	}
	if got := p.events(p.a, audit.TaskAgreed, p.received(p.a, 1).ID); got != 1 {
		t.Errorf("a's log has the agreement %d times", got)
	}
}

// TestLogOfWhatLeft: so does each message of our own: that it was written, and that it
// was delivered.
func TestLogOfWhatLeft(t *testing.T) {
	p := newPair(t)
	p.start(nil)
	ids := map[audit.Type]string{audit.TaskStarted: p.newest(p.a).ID}
	ids[audit.TaskProposed] = p.write(p.a, p.proposing(p.a, "2027-01-15")).ID
	p.deliver(p.a)
	ids[audit.TaskResponded] = p.write(p.b, p.answering(p.b, 1, wire.Reject)).ID
	p.deliver(p.b)
	ids[audit.TaskCancelled] = p.write(p.a, p.cancelling(p.a)).ID
	p.deliver(p.a)
	for typ, id := range ids {
		s := p.a
		if typ == audit.TaskResponded {
			s = p.b
		}
		for _, typ := range []audit.Type{typ, audit.MessageQueued, audit.MessageDelivered} {
			if got := p.events(s, typ, id); got != 1 {
				t.Errorf("%s's log has %s of it %d times", s.name, typ, got)
			}
		}
	}
	if got := p.events(p.a, audit.TaskAgreed, ids[audit.TaskProposed]); got != 0 {
		t.Errorf("a's log says that the proposal is agreed")
	}
	p.mode(p.a, policy.Manual)
	p.start(plan("2027-01-15"))
	held := p.pending(p.a)
	if got := p.events(p.a, audit.MessageHeld, held.Subject); got != 1 {
		t.Errorf("the log has the held one %d times", got)
	}
}

// TestUnknownTask is what a message of a task gets of which there is no copy.
func TestUnknownTask(t *testing.T) {
	p := newPair(t)
	good := func() wire.Create {
		return wire.Create{TaskType: "dinner.coordination", Title: "Dinner", Deadline: p.clock.Now().Add(time.Hour)}
	}
	with := func(change func(*wire.Create)) wire.Create { c := good(); change(&c); return c }
	latest := coordination.MaxHours*time.Hour + wire.MaxSkew
	for name, test := range map[string]struct {
		typ     wire.Type
		seq     int64
		content func() any
		code    string
	}{
		"its start":                       {wire.TaskCreate, 1, func() any { return good() }, ""},
		"its start, as number 2":          {wire.TaskCreate, 2, func() any { return good() }, wire.CodeBadContent},
		"its start, which cannot be read": {wire.TaskCreate, 1, func() any { return "x" }, wire.CodeBadContent},
		"without a title":                 {wire.TaskCreate, 1, func() any { return with(func(c *wire.Create) { c.Title = "" }) }, wire.CodeBadContent},
		"with the longest title":          {wire.TaskCreate, 1, func() any { return with(func(c *wire.Create) { c.Title = strings.Repeat("ü", wire.MaxTitle) }) }, ""},
		"with a longer title":             {wire.TaskCreate, 1, func() any { return with(func(c *wire.Create) { c.Title = strings.Repeat("ü", wire.MaxTitle+1) }) }, wire.CodeBadContent},
		"of a type that nobody knows":     {wire.TaskCreate, 1, func() any { return with(func(c *wire.Create) { c.TaskType = "x.y" }) }, wire.CodeUnknownType},
		"with terms that its type has not": {wire.TaskCreate, 1, func() any {
			return with(func(c *wire.Create) { c.Proposal = &wire.Proposal{Version: 1, Fields: json.RawMessage(`{"x":1}`)} })
		}, wire.CodeBadContent},
		"with terms of another digest": {wire.TaskCreate, 1, func() any {
			return with(func(c *wire.Create) {
				c.Proposal = &wire.Proposal{Version: 1, Fields: plan("2027-01-15"), Digest: "00"}
			})
		}, wire.CodeDigestMismatch},
		"over at once": {wire.TaskCreate, 1, func() any { return with(func(c *wire.Create) { c.Deadline = p.clock.Now() }) }, wire.CodeBadDeadline},
		"as long as can be": {wire.TaskCreate, 1, func() any {
			return with(func(c *wire.Create) { c.Deadline = p.clock.Now().Add(latest).Truncate(time.Second) })
		}, ""},
		"longer":                    {wire.TaskCreate, 1, func() any { return with(func(c *wire.Create) { c.Deadline = p.clock.Now().Add(latest + time.Second) }) }, wire.CodeBadDeadline},
		"another message of it":     {wire.TaskPropose, 1, func() any { return p.proposal(1, plan("2027-01-15")) }, wire.CodeUnknownTask},
		"its start withdrawn":       {wire.TaskVoid, 1, func() any { return wire.Void{JTI: p.a.ids.New()} }, wire.CodeVoided},
		"something later withdrawn": {wire.TaskVoid, 2, func() any { return wire.Void{JTI: p.a.ids.New()} }, wire.CodeUnknownTask},
		"nothing withdrawn":         {wire.TaskVoid, 1, func() any { return wire.Void{JTI: "it"} }, wire.CodeUnknownTask},
	} {
		p.uid = p.a.ids.New()
		ack := p.receive(p.b, test.typ, test.seq, 0, test.content())
		if applied := ack.Status == wire.Applied; ack.Code != test.code || applied != (test.code == "" || test.code == wire.CodeVoided) {
			t.Errorf("%s: %s %q, want %q", name, ack.Status, ack.Code, test.code)
		}
		err := p.b.store.View(t.Context(), func(tx node.Tx) error {
			_, err := p.b.store.Task(tx, p.b.agent.ID, p.uid)
			return err
		})
		if there := err == nil; there != (test.code == "") {
			t.Errorf("%s: the task is there is %v", name, there)
		}
	}
}

// TestEndsThatMeet: a side whose copy has ended otherwise says that the two
// differ as soon as it hears of it, whatever becomes of its own messages.
func TestEndsThatMeet(t *testing.T) {
	confirm := func(p *pair) any {
		return wire.Confirm{
			Version: 1, Digest: acceptedOf(p.copyOf(p.a)).Digest, Action: "reservation.book", ExecutedAt: p.clock.Now(),
		}
	}
	booked := func(p *pair) { _, err := p.run(p.a, ""); must(p.t, err) }
	cancelled := func(p *pair) { p.write(p.b, p.cancelling(p.b)) }
	expired := func(p *pair) { p.clock.Advance(24 * time.Hour); p.expire(p.b) }
	cancel := func(*pair) any { return wire.Cancel{} }
	for name, test := range map[string]struct {
		before  func(p *pair)
		typ     wire.Type
		content func(p *pair) any
		code    string
		differ  coordination.Disagreement
	}{
		"confirmed, then cancelled there": {booked, wire.TaskCancel, cancel, wire.CodeAlreadyConfirmed, coordination.ConfirmedVsEnded},
		"cancelled, then booked there":    {cancelled, wire.TaskConfirm, confirm, wire.CodeCancelled, coordination.ConfirmedVsEnded},
		"booked here and there":           {booked, wire.TaskConfirm, confirm, wire.CodeDoubleRun, coordination.DoubleRun},
		"cancelled here and there":        {cancelled, wire.TaskCancel, cancel, "", ""},
		"expired, then cancelled there":   {expired, wire.TaskCancel, cancel, wire.CodeTaskEnded, ""},
		"cancelled, then a proposal":      {cancelled, wire.TaskPropose, func(p *pair) any { return p.proposal(2, plan("2027-01-16")) }, wire.CodeTaskEnded, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			p.agree()
			test.before(p)
			p.deliver(p.a, p.b)
			before := p.copyOf(p.b)
			ack := p.receive(p.b, test.typ, before.InSeq+1, before.OutSeq, test.content(p))
			after := p.copyOf(p.b)
			if ack.Code != test.code || after.Disagreement != test.differ || after.Status != before.Status {
				t.Errorf("%q, it says %q and is %s; want %q, %q, %s", ack.Code, after.Disagreement, after.Status, test.code, test.differ, before.Status)
			}
		})
	}
}
