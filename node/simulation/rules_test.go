package simulation

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"agentlink/actions"
	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/policy"
)

// The rules D1 to D12 of docs/protocol.md, each as the shortest history that
// needs it. a starts every task, and books.

// pair is two connected sides whose rules let everything through.
type pair struct {
	*history
	a, b     *side
	uid      string
	approved string // an approval of a's that waits for its use
	signed   int    // how many envelopes attempt has made
}

func newPair(t *testing.T) *pair {
	t.Helper()
	t.Parallel()
	w := borrowWorld(t)
	t.Cleanup(w.giveBack)
	return newPairIn(t, w)
}

func newPairIn(t *testing.T, w *world) *pair {
	t.Helper()
	h := w.history(t, 1)
	p := &pair{history: h, a: h.sides[0], b: h.sides[1]}
	h.connect()
	for _, s := range h.sides {
		p.mode(s, policy.Autonomous)
		h.grant(s, "disclose.availability", policy.Allow)
		h.grant(s, "disclose.dietary", policy.Allow)
		h.grant(s, "action.reservation.book", policy.Allow)
	}
	return p
}

func (p *pair) mode(s *side, mode policy.Mode) {
	p.t.Helper()
	s.in(p.t, func(tx node.Tx) error {
		_, err := s.policy.SetMode(tx, s.owner, s.agent.ID, mode)
		return err
	})
}

func plan(date string) json.RawMessage {
	raw, _ := json.Marshal(map[string]any{
		"date": date, "time": "19:30", "timezone": "Europe/Berlin", "partySize": 4, "venue": map[string]any{"name": "Trattoria"},
	})
	return raw
}

// write does one thing of an agent and wants it to succeed.
func (p *pair) write(s *side, f func(tx node.Tx) (coordination.Result, error)) (result coordination.Result) {
	p.t.Helper()
	s.in(p.t, func(tx node.Tx) (err error) {
		result, err = f(tx)
		return err
	})
	return result
}

// refused does one thing and wants it to be a conflict for a reason.
func (p *pair) refused(s *side, want node.Reason, f func(tx node.Tx) (coordination.Result, error)) {
	p.t.Helper()
	err := s.store.InTx(context.Background(), func(tx node.Tx) error {
		_, err := f(tx)
		return err
	})
	if node.ReasonOf(err) != want {
		p.t.Errorf("%s: %v, want %s", s.name, err, want)
	}
}

func (p *pair) start(proposal json.RawMessage) {
	p.t.Helper()
	p.uid = p.write(p.a, func(tx node.Tx) (coordination.Result, error) {
		c, err := p.a.connection(tx)
		if err != nil {
			return coordination.Result{}, err
		}
		return p.a.coordination.StartTask(tx, p.a.actor(), coordination.StartTask{
			ConnectionID: c.ID, Type: "dinner.coordination", Title: "Dinner", Proposal: proposal, ExpiresInHours: 24,
		})
	}).TaskUID
	p.deliver(p.a)
}

func (p *pair) proposing(s *side, date string) func(tx node.Tx) (coordination.Result, error) {
	return func(tx node.Tx) (coordination.Result, error) {
		return s.coordination.Propose(tx, s.actor(), p.uid, plan(date), 0)
	}
}

func (p *pair) answering(s *side, version int, decision string) func(tx node.Tx) (coordination.Result, error) {
	return func(tx node.Tx) (coordination.Result, error) {
		return s.coordination.Respond(tx, s.actor(), p.uid, coordination.Answer{Version: version, Decision: decision})
	}
}

func (p *pair) cancelling(s *side) func(tx node.Tx) (coordination.Result, error) {
	return func(tx node.Tx) (coordination.Result, error) {
		return s.coordination.CancelTask(tx, s.actor(), p.uid, "changed plans")
	}
}

// deliver sends what waits, of each side in turn.
func (p *pair) deliver(sides ...*side) {
	p.t.Helper()
	for _, s := range sides {
		for {
			more, err := s.worker.Step(context.Background())
			must(p.t, err)
			if !more {
				break
			}
		}
	}
}

func (p *pair) copyOf(s *side) (task coordination.Task) {
	p.t.Helper()
	s.in(p.t, func(tx node.Tx) (err error) {
		task, err = s.store.Task(tx, s.agent.ID, p.uid)
		return err
	})
	return task
}

func latestOf(task coordination.Task) *coordination.Proposal { return task.Copy.Latest() }
func versionOf(task coordination.Task, version int) *coordination.Proposal {
	return task.Copy.Version(version)
}
func acceptedOf(task coordination.Task) *coordination.Proposal { return task.Copy.AcceptedProposal() }

// want checks status, latest version and its status, accepted version, on both sides.
func (p *pair) want(status coordination.Status, latest int, is coordination.ProposalStatus, accepted int) {
	p.t.Helper()
	for _, s := range p.sides {
		task := p.copyOf(s)
		proposal := task.Copy.Latest()
		if task.Status != status || proposal.Version != latest || proposal.Status != is || task.Copy.Accepted != accepted {
			p.t.Errorf("%s: %s, version %d %s, accepted %d; want %s, %d %s, %d", s.name,
				task.Status, proposal.Version, proposal.Status, task.Copy.Accepted, status, latest, is, accepted)
		}
	}
	if problem := differ(p.copyOf(p.a), p.copyOf(p.b), true); problem != "" {
		p.t.Error(problem)
	}
}

