package simulation

import (
	"testing"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/audit"
)

// TestAMisfitIsRejected: what the other side sends and does not fit the task is
// stored as rejected with its code, audited as such, and changes nothing else.
func TestAMisfitIsRejected(t *testing.T) {
	fields := plan("2027-01-16")
	propose := func(p *pair, version int) wire.Proposal {
		return wire.Proposal{Version: version, Fields: fields, Digest: coordination.Digest(p.uid, coordination.Responder, version, fields)}
	}
	tests := []struct {
		name    string
		before  func(p *pair)
		typ     wire.Type
		content func(p *pair) any
		code    string
	}{
		{"a version too far", nil, wire.TaskPropose, func(p *pair) any { return propose(p, 3) }, wire.CodeStaleVersion},
		{"a version that was", nil, wire.TaskPropose, func(p *pair) any { return propose(p, 1) }, wire.CodeStaleVersion},
		{"an answer to no version", nil, wire.TaskRespond, func(*pair) any {
			return wire.Response{Version: 2, Digest: "00", Decision: wire.Accept}
		}, wire.CodeStaleVersion},
		{"a field that the task type does not know", nil, wire.TaskPropose, func(*pair) any {
			return wire.Proposal{Version: 2, Fields: []byte(`{"income":100000}`)}
		}, wire.CodeBadContent},
		{"a confirmation of what was not agreed", nil, wire.TaskConfirm, func(*pair) any {
			return wire.Confirm{Version: 1, Digest: "00", Action: "reservation.book"}
		}, wire.CodeDigestMismatch},
		{"a finished task", func(p *pair) { p.write(p.a, p.cancelling(p.a)) }, wire.TaskPropose,
			func(p *pair) any { return propose(p, 2) }, wire.CodeTaskEnded},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := newPair(t)
			p.start(plan("2027-01-15"))
			if test.before != nil {
				test.before(p)
			}
			before := p.copyOf(p.a)
			ack := p.receive(p.a, test.typ, 1, before.OutSeq, test.content(p))
			if ack.Status != wire.Rejected || ack.Code != test.code {
				t.Errorf("answered %s %s, want rejected %s", ack.Status, ack.Code, test.code)
			}
			if after := p.copyOf(p.a); after.Status != before.Status || len(after.Copy.Proposals) != len(before.Copy.Proposals) {
				t.Errorf("the copy was %+v and is %+v", before.Copy, after.Copy)
			}
			p.wantRejected(test.code)
		})
	}
}

// wantRejected wants a's side to keep the message, and its log to say so.
func (p *pair) wantRejected(code string) {
	p.t.Helper()
	p.a.in(p.t, func(tx node.Tx) error {
		m, err := p.a.store.NumberedMessage(tx, p.a.agent.ID, p.uid, coordination.In, 1)
		if err != nil {
			return err
		}
		if m.Status != coordination.MsgRejected || m.Code != code {
			p.t.Errorf("the message is %s %s, want rejected %s", m.Status, m.Code, code)
		}
		rows, err := p.a.store.AuditRows(tx, audit.Filter{Types: []audit.Type{audit.TaskMessageRejected}})
		if err != nil {
			return err
		}
		found := 0
		for _, row := range rows {
			if row.TaskUID == p.uid && row.Subject == m.ID {
				found++
			}
		}
		if found != 1 {
			p.t.Errorf("the log names the message %d times", found)
		}
		return nil
	})
}
