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

// What an agent may write, by itself: lengths, hours, versions.

func TestBoundsOfWhatIsWritten(t *testing.T) {
	p := newPair(t)
	p.start(plan("2027-01-15"))
	c := p.connectionOf(p.a)
	text := func(length int) string { return strings.Repeat("ü", length) }
	start := func(title string, hours int) func(tx node.Tx) (coordination.Result, error) {
		return func(tx node.Tx) (coordination.Result, error) {
			return p.a.coordination.StartTask(tx, p.a.actor(), coordination.StartTask{
				ConnectionID: c.ID, Type: "dinner.coordination", Title: title, ExpiresInHours: hours,
			})
		}
	}
	chat := func(text string) func(tx node.Tx) (coordination.Result, error) {
		return func(tx node.Tx) (coordination.Result, error) {
			return p.a.coordination.SendMessage(tx, p.a.actor(), c.ID, text)
		}
	}
	cancel := func(reason string) func(tx node.Tx) (coordination.Result, error) {
		return func(tx node.Tx) (coordination.Result, error) {
			return p.a.coordination.CancelTask(tx, p.a.actor(), p.uid, reason)
		}
	}
	answer := func(answer coordination.Answer) func(tx node.Tx) (coordination.Result, error) {
		return func(tx node.Tx) (coordination.Result, error) {
			return p.a.coordination.Respond(tx, p.a.actor(), p.uid, answer)
		}
	}
	asks := func(note string) error {
		_, err := p.asks(p.a, p.a.owner, coordination.ConnectRequest{Address: p.b.address(), Note: note})
		return err
	}
	for name, write := range map[string]func(tx node.Tx) (coordination.Result, error){
		"no title": start("", 1), "a longer title": start(text(wire.MaxTitle+1), 1),
		"less than an hour": start("Dinner", -1), "more than 30 days": start("Dinner", coordination.MaxHours+1),
		"no text": chat(""), "a longer text": chat(text(wire.MaxText + 1)), "a longer reason": cancel(text(wire.MaxReason + 1)),
		"version 0":                    answer(coordination.Answer{Decision: wire.Accept}),
		"no decision":                  answer(coordination.Answer{Version: 1}),
		"a longer reason of an answer": answer(coordination.Answer{Version: 1, Decision: wire.Reject, Reason: text(wire.MaxReason + 1)}),
	} {
		err := p.a.store.InTx(t.Context(), func(tx node.Tx) error { _, err := write(tx); return err })
		if node.CodeOf(err) != node.BadRequest {
			t.Errorf("%s: %v, want bad_request", name, err)
		}
	}
	if err := asks(text(wire.MaxNote + 1)); node.CodeOf(err) != node.BadRequest {
		t.Errorf("a longer note: %v, want bad_request", err)
	}
	if err := asks(text(wire.MaxNote)); node.ReasonOf(err) != node.ReasonBadState { // there is a connection
		t.Errorf("the longest note: %v", err)
	}
	for name, write := range map[string]func(tx node.Tx) (coordination.Result, error){
		"the shortest title": start("D", 1), "the longest title": start(text(wire.MaxTitle), coordination.MaxHours),
		"a letter": chat("H"), "the longest text": chat(text(wire.MaxText)),
	} {
		if result := p.write(p.a, write); result.Status != coordination.StatusQueued && result.Status != coordination.StatusPendingApproval {
			t.Errorf("%s is %s", name, result.Status)
		}
	}
	if result := p.write(p.a, cancel(text(wire.MaxReason))); result.Status != coordination.StatusQueued {
		t.Errorf("the longest reason is %s", result.Status)
	}
	if p.uid = p.write(p.a, start("Dinner", 0)).TaskUID; !p.copyOf(p.a).Deadline.Equal(p.clock.Now().Add(coordination.DefaultHours * time.Hour)) {
		t.Errorf("without hours the deadline is %s", p.copyOf(p.a).Deadline)
	}
}

