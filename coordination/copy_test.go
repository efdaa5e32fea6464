package coordination

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/coordination/wire"
)

// The task that the copies of these tests are of.
const copiedUID = "018f0000-0000-7000-8000-000000000001"

var (
	copiedDeadline = time.Date(2031, 5, 4, 12, 0, 0, 0, time.UTC)
	dinner         = json.RawMessage(`{"date":"2031-05-09"}`)
	lunch          = json.RawMessage(`{"date":"2031-05-10"}`)
)

// said is one message on its way into a copy, and the code that it gets.
type said struct {
	by      Role
	typ     wire.Type
	content any
	code    string
}

func starts(code string, first *wire.Proposal) said {
	return said{Initiator, wire.TaskCreate, wire.Create{TaskType: "dinner.coordination", Title: "Dinner", Proposal: first}, code}
}

func terms(by Role, version int, fields json.RawMessage) wire.Proposal {
	return wire.Proposal{Version: version, Fields: fields, Digest: Digest(copiedUID, by, version, fields)}
}

func proposes(by Role, version int, fields json.RawMessage, code string) said {
	return said{by, wire.TaskPropose, terms(by, version, fields), code}
}

// answers decides on a version that the other side wrote.
func answers(by Role, version int, fields json.RawMessage, decision, code string) said {
	digest := Digest(copiedUID, by.Other(), version, fields)
	return said{by, wire.TaskRespond, wire.Response{Version: version, Digest: digest, Decision: decision, Reason: "why"}, code}
}

func cancels(by Role, code string) said {
	return said{by, wire.TaskCancel, wire.Cancel{Reason: "ill"}, code}
}

// confirms says that version 1, the initiator's dinner, was booked so long before the deadline.
func confirms(by Role, before time.Duration, code string) said {
	return said{by, wire.TaskConfirm, wire.Confirm{
		Version: 1, Digest: Digest(copiedUID, Initiator, 1, dinner), Action: "reservation.book", Code: "R1",
		ExecutedAt: copiedDeadline.Add(-before), Simulated: true, Receipt: "receipt", Salt: "salt",
	}, code}
}

// overdue is the deadline passing here; it is no message.
var overdue = said{}

func (c *Copy) hears(t *testing.T, history ...said) {
	t.Helper()
	f := folding{uid: copiedUID, deadline: copiedDeadline}
	for i, s := range history {
		if s == overdue {
			c.Status, c.Expired = ExpiredTask, true
			continue
		}
		content, err := json.Marshal(s.content)
		if err != nil {
			t.Fatal(err)
		}
		m := Message{ID: strings.Repeat("m", i+1), Type: s.typ, Content: content, CreatedAt: copiedDeadline.Add(-time.Hour)}
		if code := c.apply(f, s.by, m); code != s.code {
			t.Fatalf("message %d, a %s: the code is %q, want %q", i+1, s.typ, code, s.code)
		}
	}
}

var (
	first  = proposes(Initiator, 1, dinner, "")
	agreed = []said{starts("", nil), first, answers(Responder, 1, dinner, wire.Accept, "")}
)

func after(before []said, then ...said) []said { return append(append([]said{}, before...), then...) }