// agree brings the task to agreed: a's first proposal, accepted by b.
func (p *pair) agree() {
	p.t.Helper()
	p.start(plan("2027-01-15"))
	p.write(p.b, p.answering(p.b, 1, wire.Accept))
	p.deliver(p.b)
	p.want(coordination.Agreed, 1, coordination.ProposalAccepted, 1)
}

func (p *pair) parameters() json.RawMessage {
	raw, _ := json.Marshal(map[string]any{
		"venue": "Trattoria", "date": "2027-01-15", "time": "19:30", "partySize": 4, "taskUid": p.uid,
	})
	return raw
}

func (p *pair) run(s *side, approval string) (actions.Run, error) {
	start := actions.Start{Action: "reservation.book", Parameters: p.parameters(), ApprovalID: approval}
	return s.actions.Run(context.Background(), s.actor(), start)
}

// ask asks the owner to approve the booking.
func (p *pair) ask(s *side) (a approvals.Approval) {
	p.t.Helper()
	s.in(p.t, func(tx node.Tx) (err error) {
		var refusal *node.Error
		a, refusal, err = s.actions.RequestApproval(tx, s.actor(), actions.Ask{Action: "reservation.book", Parameters: p.parameters()})
		if refusal != nil {
			p.t.Fatal(refusal)
		}
		return err
	})
	return a
}

func (p *pair) decide(s *side, a approvals.Approval, change func(*approvals.Decision)) (effect approvals.Effect, err error) {
	d := approvals.Decision{ID: a.ID, Hash: a.Hash, Approve: true}
	if change != nil {
		change(&d)
	}
	err = s.store.InTx(context.Background(), func(tx node.Tx) error {
		effect, err = s.approvals.Decide(tx, s.owner, d)
		return err
	})
	return effect, err
}

func (p *pair) pending(s *side) approvals.Approval {
	p.t.Helper()
	list := s.known(p.history).approvals(approvals.Pending)
	if len(list) != 1 {
		p.t.Fatalf("%s has %d pending approvals, want 1", s.name, len(list))
	}
	return list[0]
}

func (p *pair) approval(s *side, id string) (a approvals.Approval) {
	p.t.Helper()
	s.in(p.t, func(tx node.Tx) (err error) {
		a, err = s.approvals.Approval(tx, "", id)
		return err
	})
	return a
}

func (p *pair) message(s *side, id string) (m coordination.Message) {
	p.t.Helper()
	s.in(p.t, func(tx node.Tx) (err error) {
		m, err = s.store.Message(tx, s.agent.ID, id)
		return err
	})
	return m
}

// bothOrders runs a history twice: what crossed arrives first here, then there.
func bothOrders(t *testing.T, f func(t *testing.T, order func(p *pair) []*side)) {
	t.Run("a's arrives first", func(t *testing.T) { f(t, func(p *pair) []*side { return []*side{p.a, p.b} }) })
	t.Run("b's arrives first", func(t *testing.T) { f(t, func(p *pair) []*side { return []*side{p.b, p.a} }) })
}

func TestD1CrossingProposals(t *testing.T) {
	bothOrders(t, func(t *testing.T, order func(*pair) []*side) {
		p := newPair(t)
		p.start(plan("2027-01-15"))
		p.write(p.a, p.proposing(p.a, "2027-01-16"))
		lost := p.write(p.b, p.proposing(p.b, "2027-01-17"))
		p.deliver(order(p)...)
		p.deliver(p.a, p.b)
		p.want(coordination.Negotiating, 2, coordination.ProposalPending, 0)
		if author := latestOf(p.copyOf(p.b)).Author; author != coordination.Initiator {
			t.Errorf("the %s's proposal stands, want the initiator's", author)
		}
		if m := p.message(p.b, lost.ID); !m.Void || m.Code != wire.CodeVersionConflict {
			t.Errorf("b's proposal: void %v, code %q, want version_conflict", m.Void, m.Code)
		}
		p.write(p.b, p.proposing(p.b, "2027-01-18"))
		p.deliver(p.b)
		p.want(coordination.Negotiating, 3, coordination.ProposalPending, 0)
	})
}

// Two proposals of the responder's that wait to leave fall together.
func TestD1TwoProposalsCrossOne(t *testing.T) {
	p := newPair(t)
	p.start(plan("2027-01-15"))
	p.write(p.a, p.proposing(p.a, "2027-01-16"))
	first := p.write(p.b, p.proposing(p.b, "2027-01-17"))
	second := p.write(p.b, p.proposing(p.b, "2027-01-18"))
	p.network.refused = func(by *side, status int, answer []byte) { t.Errorf("%s answers %d: %s", by.name, status, answer) }
	p.deliver(p.a, p.b)
	p.want(coordination.Negotiating, 2, coordination.ProposalPending, 0)
	for _, lost := range []coordination.Result{first, second} {
		if m := p.message(p.b, lost.ID); !m.Void || m.Code != wire.CodeVersionConflict || m.Tries != 0 {
			t.Errorf("b's proposal: void %v, code %q, want version_conflict; it left %d times", m.Void, m.Code, m.Tries)
		}
	}
}

func TestD2AcceptanceCrossesProposal(t *testing.T) {
	bothOrders(t, func(t *testing.T, order func(*pair) []*side) {
		p := newPair(t)
		p.start(plan("2027-01-15"))
		late := p.write(p.a, p.proposing(p.a, "2027-01-16"))
		p.write(p.b, p.answering(p.b, 1, wire.Accept))
		p.deliver(order(p)...)
		p.deliver(p.a, p.b)
		p.want(coordination.Agreed, 1, coordination.ProposalAccepted, 1)
		if m := p.message(p.a, late.ID); !m.Void {
			t.Error("the proposal that came too late still counts")
		}
	})
}

