package simulation

import (
	"strings"
	"testing"
	"time"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/audit"
)

// What happens to an envelope before it meets a task: whose it is, whether it came
// before, and chat.

// chats counts what a side has of the other's chat, by status.
func (p *pair) chats(s *side) map[coordination.MessageStatus]int {
	p.t.Helper()
	id, count := p.connectionOf(s).ID, map[coordination.MessageStatus]int{}
	s.in(p.t, func(tx node.Tx) error {
		list, err := s.store.Thread(tx, id, coordination.Page{Limit: 10})
		for _, m := range list {
			if m.Direction == coordination.In && m.Type == wire.Message {
				count[m.Status]++
			}
		}
		return err
	})
	return count
}

func TestChatThatComes(t *testing.T) {
	for name, test := range map[string]struct {
		content any
		code    string
	}{
		"a text":          {wire.Chat{Text: "Hello"}, ""},
		"the longest":     {wire.Chat{Text: strings.Repeat("ü", wire.MaxText)}, ""},
		"a longer one":    {wire.Chat{Text: strings.Repeat("ü", wire.MaxText+1)}, wire.CodeBadContent},
		"nothing":         {wire.Chat{}, wire.CodeBadContent},
		"no text":         {map[string]any{"text": 7}, wire.CodeBadContent},
		"a text and more": {map[string]any{"text": "Hello", "x": 1}, wire.CodeBadContent},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			id, want := p.a.ids.New(), wire.Ack{Status: wire.Applied}
			status := coordination.MsgReceived
			if test.code != "" {
				want, status = wire.Ack{Status: wire.Rejected, Code: test.code}, coordination.MsgRejected
			}
			comes := func(when string, want wire.Ack) {
				t.Helper()
				if ack := p.receiveAs(p.b, id, wire.Message, 0, 0, test.content); ack.Status != want.Status || ack.Code != want.Code {
					t.Errorf("%s: %s %q, want %s %q", when, ack.Status, ack.Code, want.Status, want.Code)
				}
			}
			comes("first", want)
			comes("again", wire.Ack{}) // the answer is kept: none is made
			p.clock.Advance(2*time.Hour + wire.KeepAnswer)
			p.expire(p.b)
			comes("when its answer is kept no longer", want)
			if got := p.chats(p.b); len(got) != 1 || got[status] != 1 {
				t.Errorf("b has %v", got)
			}
		})
	}
}

// TestSomebodyElsesID: that an id is in use, by a message of our own, is no answer to the
// contact's message.
func TestSomebodyElsesID(t *testing.T) {
	p := newPair(t)
	ack, err := p.hears(p.b, coordination.Incoming{
		Envelope:     wire.Envelope{JTI: p.says(p.b), Type: wire.Message},
		ConnectionID: p.connectionOf(p.b).ID, Inner: wire.Inner{Author: "agent", Content: []byte(`{"text":"Hi"}`)},
	})
	if err == nil && ack.Status == wire.Applied && p.chats(p.b)[coordination.MsgReceived] != 1 {
		t.Errorf("%s, and b does not have it", ack.Status)
	}
}

// TestGapIsAnsweredAnew: what came too early is taken when its time has come.
func TestGapIsAnsweredAnew(t *testing.T) {
	p := newPair(t)
	p.start(plan("2027-01-15"))
	early := p.a.ids.New()
	comes := func() wire.Ack {
		return p.receiveAs(p.b, early, wire.TaskPropose, 3, 0, p.proposal(3, plan("2027-01-17")))
	}
	if ack := comes(); ack.Code != wire.CodeGap {
		t.Errorf("too early: %s %s", ack.Status, ack.Code)
	}
	p.receive(p.b, wire.TaskPropose, 2, 0, p.proposal(2, plan("2027-01-16")))
	if ack := comes(); ack.Status != wire.Applied {
		t.Errorf("then: %s %s", ack.Status, ack.Code)
	}
}

