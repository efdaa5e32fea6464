package simulation

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
)

// third is another contact of a's agent, on the other node.
type third struct {
	*pair
	from         string // its address
	connectionID string // a's with it
}

// thirdContact connects an agent of b's node with a's agent.
func (p *pair) thirdContact(w *world) third {
	p.t.Helper()
	h := w.history(p.t, 2)
	asking := &pair{history: h, a: h.sides[0], b: h.sides[1]}
	_, err := asking.asks(asking.b, asking.b.owner, coordination.ConnectRequest{Address: p.a.address()})
	must(p.t, err)
	h.settle(4)
	c := third{pair: p, from: asking.b.address()}
	p.a.in(p.t, func(tx node.Tx) error {
		list, err := p.a.coordination.Connections(tx, p.a.agent.ID, coordination.Page{Limit: 10})
		for _, known := range list {
			if err == nil && known.Contact == c.from {
				c.connectionID = known.ID
				_, err = p.a.coordination.AcceptConnection(tx, p.a.owner, known.ID)
			}
		}
		return err
	})
	return c
}

// says hands a's node a task message that the third contact has signed.
func (c third) says(e wire.Envelope, content string, forged bool) wire.Ack {
	c.t.Helper()
	e.Iss, e.JTI = c.from, node.RandomIDs{}.New()
	ack, err := c.hears(c.a, coordination.Incoming{
		Envelope: e, ConnectionID: c.connectionID, Forged: forged, Inner: wire.Inner{Author: "agent", Content: json.RawMessage(content)},
	})
	must(c.t, err)
	return ack
}

// TestAnotherContactsTask (S6, S20): of a task with somebody else a contact learns
// what it learns of one that is not there, whatever it sends and with whichever
// number; and it does not come between the two whose task it is.
func TestAnotherContactsTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	t.Cleanup(w.close)
	p := newPairIn(t, w)
	p.start(plan("2027-01-15"))
	p.write(p.b, p.proposing(p.b, "2027-01-16"))
	p.deliver(p.b)
	before := p.copyOf(p.a)
	c := p.thirdContact(w)

	void := `{"jti":"` + node.RandomIDs{}.New() + `"}`
	for typ, content := range map[wire.Type]string{
		wire.TaskPropose: `{"version":3,"fields":` + string(plan("2027-01-17")) + `,"digest":"00"}`, wire.TaskCancel: `{"reason":"rain"}`,
		wire.TaskRespond: `{"version":2,"digest":"00","decision":"accept"}`, wire.TaskConfirm: `{"version":2,"digest":"00","action":"reservation.book"}`,
		wire.TaskVoid: void,
	} {
		for seq := int64(1); seq <= 4; seq++ {
			for _, forged := range []bool{false, true} {
				e := wire.Envelope{Type: typ, Task: p.uid, Seq: seq, Ack: seq}
				foreign := c.says(e, content, forged)
				e.Task = node.RandomIDs{}.New()
				if diff := cmp.Diff(answerOf(c.says(e, content, forged)), answerOf(foreign)); diff != "" {
					t.Errorf("%s number %d, forged %v (-unknown +foreign):\n%s", typ, seq, forged, diff)
				}
			}
		}
	}
	// A create tells that the uid is taken, and nothing else.
	create := `{"taskType":"dinner.coordination","title":"Dinner","deadline":"2027-01-01T00:00:00Z"}`
	if ack := c.says(wire.Envelope{Type: wire.TaskCreate, Task: p.uid, Seq: 1}, create, false); ack.Code != wire.CodeUIDTaken || ack.Ack != 0 {
		t.Errorf("%+v", ack)
	}

	if after := p.copyOf(p.a); cmp.Diff(before.Copy, after.Copy) != "" || after.InSeq != before.InSeq || after.OutOfStep || after.Status != before.Status {
		t.Errorf("the task was %+v and is %+v", before, after)
	}
	p.a.in(t, func(tx node.Tx) error {
		m, err := p.a.store.NumberedMessage(tx, p.a.agent.ID, p.uid, coordination.In, 1)
		if err == nil && m.Status != coordination.MsgReceived {
			t.Errorf("number 1 of the task is now %s %s", m.Status, m.Code)
		}
		return err
	})
	p.write(p.a, p.answering(p.a, 2, wire.Accept))
	p.deliver(p.a, p.b)
	p.want(coordination.Agreed, 2, coordination.ProposalAccepted, 2)
}

// answerOf is what the sender can tell an answer by.
func answerOf(a wire.Ack) wire.Ack {
	return wire.Ack{Status: a.Status, Code: a.Code, Ack: a.Ack, Seq: a.Seq}
}