func TestD2RejectionCrossesProposal(t *testing.T) {
	bothOrders(t, func(t *testing.T, order func(*pair) []*side) {
		p := newPair(t)
		p.start(plan("2027-01-15"))
		p.write(p.a, p.proposing(p.a, "2027-01-16"))
		p.write(p.b, p.answering(p.b, 1, wire.Reject))
		p.deliver(order(p)...)
		p.want(coordination.Negotiating, 2, coordination.ProposalPending, 0)
		if first := versionOf(p.copyOf(p.a), 1); first.Status != coordination.ProposalRejected {
			t.Errorf("version 1 is %s, want rejected", first.Status)
		}
	})
}

// receive hands a message to a side as if the other's agent had signed it.
func (p *pair) receive(to *side, typ wire.Type, seq, ack int64, content any) wire.Ack {
	p.t.Helper()
	return p.receiveAs(to, to.ids.New(), typ, seq, ack, content)
}

func (p *pair) receiveAs(to *side, id string, typ wire.Type, seq, ack int64, content any) (got wire.Ack) {
	p.t.Helper()
	raw, err := node.Canonical(content)
	must(p.t, err)
	got, err = p.hears(to, coordination.Incoming{
		Envelope:     wire.Envelope{JTI: id, Type: typ, Task: p.uid, Seq: seq, Ack: ack},
		ConnectionID: p.connectionOf(to).ID, Inner: wire.Inner{Author: "agent", Content: raw},
	})
	must(p.t, err)
	return got
}

// hears hands a side any envelope. Where that names no sender it is from the other's agent;
// to whom it goes and how long it holds are filled in.
func (p *pair) hears(to *side, in coordination.Incoming) (got wire.Ack, err error) {
	err = to.store.InTx(context.Background(), func(tx node.Tx) error {
		e := &in.Envelope
		e.V, e.Iss, e.Aud = 1, cmp.Or(e.Iss, p.other(to).address()), to.address()
		e.Iat, e.Exp = tx.Now().Unix(), tx.Now().Add(time.Hour).Unix()
		_, err := to.coordination.Receive(tx, in, func(a wire.Ack) ([]byte, error) { got = a; return []byte("signed"), nil })
		return err
	})
	return got, err
}

func TestD3ResponseNamesVersionAndDigest(t *testing.T) {
	p := newPair(t)
	p.start(plan("2027-01-15"))
	answer := wire.Response{Version: 1, Digest: "0000", Decision: wire.Accept}
	if ack := p.receive(p.a, wire.TaskRespond, 1, 1, answer); ack.Code != wire.CodeDigestMismatch {
		t.Errorf("%+v, want digest_mismatch", ack)
	}
	if task := p.copyOf(p.a); task.Status != coordination.Negotiating || task.InSeq != 1 {
		t.Errorf("a's copy is %s at number %d, want negotiating at 1: a rejection uses its number up", task.Status, task.InSeq)
	}
}

func TestD4ConfirmCrossesCancel(t *testing.T) {
	bothOrders(t, func(t *testing.T, order func(*pair) []*side) {
		p := newPair(t)
		p.agree()
		p.write(p.b, p.cancelling(p.b))
		run, err := p.run(p.a, "")
		must(t, err)
		if run.TaskConfirmation != "sent" {
			t.Errorf("taskConfirmation is %q", run.TaskConfirmation)
		}
		p.deliver(order(p)...)
		p.deliver(p.a, p.b)
		a, b := p.copyOf(p.a), p.copyOf(p.b)
		if a.Status != coordination.Confirmed || b.Status != coordination.CancelledTask {
			t.Errorf("a is %s, b is %s: ended statuses stay", a.Status, b.Status)
		}
		if a.Disagreement != coordination.ConfirmedVsEnded || b.Disagreement != coordination.ConfirmedVsEnded {
			t.Errorf("a says %q, b says %q: both say that they differ", a.Disagreement, b.Disagreement)
		}
		for _, s := range p.sides {
			if got := p.events(s, audit.TaskDisagreement, ""); got != 1 {
				t.Errorf("%s's log says so %d times", s.name, got)
			}
		}
		if b.Copy.Crossed == nil || b.Copy.Crossed.Code == "" {
			t.Error("b's owner does not learn of the booking")
		}
	})
}

func TestD4CancelIsRefusedDuringARun(t *testing.T) {
	p := newPair(t)
	p.agree()
	p.beginRun(p.a)
	p.refused(p.a, node.ReasonBadState, p.cancelling(p.a))
}

// A cancel that was held when the run began is refused as well, once it is approved; and
// leaves where no run has begun.
func TestD4HeldCancelMeetsARun(t *testing.T) {
	for name, test := range map[string]struct {
		begins bool
		want   coordination.MessageStatus
	}{"a run": {true, coordination.MsgFailed}, "no run": {false, coordination.MsgQueued}} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			p.agree()
			p.mode(p.a, policy.Manual)
			held := p.write(p.a, p.cancelling(p.a))
			if test.begins {
				p.beginRun(p.a)
			}
			_, err := p.decide(p.a, p.pending(p.a), nil)
			must(t, err)
			if m := p.message(p.a, held.ID); m.Status != test.want || (test.begins && m.Code != wire.CodeBadState) {
				t.Errorf("the cancel is %s %s", m.Status, m.Code)
			}
		})
	}
}

