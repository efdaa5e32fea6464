package peer

import (
	"fmt"
	"testing"
	"time"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/token"
)

const eve = "eve@stranger.example"

// request is a stranger's request to connect.
func (w *world) request(tb testing.TB, from party, change func(*wire.Envelope)) []byte {
	tb.Helper()
	e := w.claims(wire.ConnectionRequest)
	e.Iss = eve
	if change != nil {
		change(&e)
	}
	sender, err := node.ParseAddress(e.Iss)
	if err != nil {
		tb.Fatal(err)
	}
	return w.sealed(tb, from, e, innerOf(e, content(wire.ConnectionRequest, from.peer(sender.Host))))
}

// only gives the one stranger that waits.
func (w *world) only(tb testing.TB) coordination.Stranger {
	tb.Helper()
	if len(w.state.strangers) != 1 {
		tb.Fatalf("%d strangers", len(w.state.strangers))
	}
	return w.sorted()[0]
}

func (w *world) post(tb testing.TB, compact []byte) (status int, ack wire.Ack) {
	tb.Helper()
	status, answer := w.inbox.Receive(tb.Context(), compact, otherIP)
	if status == 200 {
		if err := token.Open(token.Ack, w.us.signer.PublicKey(), string(answer), &ack); err != nil {
			tb.Fatal(err)
		}
	}
	return status, ack
}

func TestAStrangerWaitsForItsCard(t *testing.T) {
	t.Parallel()
	w, stranger := newWorld(t), newParty(t)
	compact := w.request(t, stranger, nil)
	for range 3 {
		if status, _ := w.post(t, compact); status != 202 {
			t.Fatalf("status %d", status)
		}
		w.clock.Advance(2 * time.Second)
	}
	waiting := w.only(t)
	if waiting.Host != "stranger.example" || waiting.IP != otherIP || waiting.SHA256 != sum(compact) || !waiting.ExpiresAt.Equal(start.Add(coordination.StrangerLife)) {
		t.Errorf("%+v", waiting)
	}
	if w.receivedCount() != 0 {
		t.Fatal("it was received before its card was read")
	}
	if err := w.inbox.Introduce(t.Context(), waiting, stranger.peer("stranger.example")); err != nil {
		t.Fatal(err)
	}
	in := w.state.received[0]
	if in.Peer.Fingerprint != stranger.signer.Fingerprint() || in.ConnectionID != "" || w.strangersCount() != 0 {
		t.Errorf("%+v, %d strangers", in, w.strangersCount())
	}
	if status, ack := w.post(t, compact); status != 200 || ack.Status != wire.Applied || ack.SHA256 != sum(compact) {
		t.Errorf("asking again: %d %+v", status, ack)
	}
	if n := w.receivedCount(); n != 1 {
		t.Errorf("received %d times", n)
	}
}

// TestHandlesAreNotTold: before its request was looked at a stranger cannot tell
// a handle that exists from one that does not, whatever it sends.
func TestHandlesAreNotTold(t *testing.T) {
	t.Parallel()
	stranger := newParty(t)
	for _, typ := range wire.Types {
		w := newWorld(t)
		var answers []string
		for _, aud := range []string{ana, "bob@" + ourHost, "nobody@" + ourHost} {
			compact := w.request(t, stranger, func(e *wire.Envelope) {
				e.Aud, e.Type = aud, typ
				if typ.ForTask() {
					e.Task, e.Seq = e.JTI, 1
				}
			})
			status, answer := w.inbox.Receive(t.Context(), compact, otherIP)
			answers = append(answers, fmt.Sprint(status, string(answer)))
		}
		if answers[0] != answers[1] || answers[1] != answers[2] {
			t.Errorf("%s: %q", typ, answers)
		}
	}
}

func TestARequestToNobodyIsRejectedOnceItsSenderIsKnown(t *testing.T) {
	t.Parallel()
	w, stranger := newWorld(t), newParty(t)
	compact := w.request(t, stranger, func(e *wire.Envelope) { e.Aud = "nobody@" + ourHost })
	w.post(t, compact)
	if err := w.inbox.Introduce(t.Context(), w.only(t), stranger.peer("stranger.example")); err != nil {
		t.Fatal(err)
	}
	status, ack := w.post(t, compact)
	if status != 200 || ack.Status != wire.Rejected || ack.Code != wire.CodeConnectionUnknown || ack.Ref == "" || ack.Aud != eve {
		t.Errorf("%d %+v", status, ack)
	}
	if w.receivedCount() != 0 || len(w.state.connections) != 1 {
		t.Error("something came of it")
	}
}