// TestRejectedAreCounted: of what is rejected a bounded number is stored; the answers stay.
func TestRejectedAreCounted(t *testing.T) {
	p := newPair(t)
	for range coordination.MaxRejected + 2 {
		if ack := p.receive(p.b, wire.Message, 0, 0, wire.Chat{}); ack.Code != wire.CodeBadContent {
			t.Fatalf("%s %s", ack.Status, ack.Code)
		}
	}
	p.b.in(t, func(tx node.Tx) error {
		c, err := p.b.connection(tx)
		must(t, err)
		got, err := p.b.store.CountRejected(tx, p.b.agent.ID, c.ID)
		if got != coordination.MaxRejected {
			t.Errorf("%d are stored", got)
		}
		return err
	})
}

// TestAnotherHost: the same name at another host is not ours.
func TestAnotherHost(t *testing.T) {
	p := newPair(t)
	e := wire.Envelope{Iss: p.a.address(), Aud: p.b.address(), JTI: p.a.ids.New(), Type: wire.Message}
	for aud, ours := range map[string]bool{e.Aud: true, strings.Replace(e.Aud, p.b.host, p.a.host, 1): false, "nobody": false} {
		e.Aud = aud
		p.b.in(t, func(tx node.Tx) error {
			_, known, err := p.b.coordination.KeyOf(tx, e)
			if known != ours {
				t.Errorf("%s: known is %v", aud, known)
			}
			return err
		})
	}
}

// TestConnectedAgain: of several connections with a contact, the one that is active counts.
func TestConnectedAgain(t *testing.T) {
	p := newPair(t)
	p.own(p.a, p.a.coordination.RevokeConnection)
	p.settle(3)
	_, err := p.asks(p.a, p.a.owner, coordination.ConnectRequest{})
	must(t, err)
	p.settle(3)
	p.own(p.b, p.b.coordination.AcceptConnection)
	p.settle(3)
	p.start(plan("2027-01-15"))
	p.want(coordination.Negotiating, 1, coordination.ProposalPending, 0)
}

// TestNotices is what the other side's answers to a request, and its revocation, do in
// each status.
func TestNotices(t *testing.T) {
	asked := func(t *testing.T) *pair { p, _ := requested(t); return p }
	active := func(t *testing.T) *pair { return newPair(t) }
	over := func(t *testing.T) *pair { p := newPair(t); p.own(p.a, p.a.coordination.RevokeConnection); return p }
	for name, test := range map[string]struct {
		begin func(t *testing.T) *pair
		typ   wire.Type
		about bool
		code  string
		want  coordination.ConnectionStatus
	}{
		"asked, yes":                  {asked, wire.ConnectionAccept, true, "", coordination.ConnActive},
		"asked, yes to another":       {asked, wire.ConnectionAccept, false, wire.CodeBadState, coordination.PendingOutgoing},
		"asked, no":                   {asked, wire.ConnectionReject, true, "", coordination.ConnRejected},
		"asked, no to another":        {asked, wire.ConnectionReject, false, wire.CodeBadState, coordination.PendingOutgoing},
		"asked, revoked":              {asked, wire.ConnectionRevoke, true, "", coordination.ConnRevoked},
		"asked, an earlier one ended": {asked, wire.ConnectionRevoke, false, "", coordination.PendingOutgoing},
		"active, yes":                 {active, wire.ConnectionAccept, true, "", coordination.ConnActive},
		"active, no":                  {active, wire.ConnectionReject, true, wire.CodeBadState, coordination.ConnActive},
		"active, revoked":             {active, wire.ConnectionRevoke, true, "", coordination.ConnRevoked},
		"active, revoked as another":  {active, wire.ConnectionRevoke, false, "", coordination.ConnRevoked},
		"over, yes":                   {over, wire.ConnectionAccept, true, wire.CodeBadState, coordination.ConnRevoked},
		"over, no":                    {over, wire.ConnectionReject, true, wire.CodeBadState, coordination.ConnRevoked},
		"over, revoked":               {over, wire.ConnectionRevoke, true, "", coordination.ConnRevoked},
	} {
		t.Run(name, func(t *testing.T) {
			p := test.begin(t)
			notice := wire.Notice{Request: "019f1c3a-7b00-7000-8000-000000000009"}
			if test.about {
				notice.Request = p.connectionOf(p.a).RequestID
			}
			ack := p.receive(p.a, test.typ, 0, 0, notice)
			if applied := ack.Status == wire.Applied; ack.Code != test.code || applied != (test.code == "") {
				t.Errorf("%s %q, want %q", ack.Status, ack.Code, test.code)
			}
			if got := p.connectionOf(p.a).Status; got != test.want {
				t.Errorf("the connection is %s, want %s", got, test.want)
			}
		})
	}
}