// TestD4CancelComesDuringARun: both are facts, both sides say so, and the confirmation
// goes out all the same.
func TestD4CancelComesDuringARun(t *testing.T) {
	p := newPair(t)
	p.agree()
	p.beginRun(p.a)
	p.write(p.b, p.cancelling(p.b))
	p.deliver(p.b)
	p.endRun(p.a, true)
	if got := p.events(p.a, audit.TaskConfirmFailed, ""); got != 1 {
		t.Errorf("a's log says %d times that it did not fit", got)
	}
	p.deliver(p.a)
	for _, s := range p.sides {
		if task := p.copyOf(s); task.Status != coordination.CancelledTask || task.Disagreement != coordination.ConfirmedVsEnded {
			t.Errorf("%s is %s and says %q", s.name, task.Status, task.Disagreement)
		}
	}
}

// someRun is a run of which a test knows when it begins and ends.
const someRun = "some-run"

func (p *pair) beginRun(s *side) {
	p.t.Helper()
	s.in(p.t, func(tx node.Tx) error {
		_, err := s.coordination.BeginRun(tx, p.copyOfIn(tx, s), someRun)
		return err
	})
}

// endRun says whether the confirmation of a run that succeeded is on its way.
func (p *pair) endRun(s *side, succeeded bool) (sent bool) {
	p.t.Helper()
	s.in(p.t, func(tx node.Tx) (err error) {
		var run *coordination.Run
		if succeeded {
			run = &coordination.Run{Action: "reservation.book", Code: "R-1", ReservedAt: tx.Now(), Simulated: true}
		}
		sent, err = s.coordination.EndRun(tx, s.actor(), s.agent.ID, p.uid, someRun, run)
		return err
	})
	return sent
}

func (p *pair) copyOfIn(tx node.Tx, s *side) coordination.Task {
	task, err := s.store.Task(tx, s.agent.ID, p.uid)
	must(p.t, err)
	return task
}

func TestD5ConfirmAfterExpiry(t *testing.T) {
	p := newPair(t)
	p.agree()
	p.clock.Advance(23 * time.Hour)
	_, err := p.run(p.a, "")
	must(t, err)
	p.clock.Advance(2 * time.Hour)
	p.background(p.b)
	if b := p.copyOf(p.b); b.Status != coordination.ExpiredTask {
		t.Fatalf("b is %s, want expired", b.Status)
	}
	p.deliver(p.a)
	p.want(coordination.Confirmed, 1, coordination.ProposalAccepted, 1)
}

func TestD5LateRunDoesNotCorrect(t *testing.T) {
	p := newPair(t)
	p.agree()
	accepted := acceptedOf(p.copyOf(p.b))
	p.clock.Advance(25 * time.Hour)
	p.background(p.b)
	late := wire.Confirm{Version: 1, Digest: accepted.Digest, Action: "reservation.book", ExecutedAt: p.clock.Now()}
	if ack := p.receive(p.b, wire.TaskConfirm, 2, 1, late); ack.Status != wire.Rejected {
		t.Errorf("%+v, want rejected", ack)
	}
	if b := p.copyOf(p.b); b.Status != coordination.ExpiredTask {
		t.Errorf("b is %s, want expired", b.Status)
	}
}

func TestD6OtherRoleIsHeldAndMayBeOverridden(t *testing.T) {
	p := newPair(t)
	p.agree()
	if _, err := p.run(p.b, ""); node.CodeOf(err) != node.PolicyDenied {
		t.Fatalf("%v, want policy_denied", err)
	}
	a := p.ask(p.b)
	if _, err := p.decide(p.b, a, nil); node.CodeOf(err) != node.BadRequest {
		t.Fatalf("approved without the override: %v", err)
	}
	if _, err := p.decide(p.b, a, func(d *approvals.Decision) { d.Override = true }); err != nil {
		t.Fatal(err)
	}
	_, err := p.run(p.b, a.ID)
	must(t, err)
	_, err = p.run(p.a, "")
	must(t, err)
	p.deliver(p.b, p.a)
	for _, s := range p.sides {
		if task := p.copyOf(s); task.Disagreement != coordination.DoubleRun || task.Status != coordination.Confirmed {
			t.Errorf("%s: %s %q, want confirmed and double_run", s.name, task.Status, task.Disagreement)
		}
	}
}

func TestD7ConfirmationIsOwed(t *testing.T) {
	p := newPair(t)
	p.agree()
	p.grant(p.a, "task.respond", policy.Deny)
	run, err := p.run(p.a, "")
	must(t, err)
	if run.TaskConfirmation != "failed" || run.Code == "" {
		t.Fatalf("taskConfirmation %q, code %q", run.TaskConfirmation, run.Code)
	}
	if a := p.copyOf(p.a); a.Status != coordination.Agreed || !a.ConfirmOwed || a.ExecutedAt.IsZero() {
		t.Fatalf("a is %s, owed %v", a.Status, a.ConfirmOwed)
	}
	if got := p.events(p.a, audit.TaskConfirmFailed, ""); got != 1 {
		t.Errorf("the log says so %d times", got)
	}
	if _, err := p.run(p.a, ""); node.ReasonOf(err) != node.ReasonAlreadyRan && node.CodeOf(err) != node.PolicyDenied {
		t.Errorf("a grant repeats a run: %v", err)
	}
	again := p.ask(p.a)
	if _, err := p.decide(p.a, again, nil); node.CodeOf(err) != node.BadRequest {
		t.Errorf("approved without the word: %v", err)
	}
	p.ungrant(p.a)
	p.background(p.a)
	p.deliver(p.a)
	p.want(coordination.Confirmed, 1, coordination.ProposalAccepted, 1)
	if got := p.approval(p.a, again.ID).Status; got != approvals.Expired {
		t.Errorf("the approval of an ended task is %s", got)
	}
}