func TestARejectedRequestKeepsItsAnswer(t *testing.T) {
	t.Parallel()
	w, stranger := newWorld(t), newParty(t)
	w.verdict = func(coordination.Incoming) (wire.Ack, error) {
		return wire.Ack{Status: wire.Rejected, Code: wire.CodeBadContent}, nil
	}
	compact := w.request(t, stranger, nil)
	w.post(t, compact)
	if err := w.inbox.Introduce(t.Context(), w.only(t), stranger.peer("stranger.example")); err != nil {
		t.Fatal(err)
	}
	if status, ack := w.post(t, compact); status != 200 || ack.Code != wire.CodeBadContent {
		t.Errorf("%d %+v", status, ack)
	}
}

func TestWhatItsNodeDidNotSignIsDropped(t *testing.T) {
	t.Parallel()
	stranger, forger := newParty(t), newParty(t)
	card := stranger.peer("stranger.example")
	for name, compact := range map[string]func(w *world) []byte{
		"another node's request": func(w *world) []byte { return w.request(t, forger, nil) },
		"signed by another key": func(w *world) []byte {
			e := w.claims(wire.ConnectionRequest)
			e.Iss = eve
			return w.sealed(t, forger, e, innerOf(e, content(wire.ConnectionRequest, card)))
		},
		"the forger's recipient": func(w *world) []byte {
			e := w.claims(wire.ConnectionRequest)
			e.Iss = eve
			return w.sealed(t, stranger, e, innerOf(e, `{"recipient":"`+forger.recipient+`","inbox":"`+card.Inbox+`"}`))
		},
		"another inbox on the host": func(w *world) []byte {
			e := w.claims(wire.ConnectionRequest)
			e.Iss = eve
			return w.sealed(t, stranger, e, innerOf(e, `{"recipient":"`+card.Recipient+`","inbox":"https://stranger.example/elsewhere"}`))
		},
		"an inbox elsewhere": func(w *world) []byte {
			e := w.claims(wire.ConnectionRequest)
			e.Iss = eve
			return w.sealed(t, stranger, e, innerOf(e, `{"recipient":"`+card.Recipient+`","inbox":"https://victim.example/"}`))
		},
		"somebody else's ciphertext": func(w *world) []byte {
			e := w.claims(wire.ConnectionRequest)
			other := e
			other.Iss = "mallory@stranger.example"
			e.Iss = eve
			return w.sealed(t, stranger, e, innerOf(other, content(wire.ConnectionRequest, card)))
		},
		"a content that is none": func(w *world) []byte {
			e := w.claims(wire.ConnectionRequest)
			e.Iss = eve
			return w.sealed(t, stranger, e, innerOf(e, `{"approved":true}`))
		},
	} {
		w := newWorld(t)
		if status, _ := w.post(t, compact(w)); status != 202 {
			t.Fatalf("%s: not queued: %d", name, status)
		}
		if err := w.inbox.Introduce(t.Context(), w.only(t), card); err != nil {
			t.Fatal(err)
		}
		if w.receivedCount() != 0 || w.strangersCount() != 0 {
			t.Errorf("%s: received %d, %d rows left", name, w.receivedCount(), w.strangersCount())
		}
	}
}

func TestARequestThatIsOverWhenItsCardComesIsDropped(t *testing.T) {
	t.Parallel()
	w, stranger := newWorld(t), newParty(t)
	w.post(t, w.request(t, stranger, nil))
	w.clock.Advance(time.Hour)
	if err := w.inbox.Introduce(t.Context(), w.only(t), stranger.peer("stranger.example")); err != nil {
		t.Fatal(err)
	}
	if w.receivedCount() != 0 || w.strangersCount() != 0 {
		t.Error("it was received")
	}
}

// TestAnotherKeyAtAKnownAddress: a request that the pinned key did not sign is
// believed only if the address' own card shows the new key. Anything else would
// let anybody cut a connection with one forged message.
func TestAnotherKeyAtAKnownAddress(t *testing.T) {
	t.Parallel()
	fresh := newParty(t)
	for _, status := range coordination.ConnectionStatuses {
		w := newWorld(t)
		c := w.state.connections[ana+" "+ben]
		c.Status = status
		w.state.connections[ana+" "+ben] = c
		compact := w.request(t, fresh, func(e *wire.Envelope) { e.Iss = ben })

		if code, _ := w.post(t, compact); code != 202 {
			t.Fatalf("%s: %d", status, code)
		}
		if err := w.inbox.Introduce(t.Context(), w.only(t), w.peer.peer(peerHost)); err != nil { // the pinned key still
			t.Fatal(err)
		}
		if len(w.state.keyChanged) != 0 || w.strangersCount() != 0 {
			t.Errorf("%s: a forgery marked the connection", status)
		}

		w.post(t, compact)
		waiting := w.only(t)
		if err := w.inbox.Introduce(t.Context(), waiting, fresh.peer(peerHost)); err != nil {
			t.Fatal(err)
		}
		if len(w.state.keyChanged) != 1 || w.receivedCount() != 0 {
			t.Errorf("%s: marked %v, received %d", status, w.state.keyChanged, w.receivedCount())
		}
		if code, _ := w.post(t, compact); code != 202 || len(w.state.strangers) != 1 || !w.only(t).Settled {
			t.Errorf("%s: asking again: %d", status, code)
		}
	}
}