// TestCopyTakesMessages is the code that each message gets in each state of a copy.
func TestCopyTakesMessages(t *testing.T) {
	t.Parallel()
	wrong := terms(Initiator, 1, lunch)
	wrong.Fields = dinner
	opening := terms(Initiator, 1, dinner)
	otherVersion, otherDigest := confirms(Initiator, 0, wire.CodeDigestMismatch), confirms(Initiator, 0, wire.CodeDigestMismatch)
	otherVersion.content = wire.Confirm{Version: 2, Digest: Digest(copiedUID, Initiator, 1, dinner), ExecutedAt: copiedDeadline}
	otherDigest.content = wire.Confirm{Version: 1, Digest: Digest(copiedUID, Initiator, 1, lunch), ExecutedAt: copiedDeadline}

	for name, history := range map[string][]said{
		"nothing before its start":      {proposes(Initiator, 1, dinner, wire.CodeBadState)},
		"started twice":                 {starts("", nil), starts(wire.CodeBadState, nil)},
		"started with a proposal":       {starts("", &opening), answers(Responder, 1, dinner, wire.Accept, "")},
		"started with a wrong digest":   {starts(wire.CodeDigestMismatch, &wrong), starts("", nil)},
		"a number left out":             {starts("", nil), proposes(Initiator, 2, dinner, wire.CodeStaleVersion), first},
		"a number again":                {starts("", nil), first, proposes(Responder, 1, lunch, wire.CodeStaleVersion)},
		"a number of nothing":           {starts("", nil), proposes(Initiator, 0, dinner, wire.CodeStaleVersion)},
		"terms of another digest":       {starts("", nil), {Initiator, wire.TaskPropose, wrong, wire.CodeDigestMismatch}},
		"another author's digest":       {starts("", nil), {Responder, wire.TaskPropose, opening, wire.CodeDigestMismatch}},
		"a proposal when agreed (D10)":  after(agreed, proposes(Responder, 2, lunch, wire.CodeBadState)),
		"a proposal after the end":      {starts("", nil), cancels(Initiator, ""), proposes(Initiator, 1, dinner, wire.CodeTaskEnded)},
		"an answer to nothing":          {starts("", nil), answers(Responder, 1, dinner, wire.Accept, wire.CodeStaleVersion)},
		"an answer to other terms":      {starts("", nil), first, answers(Responder, 1, lunch, wire.Accept, wire.CodeDigestMismatch)},
		"an answer to oneself":          {starts("", nil), proposes(Responder, 1, dinner, ""), said{Responder, wire.TaskRespond, wire.Response{Version: 1, Digest: Digest(copiedUID, Responder, 1, dinner), Decision: wire.Accept}, wire.CodeBadState}},
		"accepted twice":                after(agreed, answers(Responder, 1, dinner, wire.Accept, wire.CodeAlreadyResponded)),
		"rejected when accepted":        after(agreed, answers(Responder, 1, dinner, wire.Reject, wire.CodeAlreadyResponded)),
		"accepted when rejected":        {starts("", nil), first, answers(Responder, 1, dinner, wire.Reject, ""), answers(Responder, 1, dinner, wire.Accept, wire.CodeAlreadyResponded)},
		"a superseded one accepted":     {starts("", nil), first, proposes(Responder, 2, lunch, ""), answers(Responder, 1, dinner, wire.Accept, wire.CodeNotLatest)},
		"a superseded one rejected":     {starts("", nil), first, proposes(Responder, 2, lunch, ""), answers(Responder, 1, dinner, wire.Reject, "")},
		"an older one rejected, agreed": {starts("", nil), first, proposes(Responder, 2, lunch, ""), answers(Initiator, 2, lunch, wire.Accept, ""), answers(Responder, 1, dinner, wire.Reject, wire.CodeBadState)},
		"an answer after the end":       {starts("", nil), first, cancels(Initiator, ""), answers(Responder, 1, dinner, wire.Accept, wire.CodeTaskEnded)},
		"cancelled by both":             {starts("", nil), cancels(Initiator, ""), cancels(Responder, "")},
		"cancelled before its start":    {cancels(Initiator, wire.CodeTaskEnded)},
		"cancelled when confirmed":      after(agreed, confirms(Initiator, 0, ""), cancels(Responder, wire.CodeAlreadyConfirmed)),
		"cancelled when expired":        {starts("", nil), overdue, cancels(Initiator, wire.CodeTaskEnded)},
		"confirmed before agreed":       {starts("", nil), first, confirms(Initiator, 0, wire.CodeDigestMismatch)},
		"another version confirmed":     after(agreed, otherVersion),
		"other terms confirmed":         after(agreed, otherDigest),
		"confirmed twice (D6)":          after(agreed, confirms(Initiator, 0, ""), confirms(Responder, 0, wire.CodeDoubleRun)),
		"confirmed when cancelled (D4)": after(agreed, cancels(Responder, ""), confirms(Initiator, 0, wire.CodeCancelled)),
		"run at the deadline (D5)":      after(agreed, overdue, confirms(Initiator, 0, "")),
		"run after the deadline (D5)":   after(agreed, overdue, confirms(Initiator, -time.Nanosecond, wire.CodeTaskEnded)),
		"confirmed late, but not ended": after(agreed, confirms(Initiator, -time.Hour, "")),
		"no content at all":             {{Initiator, wire.TaskCreate, "text", wire.CodeBadContent}},
		"a member too many":             {starts("", nil), {Initiator, wire.TaskCancel, map[string]any{"more": 1}, wire.CodeBadContent}},
		"no message of a task":          {starts("", nil), {Initiator, wire.Message, wire.Chat{Text: "Hello"}, wire.CodeBadContent}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			new(Copy).hears(t, history...)
		})
	}
}