// TestD7WhatBarsAConfirmation: it stays owed, and is paid when that is over.
func TestD7WhatBarsAConfirmation(t *testing.T) {
	keyChanged := func(changed bool) func(p *pair) {
		return func(p *pair) { p.alter(p.a, func(c *coordination.Connection) { c.KeyChanged = changed }) }
	}
	for name, test := range map[string]struct{ bar, free func(p *pair) }{
		"a deny":      {func(p *pair) { p.grant(p.a, "task.respond", policy.Deny) }, func(p *pair) { p.ungrant(p.a) }},
		"another key": {keyChanged(true), keyChanged(false)},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			p.agree()
			p.beginRun(p.a) // the bar comes while it runs
			test.bar(p)
			if p.endRun(p.a, true) {
				t.Error("the confirmation is sent")
			}
			p.expire(p.a)
			if a := p.copyOf(p.a); a.Status != coordination.Agreed || !a.ConfirmOwed {
				t.Fatalf("a is %s, owed %v", a.Status, a.ConfirmOwed)
			}
			if got := p.events(p.a, audit.TaskConfirmFailed, ""); got != 1 {
				t.Errorf("the log says so %d times, with each look", got)
			}
			test.free(p)
			p.expire(p.a)
			p.deliver(p.a)
			p.want(coordination.Confirmed, 1, coordination.ProposalAccepted, 1)
		})
	}
}

// TestD7NotPaidDuringARun: the owner has it carried out again, and only then is told.
func TestD7NotPaidDuringARun(t *testing.T) {
	p := newPair(t)
	p.agree()
	p.beginRun(p.a)
	p.grant(p.a, "task.respond", policy.Deny)
	p.endRun(p.a, true)
	p.beginRun(p.a)
	p.ungrant(p.a)
	p.expire(p.a)
	if a := p.copyOf(p.a); a.Status != coordination.Agreed || !a.ConfirmOwed {
		t.Errorf("during the run a is %s, owed %v", a.Status, a.ConfirmOwed)
	}
	p.endRun(p.a, false)
	p.expire(p.a)
	if a := p.copyOf(p.a); a.Status != coordination.Confirmed || a.ConfirmOwed {
		t.Errorf("after the run a is %s, owed %v", a.Status, a.ConfirmOwed)
	}
}

func TestD8HeldProposalGoesStale(t *testing.T) {
	p := newPair(t)
	p.start(plan("2027-01-15"))
	p.mode(p.a, policy.Manual)
	before := p.copyOf(p.a)
	held := p.write(p.a, p.proposing(p.a, "2027-01-16"))
	if held.Status != coordination.StatusPendingApproval || len(p.copyOf(p.a).Copy.Proposals) != len(before.Copy.Proposals) {
		t.Fatal("a held write changes the copy")
	}
	p.write(p.b, p.proposing(p.b, "2027-01-17"))
	p.deliver(p.b)
	effect, err := p.decide(p.a, p.pending(p.a), nil)
	must(t, err)
	if effect.Outcome != "failed" || effect.Code != wire.CodeStaleVersion || effect.Approval.Status != approvals.Consumed {
		t.Errorf("%s %s, approval %s; want failed, stale_version, consumed", effect.Outcome, effect.Code, effect.Approval.Status)
	}
	p.want(coordination.Negotiating, 2, coordination.ProposalPending, 0)
}

func TestD9TaskMovesWhileApprovalIsOpen(t *testing.T) {
	t.Run("the peer cancels", func(t *testing.T) {
		p := newPair(t)
		p.agree()
		a := p.ask(p.a)
		if task := p.copyOf(p.a); task.Status != coordination.AwaitingApproval {
			t.Fatalf("a is %s, want awaiting_approval", task.Status)
		}
		if task := p.copyOf(p.b); task.Status != coordination.Agreed {
			t.Fatalf("b is %s: awaiting_approval exists on our node only", task.Status)
		}
		p.write(p.b, p.cancelling(p.b))
		p.deliver(p.b)
		if got := p.approval(p.a, a.ID).Status; got != approvals.Expired {
			t.Errorf("the approval is %s, want expired", got)
		}
	})
	t.Run("the peer rejects what made it agreed", func(t *testing.T) {
		p := newPair(t)
		p.start(plan("2027-01-15"))
		id := p.write(p.b, p.answering(p.b, 1, wire.Accept)).ID
		p.attempt(p.b, id)
		mine := p.ask(p.b)
		p.answered(p.b, wire.Ack{Ref: id, Status: wire.Rejected, Code: wire.CodeStaleAcceptance})
		if got := p.approval(p.b, mine.ID).Status; got != approvals.Expired || p.copyOf(p.b).Status != coordination.Negotiating {
			t.Errorf("the approval is %s, the task %s", got, p.copyOf(p.b).Status)
		}
	})
	t.Run("the peer confirms", func(t *testing.T) {
		p := newPair(t)
		p.agree()
		mine := p.ask(p.a)
		p.runsBesideTheRules(p.b)
		p.deliver(p.b)
		p.want(coordination.Confirmed, 1, coordination.ProposalAccepted, 1)
		if got := p.approval(p.a, mine.ID).Status; got != approvals.Expired {
			t.Errorf("the approval is %s, want expired", got)
		}
	})
}