// TestRequestThatComesAgain: the owner still has one to decide, with its latest words,
// and that it was invited is not forgotten.
func TestRequestThatComesAgain(t *testing.T) {
	p, _ := requested(t)
	p.alter(p.b, func(c *coordination.Connection) { c.Invited = true })
	invited := p.connectionOf(p.b)
	again := p.a.ids.New()
	if ack := p.receiveAs(p.b, again, wire.ConnectionRequest, 0, 0, wire.Request{Note: "It is me"}); ack.Status != wire.Applied {
		t.Fatalf("%s %s", ack.Status, ack.Code)
	}
	if c := p.connectionOf(p.b); c.ID != invited.ID || c.Status != coordination.PendingIncoming || !c.Invited || c.Note != "It is me" || c.RequestID != again {
		t.Errorf("it is %s, invited %v, says %q", c.Status, c.Invited, c.Note)
	}
	if m := p.message(p.b, again); m.Status != coordination.MsgReceived {
		t.Errorf("the message is %s", m.Status)
	}
	if ack := p.receive(p.b, wire.ConnectionRequest, 0, 0, wire.Request{Note: strings.Repeat("ü", wire.MaxNote+1)}); ack.Code != wire.CodeBadContent {
		t.Errorf("with a longer note: %s %s", ack.Status, ack.Code)
	}
	if ack := p.receive(p.b, wire.ConnectionRequest, 0, 0, "x"); ack.Code != wire.CodeBadContent {
		t.Errorf("without sense: %s %s", ack.Status, ack.Code)
	}
}

// TestStrangersRequest: it needs a card that was verified, and stands in the log.
func TestStrangersRequest(t *testing.T) {
	p := newStrangers(t)
	if ack := p.receiveFromStranger(coordination.Peer{}); ack.Code != wire.CodeNotConnected {
		t.Errorf("without a card: %s %s", ack.Status, ack.Code)
	}
	if ack := p.receiveFromStranger(coordination.Peer{Fingerprint: strings.Repeat("a", 64)}); ack.Status != wire.Applied {
		t.Fatalf("%s %s", ack.Status, ack.Code)
	}
	c := p.connectionOf(p.b)
	if c.Status != coordination.PendingIncoming || p.events(p.b, audit.ConnectionReceived, c.ID) != 1 || p.events(p.b, audit.MessageReceived, c.RequestID) != 1 {
		t.Errorf("it is %s, and the log has it %d times", c.Status, p.events(p.b, audit.ConnectionReceived, c.ID))
	}
}

func (p *pair) receiveFromStranger(card coordination.Peer) wire.Ack {
	p.t.Helper()
	ack, err := p.hears(p.b, coordination.Incoming{
		Envelope: wire.Envelope{JTI: p.a.ids.New(), Type: wire.ConnectionRequest},
		Peer:     card, Inner: wire.Inner{Author: "agent", Content: []byte("{}")},
	})
	must(p.t, err)
	return ack
}