// TestCopyAfterMessages is what the messages leave behind.
func TestCopyAfterMessages(t *testing.T) {
	t.Parallel()
	at := copiedDeadline.Add(-time.Hour)
	one := Proposal{Version: 1, Author: Initiator, Fields: dinner, Digest: Digest(copiedUID, Initiator, 1, dinner), Status: ProposalPending, MessageID: "mm", At: at}
	two := Proposal{Version: 2, Author: Responder, Fields: lunch, Digest: Digest(copiedUID, Responder, 2, lunch), Status: ProposalPending, MessageID: "mmm", At: at}
	is := func(p Proposal, status ProposalStatus) Proposal { p.Status = status; return p }
	rejected := is(one, ProposalRejected)
	rejected.RejectedBy, rejected.Reason = Responder, "why"
	booked := func(by Role, id string) *Confirmation {
		return &Confirmation{By: by, Action: "reservation.book", Code: "R1", ExecutedAt: copiedDeadline, Simulated: true, Receipt: "receipt", Salt: "salt", MessageID: id}
	}
	wrong := terms(Initiator, 1, lunch)
	wrong.Fields = dinner

	for _, test := range []struct {
		name    string
		history []said
		want    Copy
	}{
		{"started", []said{starts("", nil)}, Copy{Title: "Dinner", Status: Open}},
		{"not started with a wrong proposal", []said{starts(wire.CodeDigestMismatch, &wrong)}, Copy{}},
		{"proposed", []said{starts("", nil), first}, Copy{Title: "Dinner", Status: Negotiating, Proposals: []Proposal{one}}},
		{"superseded", []said{starts("", nil), first, proposes(Responder, 2, lunch, "")}, Copy{
			Title: "Dinner", Status: Negotiating, Proposals: []Proposal{is(one, ProposalSuperseded), two}}},
		{"rejected", []said{starts("", nil), first, answers(Responder, 1, dinner, wire.Reject, "")}, Copy{
			Title: "Dinner", Status: Negotiating, Proposals: []Proposal{rejected}}},
		{"rejected, then another", []said{starts("", nil), first, answers(Responder, 1, dinner, wire.Reject, ""), proposes(Responder, 2, lunch, "")}, Copy{
			Title: "Dinner", Status: Negotiating, Proposals: []Proposal{rejected, {
				Version: 2, Author: Responder, Fields: lunch, Digest: two.Digest, Status: ProposalPending, MessageID: "mmmm", At: at,
			}}}},
		{"accepted", agreed, Copy{
			Title: "Dinner", Status: Agreed, Proposals: []Proposal{is(one, ProposalAccepted)}, Accepted: 1, AcceptedBy: "mmm"}},
		{"cancelled by both", []said{starts("", nil), cancels(Initiator, ""), cancels(Responder, "")}, Copy{
			Title: "Dinner", Status: CancelledTask, EndedBy: Initiator, CancelReason: "ill"}},
		{"confirmed twice", after(agreed, confirms(Initiator, 0, ""), confirms(Responder, 0, wire.CodeDoubleRun)), Copy{
			Title: "Dinner", Status: Confirmed, Proposals: []Proposal{is(one, ProposalAccepted)}, Accepted: 1, AcceptedBy: "mmm",
			EndedBy: Initiator, Confirmation: booked(Initiator, "mmmm"), Crossed: booked(Responder, "mmmmm")}},
		{"confirmed when cancelled", after(agreed, cancels(Responder, ""), confirms(Initiator, 0, wire.CodeCancelled)), Copy{
			Title: "Dinner", Status: CancelledTask, Proposals: []Proposal{is(one, ProposalAccepted)}, Accepted: 1, AcceptedBy: "mmm",
			EndedBy: Responder, CancelReason: "ill", Crossed: booked(Initiator, "mmmmm")}},
		{"corrected", after(agreed, overdue, confirms(Initiator, 0, "")), Copy{
			Title: "Dinner", Status: Confirmed, Expired: true, Proposals: []Proposal{is(one, ProposalAccepted)}, Accepted: 1, AcceptedBy: "mmm",
			EndedBy: Initiator, Confirmation: booked(Initiator, "mmmmm")}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var c Copy
			c.hears(t, test.history...)
			if diff := cmp.Diff(test.want, c); diff != "" {
				t.Errorf("the copy (-want +got):\n%s", diff)
			}
		})
	}
}

// TestVoidProposals: a version that fell void is none.
func TestVoidProposals(t *testing.T) {
	t.Parallel()
	c := Copy{Proposals: []Proposal{{Version: 1}, {Version: 2}, {Version: 2, Status: ProposalVoid}, {Version: 3, Status: ProposalVoid}}}
	if got := c.Latest(); got != &c.Proposals[1] {
		t.Errorf("the latest is %+v", got)
	}
	for version, want := range map[int]*Proposal{0: nil, 1: &c.Proposals[0], 2: &c.Proposals[1], 3: nil} {
		if got := c.Version(version); got != want {
			t.Errorf("version %d is %+v", version, got)
		}
	}
	c.Proposals[0].Status, c.Proposals[1].Status = ProposalVoid, ProposalVoid
	if got := c.Latest(); got != nil {
		t.Errorf("of void ones the latest is %+v", got)
	}
	if c.AcceptedProposal() != nil {
		t.Error("nothing was accepted")
	}
}

// TestTrialLeavesTheCopy: what is tried on a clone is not seen in the copy.
func TestTrialLeavesTheCopy(t *testing.T) {
	t.Parallel()
	var c Copy
	c.hears(t, starts("", nil), first)
	twin := c.clone()
	twin.Proposals[0].Status = ProposalRejected
	if got := c.Latest().Status; got != ProposalPending {
		t.Errorf("the copy's proposal is %s", got)
	}
	if diff := cmp.Diff(map[string]any{"date": "2031-05-09"}, c.Latest().fields()); diff != "" {
		t.Error(diff)
	}
	if got := (&Proposal{Fields: json.RawMessage(`[1]`)}).fields(); got == nil || len(got) != 0 {
		t.Errorf("fields that are no object give %v", got)
	}
}