func TestD10NoProposalOnAnAgreedTask(t *testing.T) {
	p := newPair(t)
	p.agree()
	p.refused(p.a, node.ReasonBadState, p.proposing(p.a, "2027-01-16"))
	fields := plan("2027-01-16")
	canonical, _ := node.Canonical(fields)
	next := wire.Proposal{Version: 2, Fields: canonical, Digest: coordination.Digest(p.uid, coordination.Initiator, 2, canonical)}
	if ack := p.receive(p.b, wire.TaskPropose, 2, 1, next); ack.Code != wire.CodeBadState {
		t.Errorf("%+v, want bad_state", ack)
	}
	p.want(coordination.Agreed, 1, coordination.ProposalAccepted, 1)
}

func TestD11DenyAddedWhileHeld(t *testing.T) {
	p := newPair(t)
	p.start(plan("2027-01-15"))
	p.mode(p.a, policy.Manual)
	held := p.write(p.a, p.proposing(p.a, "2027-01-16"))
	p.grant(p.a, "task.propose", policy.Deny)
	effect, err := p.decide(p.a, p.pending(p.a), nil)
	must(t, err)
	if effect.Outcome != "failed" || effect.Code != string(node.PolicyDenied) {
		t.Errorf("%s %s, want failed, policy_denied", effect.Outcome, effect.Code)
	}
	if m := p.message(p.a, held.ID); m.Status != coordination.MsgFailed {
		t.Errorf("the message is %s, want failed", m.Status)
	}
}

func TestD12DeadlineIsSetAtRelease(t *testing.T) {
	p := newPair(t)
	p.mode(p.a, policy.Manual)
	p.start(plan("2027-01-15"))
	p.a.in(t, func(tx node.Tx) error {
		if _, err := p.a.coordination.Task(tx, p.a.agent.ID, p.uid); node.CodeOf(err) != node.NotFound {
			t.Errorf("a held create answers %v, want not_found", err)
		}
		return nil
	})
	p.clock.Advance(5 * time.Hour)
	_, err := p.decide(p.a, p.pending(p.a), nil)
	must(t, err)
	released := p.clock.Now()
	p.deliver(p.a)
	p.want(coordination.Negotiating, 1, coordination.ProposalPending, 0)
	for _, s := range p.sides {
		if got := p.copyOf(s).Deadline; !got.Equal(released.Add(24 * time.Hour)) {
			t.Errorf("%s: the deadline is %s, want 24 h after the release at %s", s.name, got, released)
		}
	}
}

func TestD12DeadlineOutOfBoundsIsRefused(t *testing.T) {
	p := newPair(t)
	for name, after := range map[string]time.Duration{"past": -time.Second, "too far": 720*time.Hour + 301*time.Second} {
		p.uid = p.a.ids.New()
		create := wire.Create{TaskType: "dinner.coordination", Title: "Dinner", Deadline: p.clock.Now().Add(after)}
		if ack := p.receive(p.b, wire.TaskCreate, 1, 0, create); ack.Code != wire.CodeBadDeadline {
			t.Errorf("%s: %+v, want bad_deadline", name, ack)
		}
	}
}

// What may have arrived is never sent again: a task.void takes its number.
func TestVoidTakesTheNumber(t *testing.T) {
	for name, arrives := range map[string]bool{"it never arrived": false, "it had arrived": true} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			p.start(plan("2027-01-15"))
			sent := p.write(p.a, p.proposing(p.a, "2027-01-16"))
			p.network.parted = !arrives
			p.network.watch = nil
			p.loseAnswers(arrives)
			p.deliver(p.a)
			p.network.parted, p.network.drop = false, 0
			p.grant(p.a, "task.propose", policy.Deny)
			p.clock.Advance(2 * time.Second)
			_, err := p.a.worker.Step(context.Background())
			must(t, err)
			if !p.copyOf(p.a).InDoubt {
				t.Fatal("a is not in doubt")
			}
			if got := p.events(p.a, audit.TaskVoided, sent.ID); got != 1 {
				t.Errorf("%d rows of the log say that it is being taken back", got)
			}
			p.refused(p.a, node.ReasonInDoubt, p.cancelling(p.a))
			p.deliver(p.a)
			latest := 1
			if arrives {
				latest = 2
			}
			p.want(coordination.Negotiating, latest, coordination.ProposalPending, 0)
			if p.copyOf(p.a).InDoubt {
				t.Error("the doubt does not end")
			}
			if m := p.message(p.a, sent.ID); m.Void == arrives {
				t.Errorf("void is %v", m.Void)
			}
			said := 2 // that it is being taken back, and that it was
			if arrives {
				said = 1
			}
			if got := p.events(p.a, audit.TaskVoided, sent.ID); got != said {
				t.Errorf("%d rows of the log, want %d", got, said)
			}
			p.ungrant(p.a)
			p.write(p.a, p.proposing(p.a, "2027-01-19"))
			p.deliver(p.a)
			p.want(coordination.Negotiating, latest+1, coordination.ProposalPending, 0)
		})
	}
}

// What rests on a message that falls, and has not left, falls with it: it is not sent
// for the contact to reject.
func TestWhatRestsOnItFallsToo(t *testing.T) {
	p := newPair(t)
	p.start(plan("2027-01-15"))
	first := p.write(p.a, p.proposing(p.a, "2027-01-16"))
	second := p.write(p.a, p.proposing(p.a, "2027-01-17"))
	p.grant(p.a, "task.propose", policy.Deny)
	_, err := p.a.worker.Step(context.Background())
	must(t, err)
	for what, test := range map[string]struct{ id, code string }{
		"what may not leave": {first.ID, string(node.PolicyDenied)}, "what rests on it": {second.ID, wire.CodeStaleVersion},
	} {
		m := p.message(p.a, test.id)
		if m.Status != coordination.MsgFailed || !m.Void || m.Code != test.code || p.events(p.a, audit.TaskVoided, test.id) != 1 {
			t.Errorf("%s: %s %s, void %v, %d rows of the log", what, m.Status, m.Code, m.Void, p.events(p.a, audit.TaskVoided, test.id))
		}
	}
	p.ungrant(p.a)
	p.write(p.a, p.proposing(p.a, "2027-01-18"))
	p.deliver(p.a)
	p.want(coordination.Negotiating, 2, coordination.ProposalPending, 0)
}