// TestBasedOn: who names the version that a proposal goes back to means the latest.
func TestBasedOn(t *testing.T) {
	p := newPair(t)
	p.start(plan("2027-01-15"))
	based := func(on int) func(tx node.Tx) (coordination.Result, error) {
		return func(tx node.Tx) (coordination.Result, error) {
			return p.a.coordination.Propose(tx, p.a.actor(), p.uid, plan("2027-01-16"), on)
		}
	}
	p.refused(p.a, node.ReasonStaleVersion, based(2))
	for _, on := range []int{1, 0} {
		if got := p.write(p.a, based(on)); got.Status != coordination.StatusQueued {
			t.Errorf("based on %d: %s", on, got.Status)
		}
	}
	p.refused(p.a, node.ReasonStaleVersion, based(1))
}

// TestReasonsAreText: with a contact to which free text is held, a reason is; without one
// the same message leaves.
func TestReasonsAreText(t *testing.T) {
	cancels := func(p *pair, reason string) coordination.Result {
		return p.write(p.a, func(tx node.Tx) (coordination.Result, error) {
			return p.a.coordination.CancelTask(tx, p.a.actor(), p.uid, reason)
		})
	}
	rejects := func(p *pair, reason string) coordination.Result {
		p.write(p.b, p.proposing(p.b, "2027-01-16"))
		p.deliver(p.b)
		return p.write(p.a, func(tx node.Tx) (coordination.Result, error) {
			answer := coordination.Answer{Version: 2, Decision: wire.Reject, Reason: reason}
			return p.a.coordination.Respond(tx, p.a.actor(), p.uid, answer)
		})
	}
	for name, test := range map[string]struct {
		write  func(p *pair, reason string) coordination.Result
		reason string
		want   string
	}{
		"a cancel": {cancels, "", coordination.StatusQueued}, "a cancel, since it rains": {cancels, "rain", coordination.StatusPendingApproval},
		"a no": {rejects, "", coordination.StatusQueued}, "a no, since it rains": {rejects, "rain", coordination.StatusPendingApproval},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			p.start(plan("2027-01-15"))
			p.own(p.a, func(tx node.Tx, actor node.Actor, id string) (coordination.Connection, error) {
				return p.a.coordination.SetStructuredOnly(tx, actor, id, true)
			})
			if result := test.write(p, test.reason); result.Status != test.want {
				t.Errorf("it is %s, want %s", result.Status, test.want)
			}
		})
	}
}

// TestOwnersWords: no rule bars the owner's own message, but it needs a contact who can
// be reached.
func TestOwnersWords(t *testing.T) {
	p := newPair(t)
	c := p.connectionOf(p.a)
	says := func(actor node.Actor) func(tx node.Tx) (coordination.Result, error) {
		return func(tx node.Tx) (coordination.Result, error) {
			return p.a.coordination.SendMessage(tx, actor, c.ID, "Hello")
		}
	}
	p.grant(p.a, "message.send", policy.Deny)
	if got := p.write(p.a, says(p.a.actor())); got.Status != coordination.StatusRefused {
		t.Errorf("the agent's is %s", got.Status)
	}
	if got := p.write(p.a, says(p.a.owner)); got.Status != coordination.StatusQueued {
		t.Errorf("the owner's is %s", got.Status)
	}
	p.grant(p.a, "message.send", policy.Allow)
	p.a.in(t, func(tx node.Tx) error { return p.a.coordination.MarkKeyChanged(tx, c) })
	p.refused(p.a, node.ReasonBadState, says(p.a.owner))
	if got := p.write(p.a, says(p.a.actor())); got.Status != coordination.StatusRefused {
		t.Errorf("the agent's, to another key, is %s", got.Status)
	}
	p.own(p.a, p.a.coordination.RevokeConnection)
	p.refused(p.a, node.ReasonBadState, says(p.a.owner))
}

// TestLargestContent: what is written has to fit an envelope.
func TestLargestContent(t *testing.T) {
	p := newPair(t)
	c := p.connectionOf(p.a)
	const frame, wide = len(`{"text":""}`), len("\\u0001")
	for more, want := range map[int]node.Code{0: "", 1: node.TooLarge} {
		left := wire.MaxContent + more - frame
		text := strings.Repeat("\u0001", left/wide) + strings.Repeat("x", left%wide)
		err := p.a.store.InTx(t.Context(), func(tx node.Tx) error {
			_, err := p.a.coordination.SendMessage(tx, p.a.owner, c.ID, text)
			return err
		})
		if node.CodeOf(err) != want && !(want == "" && err == nil) {
			t.Errorf("%d bytes more than fit: %v", more, err)
		}
	}
}
