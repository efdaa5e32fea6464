package delivery

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/token"
)

// saying is a transport that answers by a function.
type saying func(url string, body []byte) (status int, answer []byte, err error)

// Post implements Transport.
func (s saying) Post(_ context.Context, url string, body []byte) (int, http.Header, []byte, bool, error) {
	status, answer, err := s(url, body)
	return status, nil, answer, true, err
}

const (
	anaAddress = "ana@home.example"
	benAddress = "ben@peer.example"
)

// TestAsk: what a contact says counts where it is signed with the pinned key and
// answers this question; what everything else means.
func TestAsk(t *testing.T) {
	t.Parallel()
	us, peer, other := newParty(t), newParty(t), newParty(t)
	heads := []wire.HeldHead{{Head: wire.Head{N: 4, Seal: "four"}, At: start.Unix()}}
	answering := func(by party, kind token.Kind, change func(*wire.WitnessAnswer)) saying {
		return func(url string, body []byte) (int, []byte, error) {
			var q wire.WitnessRequest
			if err := token.Open(token.WitnessRequest, us.signer.PublicKey(), string(body), &q); err != nil || !q.Valid() || q.Exp-q.Iat != 60 {
				t.Errorf("the question is %+v, %v", q, err)
			}
			if url != "http://peer.example"+wire.WitnessPath || q.Iss != anaAddress || q.Aud != benAddress {
				t.Errorf("%+v went to %s", q, url)
			}
			a := wire.WitnessAnswer{Iss: q.Aud, Aud: q.Iss, Ref: q.JTI, Heads: heads, Iat: start.Unix()}
			if change != nil {
				change(&a)
			}
			return http.StatusOK, by.sign(t, kind, a), nil
		}
	}
	status := func(status int) saying {
		return func(string, []byte) (int, []byte, error) { return status, []byte(`{"code":"x"}`), nil }
	}
	for name, test := range map[string]struct {
		transport saying
		want      error
	}{
		"an answer":            {answering(peer, token.WitnessAnswer, nil), nil},
		"another key":          {answering(other, token.WitnessAnswer, nil), ErrUnreachable},
		"another kind":         {answering(peer, token.Ack, nil), ErrUnreachable},
		"another question":     {answering(peer, token.WitnessAnswer, func(a *wire.WitnessAnswer) { a.Ref = node.RandomIDs{}.New() }), ErrUnreachable},
		"for somebody else":    {answering(peer, token.WitnessAnswer, func(a *wire.WitnessAnswer) { a.Aud = "eve@home.example" }), ErrUnreachable},
		"from somebody else":   {answering(peer, token.WitnessAnswer, func(a *wire.WitnessAnswer) { a.Iss = "eve@peer.example" }), ErrUnreachable},
		"too many heads":       {answering(peer, token.WitnessAnswer, func(a *wire.WitnessAnswer) { a.Heads = make([]wire.HeldHead, wire.MaxHeads+1) }), ErrUnreachable},
		"no answer":            {func(string, []byte) (int, []byte, error) { return 0, nil, errors.New("no route") }, ErrUnreachable},
		"noise":                {func(string, []byte) (int, []byte, error) { return 200, []byte("<html>"), nil }, ErrUnreachable},
		"an old node":          {status(http.StatusNotFound), ErrTooOld},
		"an old node's page":   {status(http.StatusMethodNotAllowed), ErrTooOld},
		"a redirect":           {status(http.StatusSeeOther), ErrTooOld},
		"not known":            {status(http.StatusUnauthorized), ErrRefused},
		"asked too often":      {status(http.StatusTooManyRequests), ErrUnreachable},
		"a node that is busy":  {status(http.StatusServiceUnavailable), ErrUnreachable},
		"a proxy without node": {status(http.StatusBadGateway), ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &Witnesses{Transport: test.transport, Signer: us.signer, Clock: node.NewFakeClock(start), IDs: node.RandomIDs{}}
			got, err := w.Ask(t.Context(), coordination.Witness{ConnectionID: "c1", Address: anaAddress, Contact: benAddress, Peer: peer.peer("peer.example")})
			if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
				t.Fatalf("%v, want %v", err, test.want)
			}
			if err == nil {
				if diff := cmp.Diff(heads, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

// listed are the contacts of a test.
type listed []coordination.Witness

// Witnesses lists them.
func (l listed) Witnesses(node.Tx) ([]coordination.Witness, error) { return l, nil }

// emptyLog is a log without rows that takes one.
type emptyLog struct {
	kept []audit.Row
}

func (*emptyLog) LockHead(node.Tx) (audit.Head, error) {
	return audit.Head{Hash: audit.GenesisHash}, nil
}
func (*emptyLog) AuditHead(node.Tx) (audit.Head, error) {
	return audit.Head{Hash: audit.GenesisHash}, nil
}
func (*emptyLog) AuditRows(node.Tx, audit.Filter) ([]audit.Row, error) { return nil, nil }
func (*emptyLog) AppendAudit(node.Tx, []audit.Row, audit.Head) error   { return nil }
func (l *emptyLog) KeepAudit(_ node.Tx, row audit.Row, _ func([]audit.Row) error) (int64, error) {
	l.kept = append(l.kept, row)
	return int64(len(l.kept)), nil
}

// TestCompareAsksEverybody: each contact gets the verdict of its own answer, one at
// a time is under way, and the log says what came of it.
func TestCompareAsksEverybody(t *testing.T) {
	t.Parallel()
	us, peer := newParty(t), newParty(t)
	log := &emptyLog{}
	contacts, want := listed{}, map[string]audit.Verdict{}
	for i, verdict := range []audit.Verdict{
		audit.Nothing, audit.NotOurs, audit.TooOld, audit.Refused, audit.Unreachable, audit.Nothing, audit.Nothing, audit.TooOld, audit.NotOurs, audit.Nothing,
	} {
		contact := strings.Repeat("b", i+1) + "@peer.example"
		contacts = append(contacts, coordination.Witness{ConnectionID: contact, Address: anaAddress, Contact: contact, Peer: peer.peer("peer.example")})
		want[contact] = verdict
	}
	entered, leave := make(chan struct{}, len(contacts)), make(chan struct{})
	transport := saying(func(_ string, body []byte) (int, []byte, error) {
		entered <- struct{}{}
		<-leave
		var q wire.WitnessRequest
		if err := token.Peek(token.WitnessRequest, string(body), &q); err != nil {
			return 0, nil, err
		}
		answer := wire.WitnessAnswer{Iss: q.Aud, Aud: q.Iss, Ref: q.JTI, Heads: []wire.HeldHead{}}
		switch want[q.Aud] {
		case audit.TooOld:
			return 404, nil, nil
		case audit.Refused:
			return 401, nil, nil
		case audit.Unreachable:
			return 0, nil, errors.New("no route")
		case audit.NotOurs:
			answer.Heads = append(answer.Heads, wire.HeldHead{Head: wire.Head{N: 1, Seal: "made up"}})
		}
		return 200, peer.sign(t, token.WitnessAnswer, answer), nil
	})
	clock := node.NewFakeClock(start)
	c := &Comparer{
		Witnesses: &Witnesses{Transport: transport, Signer: us.signer, Clock: clock, IDs: node.RandomIDs{}},
		DB:        newMemory(clock), Coordination: contacts, Audit: audit.New(log, []byte("key")),
	}
	owner := node.Actor{Kind: node.ActorOwner, OwnerID: "o1"}
	go func() {
		for range askAtOnce {
			<-entered
		}
		if _, err := c.Compare(t.Context(), owner); node.CodeOf(err) != node.Conflict {
			t.Errorf("a second comparison: %v", err)
		}
		close(leave)
	}()
	report, err := c.Compare(t.Context(), owner)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]audit.Verdict{}
	for _, by := range report.Contacts {
		got[by.Contact] = by.Verdict
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(log.kept) != 1 || log.kept[0].Type != audit.Compared || log.kept[0].OwnerID != "o1" ||
		string(log.kept[0].Data) != `{"agree":0,"asked":10,"speakAgainst":2,"whole":true,"withoutAnswer":8}` {
		t.Errorf("the log says %+v %s", log.kept, log.kept[0].Data)
	}
	if report.OK() {
		t.Error("what was made up is fine")
	}
}