// loseAnswers makes the next delivery lose the answer, or with arrives false the
// request, in a way that the sender cannot tell apart.
func (p *pair) loseAnswers(arrives bool) { p.loseAnswersOf(p.b, arrives) }

func (p *pair) loseAnswersOf(to *side, arrives bool) {
	original := p.network.sides[to.host]
	p.network.watch = func(_ *side, envelope []byte) {
		p.network.watch = nil
		p.network.parted = false
		if arrives {
			original.hear(context.Background(), envelope)
		}
		p.network.drop = 100
	}
}

// A task.void that is refused because the other side has ended the connection says
// nothing of the message that it is about, which may have been applied.
func TestVoidMeetsTheEndOfTheConnection(t *testing.T) {
	p := newPair(t)
	p.loseAnswers(true)
	p.start(plan("2027-01-15"))
	p.network.drop = 0
	if p.copyOf(p.b).Status != coordination.Negotiating {
		t.Fatal("b has no such task")
	}
	p.grant(p.a, "task.create", policy.Deny)
	p.clock.Advance(2 * time.Second)
	_, err := p.a.worker.Step(context.Background())
	must(t, err)
	if !p.copyOf(p.a).InDoubt {
		t.Fatal("a is not in doubt")
	}
	p.own(p.b, p.b.coordination.RevokeConnection)
	p.deliver(p.a)
	if task := p.copyOf(p.a); !task.OutOfStep || task.InDoubt {
		t.Errorf("a is %s, out of step %v, in doubt %v", task.Status, task.OutOfStep, task.InDoubt)
	}
	if m := p.newest(p.a); m.Status != coordination.MsgRejected || m.Code != wire.CodeNotConnected {
		t.Errorf("the create is %s %s", m.Status, m.Code)
	}
	if task := p.copyOf(p.b); !task.OutOfStep {
		t.Errorf("b is %s and not out of step", task.Status)
	}
	p.deliver(p.b)
	if waits := p.waiting(); strings.Contains(waits, "code=") {
		t.Errorf("something still waits: %s", waits)
	}
}

// TestConfirmMeetsTheEndOfTheConnection (seed 1,002,259): one side carried out what
// was agreed, the other had let it expire, and the connection ends before the
// confirmation arrives. Both say that they may differ.
func TestConfirmMeetsTheEndOfTheConnection(t *testing.T) {
	for name, by := range map[string]func(p *pair) *side{
		"ended by who carried it out": func(p *pair) *side { return p.a }, "ended by the other": func(p *pair) *side { return p.b },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			p.agree()
			p.clock.Advance(23 * time.Hour)
			_, err := p.run(p.a, "")
			must(t, err)
			p.clock.Advance(2 * time.Hour)
			p.expire(p.b)
			if got := p.copyOf(p.b).Status; got != coordination.ExpiredTask {
				t.Fatalf("b's copy is %s", got)
			}
			ends := by(p)
			p.own(ends, ends.coordination.RevokeConnection)
			p.settle(3)
			a, b := p.copyOf(p.a), p.copyOf(p.b)
			if a.Status != coordination.Confirmed || b.Status != coordination.ExpiredTask || !flagged(a) || !flagged(b) {
				t.Errorf("a is %s, flagged %v; b is %s, flagged %v", a.Status, flagged(a), b.Status, flagged(b))
			}
		})
	}
}

// TestConfirmProvesTheAcceptance (seed 1,007,535): the answer to an acceptance was
// lost, and it is being taken back when the confirmation that rests on it comes. Then
// the connection ends, and the withdrawal is refused: what is confirmed stays so.
func TestConfirmProvesTheAcceptance(t *testing.T) {
	p := newPair(t)
	p.start(plan("2027-01-15"))
	id := p.write(p.b, p.answering(p.b, 1, wire.Accept)).ID
	p.loseAnswersOf(p.a, true)
	_, err := p.b.worker.Step(context.Background())
	must(t, err)
	p.network.drop = 0
	p.clock.Advance(23 * time.Hour)
	_, err = p.run(p.a, "")
	must(t, err)
	p.provenAfterExpiry(p.b, id)
}

// provenAfterExpiry: a side takes back at the deadline what its message said, gets
// the other's confirmation, and its withdrawal is refused.
func (p *pair) provenAfterExpiry(s *side, id string) {
	p.t.Helper()
	other := p.other(s)
	p.clock.Advance(2 * time.Hour)
	p.expire(s) // it is too late for the message, too: a task.void takes its place
	if c, m := p.copyOf(s), p.message(s, id); c.Status != coordination.ExpiredTask || !c.InDoubt || m.Status != coordination.MsgQueued {
		p.t.Fatalf("%s is %s, in doubt %v; its message is %s", s.name, c.Status, c.InDoubt, m.Status)
	}
	_, err := other.worker.Step(context.Background()) // the confirmation
	must(p.t, err)
	p.own(other, other.coordination.RevokeConnection)
	p.deliver(s, other, s)
	if c, m := p.copyOf(s), p.message(s, id); c.Status != coordination.Confirmed || c.InDoubt || m.Status != coordination.MsgDelivered || m.Void {
		p.t.Errorf("%s is %s, in doubt %v; its message is %s, void %v", s.name, c.Status, c.InDoubt, m.Status, m.Void)
	}
}