// TestTwoRequestsAtOnce: the second is met when the first has made a connection.
func TestTwoRequestsAtOnce(t *testing.T) {
	t.Parallel()
	w, stranger := newWorld(t), newParty(t)
	card := stranger.peer("stranger.example")
	second := w.request(t, stranger, nil)
	w.post(t, w.request(t, stranger, nil))
	w.post(t, second)
	for _, waiting := range w.sorted() {
		if err := w.inbox.Introduce(t.Context(), waiting, card); err != nil {
			t.Fatal(err)
		}
	}
	if w.receivedCount() != 1 || len(w.state.keyChanged) != 0 || w.strangersCount() != 0 {
		t.Errorf("received %d, marked %v, %d rows", w.receivedCount(), w.state.keyChanged, w.strangersCount())
	}
	if status, ack := w.post(t, second); status != 200 || ack.Status != wire.Applied {
		t.Errorf("the second, asked again: %d %+v", status, ack)
	}
}

func TestAForgeryAtAKnownAddressStopsNothing(t *testing.T) {
	t.Parallel()
	w, forger := newWorld(t), newParty(t)
	w.post(t, w.request(t, forger, func(e *wire.Envelope) { e.Iss = ben }))
	if status, _ := w.post(t, w.envelope(t, w.peer, wire.Message, nil)); status != 200 {
		t.Errorf("the contact's next message: %d", status)
	}
}

func TestStrangersAreBounded(t *testing.T) {
	t.Parallel()
	stranger := newParty(t)
	for _, tt := range []struct {
		name string
		host func(i int) string
		ip   func(i int) string
		want int
	}{
		{"of a host", func(int) string { return "stranger.example" }, func(i int) string { return fmt.Sprintf("10.%d.%d.1", i/250, i%250) }, coordination.MaxStrangersPerHost},
		{"from an address", func(i int) string { return fmt.Sprintf("h%d.example", i) }, func(int) string { return otherIP }, coordination.MaxStrangersPerIP},
		{"from a network of IPv6", func(i int) string { return fmt.Sprintf("h%d.example", i) }, func(i int) string { return fmt.Sprintf("2001:db8:0:1::%x", i) }, coordination.MaxStrangersPerIP},
		{"of this node's own", func(int) string { return ourHost }, func(int) string { return "" }, coordination.MaxStrangers},
		{"in all", func(i int) string { return fmt.Sprintf("h%d.example", i) }, func(i int) string { return fmt.Sprintf("10.%d.%d.1", i/250, i%250) }, coordination.MaxStrangers},
	} {
		w := newWorld(t)
		for i := range tt.want + 5 {
			e := with(w.claims(wire.ConnectionRequest), "eA") // the body is opened later
			e.Iss = "eve@" + tt.host(i)
			compact := stranger.sign(t, token.Envelope, e)
			status, _ := w.inbox.Receive(t.Context(), compact, tt.ip(i))
			if want := map[bool]int{true: 202, false: 429}[i < tt.want]; status != want {
				t.Fatalf("%s: request %d: %d, want %d", tt.name, i, status, want)
			}
		}
	}
}

func TestSettledStrangersMakeRoom(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range coordination.MaxStrangers {
		id := fmt.Sprintf("%04d", i)
		w.state.strangers[id] = coordination.Stranger{ID: id, Host: fmt.Sprint(i), IP: fmt.Sprint(i), Settled: i == 7}
	}
	stranger := newParty(t)
	if status, _ := w.post(t, w.request(t, stranger, nil)); status != 202 {
		t.Errorf("status %d", status)
	}
	if _, there := w.state.strangers["0007"]; there || len(w.state.strangers) != coordination.MaxStrangers {
		t.Errorf("%d rows, the settled one is there: %v", len(w.state.strangers), there)
	}
	if status, _ := w.post(t, w.request(t, stranger, nil)); status != 429 {
		t.Errorf("nothing is settled: status %d", status)
	}
}