// TestConfirmProvesTheProposal: so it is with the proposal that was accepted, where
// the other side carries it out.
func TestConfirmProvesTheProposal(t *testing.T) {
	for name, later := range map[string]bool{"in the start": false, "later": true} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			if later {
				p.start(nil)
				p.write(p.a, p.proposing(p.a, "2027-01-15"))
				p.loseAnswers(true)
				p.deliver(p.a)
			} else {
				p.loseAnswers(true)
				p.start(plan("2027-01-15"))
			}
			p.network.drop = 0
			id := latestOf(p.copyOf(p.a)).MessageID
			p.write(p.b, p.answering(p.b, 1, wire.Accept))
			_, err := p.b.worker.Step(context.Background())
			must(t, err)
			p.clock.Advance(23 * time.Hour)
			p.runsBesideTheRules(p.b)
			p.provenAfterExpiry(p.a, id)
		})
	}
}

// runsBesideTheRules has the side carry it out whose role it is not (D6).
func (p *pair) runsBesideTheRules(s *side) {
	p.t.Helper()
	waits := p.ask(s)
	_, err := p.decide(s, waits, func(d *approvals.Decision) { d.Override = true })
	must(p.t, err)
	_, err = p.run(s, waits.ID)
	must(p.t, err)
}

// TestConfirmProvesNothingElse: a proposal that crossed the acceptance, and may have
// arrived, still waits for its answer.
func TestConfirmProvesNothingElse(t *testing.T) {
	p := newPair(t)
	p.start(plan("2027-01-15"))
	crossed := p.write(p.a, p.proposing(p.a, "2027-01-16")).ID
	p.attempt(p.a, crossed)
	p.write(p.b, p.answering(p.b, 1, wire.Accept))
	p.deliver(p.b)
	p.runsBesideTheRules(p.b)
	p.deliver(p.b)
	if a, m := p.copyOf(p.a), p.message(p.a, crossed); a.Status != coordination.Confirmed || m.Status != coordination.MsgQueued || !m.Void {
		t.Errorf("a is %s; its proposal is %s, void %v", a.Status, m.Status, m.Void)
	}
}

func TestRevokedConnectionLeavesTasksOutOfStep(t *testing.T) {
	p := newPair(t)
	p.agree()
	p.a.in(t, func(tx node.Tx) error {
		c, err := p.a.connection(tx)
		if err != nil {
			return err
		}
		_, err = p.a.coordination.RevokeConnection(tx, p.a.owner, c.ID)
		return err
	})
	p.deliver(p.a)
	for _, s := range p.sides {
		if task := p.copyOf(s); !task.OutOfStep {
			t.Errorf("%s: the task does not say out_of_step", s.name)
		}
	}
	p.refused(p.b, node.ReasonOutOfStep, p.cancelling(p.b))
}

// A run waits until the other side knows that it is agreed.
func TestRunWaitsForTheAcceptanceToArrive(t *testing.T) {
	p := newPair(t)
	p.start(nil)
	p.write(p.b, p.proposing(p.b, "2027-01-15"))
	p.deliver(p.b)
	p.write(p.a, p.answering(p.a, 1, wire.Accept))
	if _, err := p.run(p.a, ""); node.ReasonOf(err) != node.ReasonAcceptanceNotDelivered {
		t.Fatalf("%v, want acceptance_not_delivered", err)
	}
	p.deliver(p.a)
	if _, err := p.run(p.a, ""); err != nil {
		t.Fatal(err)
	}
	p.deliver(p.a)
	p.want(coordination.Confirmed, 1, coordination.ProposalAccepted, 1)
}

// Nor does it start where nothing is accepted, or where it is not known what the other
// side has of our last message.
func TestNothingSettledToRun(t *testing.T) {
	p := newPair(t)
	p.start(plan("2027-01-15"))
	settled := func(change func(*coordination.Task)) (settled bool) {
		task := p.copyOf(p.a)
		change(&task)
		p.a.in(t, func(tx node.Tx) (err error) {
			settled, err = p.a.coordination.AcceptanceSettled(tx, task)
			return err
		})
		return settled
	}
	if settled(func(*coordination.Task) {}) {
		t.Error("nothing is accepted")
	}
	p.write(p.b, p.answering(p.b, 1, wire.Accept))
	p.deliver(p.b)
	if !settled(func(*coordination.Task) {}) || settled(func(task *coordination.Task) { task.InDoubt = true }) {
		t.Error("what is accepted may be carried out, unless the task is in doubt")
	}
}

// What the peer signed and nobody can read uses its number up like any rejection.
func TestForgedMessageUsesItsNumber(t *testing.T) {
	p := newPair(t)
	p.start(plan("2027-01-15"))
	got, err := p.hears(p.a, coordination.Incoming{
		Envelope:     wire.Envelope{JTI: p.a.ids.New(), Type: wire.TaskPropose, Task: p.uid, Seq: 1, Ack: 1},
		ConnectionID: p.connectionOf(p.a).ID, Forged: true,
	})
	must(t, err)
	if got.Code != wire.CodeForged || got.Ack != 1 {
		t.Errorf("%+v, want forged, number 1 processed", got)
	}
	if task := p.copyOf(p.a); task.InSeq != 1 || len(task.Copy.Proposals) != 1 {
		t.Errorf("number %d, %d proposals", task.InSeq, len(task.Copy.Proposals))
	}
}
