package delivery

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/outbox"
	"agentlink/node/token"
)

func TestDelivers(t *testing.T) {
	t.Parallel()
	b := newBench(t, ClientConfig{})
	id := b.queue(wire.Message, "chat", 1)
	b.drain(t)
	x := b.db.message(id)
	if _, waits := b.db.item(id); waits || b.peer.count(id) != 1 || len(x.acks) != 1 || x.unsent != 0 {
		t.Fatalf("waits %v, applied %d, acks %v, unsent %d", waits, b.peer.count(id), x.acks, x.unsent)
	}
	if x.acks[0].Status != wire.Applied || string(x.dispatch.Envelope) != b.peer.bytes[id] {
		t.Error("the kept bytes are not those that arrived")
	}
}

func TestDispatchDecides(t *testing.T) {
	t.Parallel()
	b := newBench(t, ClientConfig{})
	waits, drops := b.queue(wire.Message, "a", 1), b.queue(wire.Message, "b", 1)
	next := start.Add(time.Hour)
	b.db.change(waits, func(m *message) { m.dispatch = coordination.Dispatch{Do: coordination.Wait, Next: next} })
	b.db.change(drops, func(m *message) { m.dispatch = coordination.Dispatch{Do: coordination.Drop} })
	b.drain(t)
	if item, ok := b.db.item(waits); !ok || !item.NextAt.Equal(next) || item.LeaseToken != "" {
		t.Errorf("the waiting one: %+v, %v", item, ok)
	}
	if _, ok := b.db.item(drops); ok {
		t.Error("the dropped one is still there")
	}
	if b.peer.posts != 0 {
		t.Errorf("%d posts", b.peer.posts)
	}
}

// faults are the ways in which a peer fails to answer. pause is what the worker
// then waits, unsent whether it may say that nothing has left.
var faults = []struct {
	name  string
	pause time.Duration
	f     func(b *bench) func(http.ResponseWriter, *http.Request) bool
}{
	{"429", time.Second, answers(429, nil, "")},
	{"429 with Retry-After", 7 * time.Second, answers(429, http.Header{"Retry-After": {"7"}}, "")},
	{"429 with a date", 90 * time.Second, answers(429, http.Header{"Retry-After": {start.Add(90 * time.Second).Format(http.TimeFormat)}}, "")},
	{"429 with too long a Retry-After", outbox.MaxPause, answers(429, http.Header{"Retry-After": {"86400"}}, "")},
	{"429 with nonsense", time.Second, answers(429, http.Header{"Retry-After": {"-5 or so"}}, "")},
	{"500", time.Second, answers(500, nil, `{"error":{"code":"internal"}}`)},
	{"502 with a page", time.Second, answers(502, http.Header{"Content-Type": {"text/html"}}, "<html>Bad gateway</html>")},
	{"503 with Retry-After", 3 * time.Second, answers(503, http.Header{"Retry-After": {"3"}}, "")},
	{"400", time.Second, answers(400, nil, `{"error":{"code":"bad_request"}}`)},
	{"404", time.Second, answers(404, nil, "not found")},
	{"200 and nothing", time.Second, answers(200, nil, "")},
	{"200 and a page", time.Second, answers(200, nil, "<html>Welcome</html>")},
	{"202 and nothing", askAgain, answers(202, nil, "")},
	{"202 and something", time.Second, answers(202, nil, "queued")},
	{"204", time.Second, answers(204, nil, "")},
	{"redirect", time.Second, answers(307, http.Header{"Location": {"http://localhost:1/"}}, "")},
	{"compressed", time.Second, answers(200, http.Header{"Content-Encoding": {"gzip"}}, "x")},
	{"huge", time.Second, func(*bench) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			for block := make([]byte, 32<<10); ; {
				if _, err := w.Write(block); err != nil {
					return true
				}
			}
		}
	}},
	{"cut", time.Second, answers(200, http.Header{"Content-Length": {"500"}}, "eyJ")},
	{"hangs up", time.Second, func(*bench) func(http.ResponseWriter, *http.Request) bool {
		return func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }
	}},
	{"silence", time.Second, func(*bench) func(http.ResponseWriter, *http.Request) bool {
		return func(_ http.ResponseWriter, r *http.Request) bool {
			_, _ = io.Copy(io.Discard, r.Body) // only then the server sees that the client has left
			<-r.Context().Done()
			return true
		}
	}},
	{"slow bytes", time.Second, func(*bench) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			for r.Context().Err() == nil {
				_, _ = w.Write([]byte("e"))
				_ = http.NewResponseController(w).Flush()
				time.Sleep(20 * time.Millisecond)
			}
			return true
		}
	}},
	{"another key", time.Second, forgedAck(func(b *bench, ack *wire.Ack) *token.Signer { return b.us.signer })},
	{"about another message", time.Second, forgedAck(func(b *bench, ack *wire.Ack) *token.Signer {
		ack.Ref = node.RandomIDs{}.New()
		return b.peer.signer
	})},
	{"about other bytes", time.Second, forgedAck(func(b *bench, ack *wire.Ack) *token.Signer {
		ack.SHA256 = hash([]byte("other"))
		return b.peer.signer
	})},
	{"by another agent", time.Second, forgedAck(func(b *bench, ack *wire.Ack) *token.Signer {
		ack.Iss = "eve@" + b.peer.host
		return b.peer.signer
	})},
	{"for another agent", time.Second, forgedAck(func(b *bench, ack *wire.Ack) *token.Signer {
		ack.Aud = "eve@" + ourHost
		return b.peer.signer
	})},
	{"from the future", time.Second, forgedAck(func(b *bench, ack *wire.Ack) *token.Signer {
		ack.Iat = start.Add(time.Hour).Unix()
		return b.peer.signer
	})},
	{"from before the message", time.Second, forgedAck(func(b *bench, ack *wire.Ack) *token.Signer {
		ack.Iat = start.Add(-time.Hour).Unix()
		return b.peer.signer
	})},
	{"a status of its own", time.Second, forgedAck(func(b *bench, ack *wire.Ack) *token.Signer {
		ack.Status = "perhaps"
		return b.peer.signer
	})},
	{"another kind of token", time.Second, func(b *bench) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			ack, _ := b.peer.take(r)
			compact, _ := b.peer.signer.Sign(token.Receipt, ack)
			_, _ = w.Write([]byte(compact))
			return true
		}
	}},
}

func answers(status int, header http.Header, body string) func(*bench) func(http.ResponseWriter, *http.Request) bool {
	return func(*bench) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			for name, values := range header {
				w.Header()[name] = values
			}
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
			return true
		}
	}
}

// forgedAck takes the envelope and answers with something else than the truth.
func forgedAck(change func(b *bench, ack *wire.Ack) *token.Signer) func(*bench) func(http.ResponseWriter, *http.Request) bool {
	return func(b *bench) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			ack, _ := b.peer.take(r)
			signer := change(b, &ack)
			compact, err := signer.Sign(token.Ack, ack)
			if err != nil {
				panic(err)
			}
			_, _ = w.Write([]byte(compact))
			return true
		}
	}
}

// TestFaultsOfAPeer meets each fault three times, with growing pauses, and then
// a peer that is well again: the message arrives once, with the bytes of the
// first attempt.
func TestFaultsOfAPeer(t *testing.T) {
	t.Parallel()
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, ClientConfig{Timeout: 250 * time.Millisecond})
			id := b.queue(wire.Message, "chat", 1)
			b.peer.fail(fault.f(b))
			b.drain(t)
			if item, ok := b.db.item(id); !ok || item.NextAt.Sub(start) != fault.pause {
				t.Fatalf("next attempt after %v, want %v (there: %v)", item.NextAt.Sub(start), fault.pause, ok)
			}
			kept := b.db.message(id).dispatch.Envelope
			for range 2 {
				b.next(t)
				b.drain(t)
			}
			if x := b.db.message(id); x.unsent != 0 || x.tries != 3 || len(x.acks) != 0 {
				t.Errorf("unsent %d, tries %d, acks %v", x.unsent, x.tries, x.acks)
			}
			b.peer.fail(nil)
			b.next(t)
			b.drain(t)
			x := b.db.message(id)
			if _, waits := b.db.item(id); waits || len(x.acks) != 1 || b.peer.count(id) != 1 {
				t.Errorf("afterwards: waits %v, acks %v, applied %d", waits, x.acks, b.peer.count(id))
			}
			if !cmp.Equal(kept, x.dispatch.Envelope) {
				t.Error("the bytes changed between attempts")
			}
		})
	}
}

func TestWhatNeverLeftIsTakenBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, ClientConfig{TLSTimeout: 100 * time.Millisecond})
	for name, inbox := range map[string]string{
		"nobody listens":  "http://127.0.0.1:1" + wire.InboxPath,
		"no TLS":          "https://" + b.peer.host + wire.InboxPath,
		"private address": "https://10.0.0.1" + wire.InboxPath,
		"plain http":      "http://peer.example" + wire.InboxPath,
	} {
		id := b.queue(wire.Message, name, 1)
		b.db.change(id, func(m *message) { m.dispatch.Peer.Inbox = inbox })
		b.drain(t)
		x := b.db.message(id)
		if x.unsent != 1 || x.tries != 0 || x.dispatch.Envelope != nil {
			t.Errorf("%s: unsent %d, tries %d, bytes kept %v", name, x.unsent, x.tries, x.dispatch.Envelope != nil)
		}
		if item, ok := b.db.item(id); !ok || !item.NextAt.After(b.clock.Now()) {
			t.Errorf("%s: it is not tried again: %+v", name, item)
		}
	}
}

func TestADialErrorTakesBackNoEarlierAttempt(t *testing.T) {
	t.Parallel()
	b := newBench(t, ClientConfig{Timeout: 200 * time.Millisecond})
	id := b.queue(wire.Message, "chat", 1)
	b.peer.fail(answers(500, nil, "")(b))
	b.drain(t)
	b.db.change(id, func(m *message) { m.dispatch.Peer.Inbox = "http://127.0.0.1:1/" })
	b.next(t)
	b.drain(t)
	if x := b.db.message(id); x.tries != 1 || x.dispatch.Envelope == nil {
		t.Errorf("tries %d, bytes kept %v; want the first attempt to count", x.tries, x.dispatch.Envelope != nil)
	}
}

func TestAGapIsSentAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, ClientConfig{})
	id := b.queue(wire.TaskPropose, "task", 3)
	b.db.change(id, func(m *message) { m.acknowledge = false })
	b.drain(t)
	if item, ok := b.db.item(id); !ok || item.NextAt.Sub(start) != time.Second {
		t.Fatalf("%+v, %v", item, ok)
	}
	b.db.change(id, func(m *message) { m.acknowledge = true })
	b.next(t)
	b.drain(t)
	if _, ok := b.db.item(id); ok || b.peer.count(id) != 1 {
		t.Errorf("still there %v, applied %d", ok, b.peer.count(id))
	}
}

func TestLanesKeepOrderWithManyWorkers(t *testing.T) {
	t.Parallel()
	b := newBench(t, ClientConfig{})
	var want [5][]string
	for order := range int64(10) {
		for lane := range want {
			want[lane] = append(want[lane], b.queue(wire.TaskPropose, string(rune('a'+lane)), order+1))
		}
	}
	stop := make(chan struct{})
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for {
				more, err := b.worker.Step(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				select {
				case <-stop:
					return
				default:
				}
				if !more {
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	for range 200 {
		if !b.next(t) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	close(stop)
	workers.Wait()
	b.peer.mu.Lock()
	defer b.peer.mu.Unlock()
	place := map[string]int{}
	for i, id := range b.peer.order {
		place[id] = i
	}
	if len(place) != 50 {
		t.Fatalf("%d of 50 arrived", len(place))
	}
	for _, lane := range want {
		for i := 1; i < len(lane); i++ {
			if place[lane[i-1]] > place[lane[i]] {
				t.Fatalf("message %d of a lane came before its predecessor", i+1)
			}
		}
	}
}

func TestASlowHostDoesNotTakeEveryWorker(t *testing.T) {
	t.Parallel()
	b := newBench(t, ClientConfig{Timeout: 2 * time.Second})
	release := make(chan struct{})
	inside := atomic.Int32{}
	b.peer.fail(func(http.ResponseWriter, *http.Request) bool {
		inside.Add(1)
		<-release
		return false
	})
	honest := newFaultyPeer(t, b.us.peer(ourHost), b.clock)
	var slow []string
	for i := range 8 {
		slow = append(slow, b.queue(wire.Message, string(rune('a'+i)), 1))
	}
	var workers sync.WaitGroup
	for range len(slow) {
		workers.Go(func() { _, _ = b.worker.Step(t.Context()) })
	}
	for inside.Load() < maxInFlight {
		time.Sleep(time.Millisecond)
	}
	id := b.queue(wire.Message, "honest", 1)
	b.db.change(id, func(m *message) {
		m.dispatch.Peer = honest.peer(honest.host)
		m.dispatch.Claims.Aud, m.dispatch.Inner.Aud = "ben@"+honest.host, "ben@"+honest.host
	})
	for honest.count(id) == 0 {
		if _, err := b.worker.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := inside.Load(); n != maxInFlight {
		t.Errorf("%d requests at the slow host", n)
	}
	close(release)
	workers.Wait()
	for range 20 {
		b.next(t)
		b.drain(t)
	}
	for _, id := range slow {
		if b.peer.count(id) != 1 {
			t.Errorf("a message to the slow host was applied %d times", b.peer.count(id))
		}
	}
}

// TestOneBrokenMessageHoldsUpNoOther: it comes first, and stays broken.
func TestOneBrokenMessageHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	b := newBench(t, ClientConfig{})
	broken := b.queue(wire.Message, "broken", 1)
	b.db.change(broken, func(m *message) { m.broken = true })
	var others []string
	for i := range 49 {
		others = append(others, b.queue(wire.Message, string(rune('A'+i)), 1))
	}
	failures := 0
	for range 60 {
		if _, err := b.worker.Step(t.Context()); err != nil {
			failures++
		}
	}
	for _, id := range others {
		if b.peer.count(id) != 1 {
			t.Fatalf("applied %d times", b.peer.count(id))
		}
	}
	item, there := b.db.item(broken)
	if failures != 1 || !there || !item.NextAt.After(b.clock.Now()) {
		t.Errorf("%d failures, item %+v", failures, item)
	}
}

// TestAnotherWorkerIsFaster: while one worker waits for what guards the message,
// another claims the item. The first sends nothing, and looks again.
func TestAnotherWorkerIsFaster(t *testing.T) {
	t.Parallel()
	b := newBench(t, ClientConfig{})
	first, second := b.queue(wire.Message, "first", 1), b.queue(wire.Message, "second", 1)
	b.db.locking = func(tx node.Tx, item outbox.Item) error {
		b.db.locking = nil
		_, ok, err := b.db.ClaimOutbox(tx, item.ID, "another's", tx.Now().Add(outbox.Lease))
		if !ok {
			t.Error("the item cannot be claimed")
		}
		return err
	}
	if more, err := b.worker.Step(t.Context()); err != nil || !more {
		t.Errorf("the first step gives %v, %v; want that there is more", more, err)
	}
	b.drain(t)
	sent := b.peer.count(first) + b.peer.count(second)
	one, _ := b.db.item(first)
	two, _ := b.db.item(second)
	if sent != 1 || (one.LeaseToken == "another's") == (two.LeaseToken == "another's") {
		t.Errorf("%d were sent; the first is %+v, the second %+v", sent, one, two)
	}
}

// TestWhatCannotBeLockedIsPutOff: as a message that is not there.
func TestWhatCannotBeLockedIsPutOff(t *testing.T) {
	t.Parallel()
	b := newBench(t, ClientConfig{})
	id := b.queue(wire.Message, "chat", 1)
	b.db.locking = func(node.Tx, outbox.Item) error { return errors.New("it is not there") }
	if more, err := b.worker.Step(t.Context()); err == nil || more {
		t.Errorf("the step gives %v, %v", more, err)
	}
	if item, there := b.db.item(id); !there || !item.NextAt.After(b.clock.Now()) || b.peer.count(id) != 0 {
		t.Errorf("the item is %+v, there %v", item, there)
	}
}

// TestAWorkerThatOverslept claims an item, loses its lease to another worker
// that delivers it, and then learns that its own attempt never left.
func TestAWorkerThatOverslept(t *testing.T) {
	t.Parallel()
	b := newBench(t, ClientConfig{})
	id := b.queue(wire.Message, "chat", 1)
	sleeper := &pausedTransport{Transport: b.client, entered: make(chan struct{}), wake: make(chan struct{})}
	second := NewWorker(b.worker.WorkerConfig)
	b.worker.Transport = sleeper
	done := make(chan error)
	go func() { _, err := b.worker.Step(t.Context()); done <- err }()
	<-sleeper.entered
	b.peer.fail(answers(500, nil, "")(b))
	b.clock.Advance(2 * outbox.Lease)
	if _, err := second.Step(t.Context()); err != nil { // sends, and gets no answer
		t.Fatal(err)
	}
	b.clock.Advance(time.Minute)
	close(sleeper.wake)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if x := b.db.message(id); x.tries != 2 || x.unsent != 0 || x.dispatch.Envelope == nil {
		t.Errorf("tries %d, unsent %d; want the sleeper to have taken nothing back", x.tries, x.unsent)
	}
	if item, ok := b.db.item(id); !ok || item.NextAt.Sub(start) != 2*outbox.Lease+2*time.Second {
		t.Errorf("the sleeper moved the item: %+v", item)
	}
}

// pausedTransport waits before it fails to send anything.
type pausedTransport struct {
	Transport
	entered, wake chan struct{}
}

func (p *pausedTransport) Post(context.Context, string, []byte) (int, http.Header, []byte, bool, error) {
	close(p.entered)
	<-p.wake
	return 0, nil, nil, false, errors.New("the network was down")
}

func TestTheCardIsReadBeforeARequestToConnectLeaves(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change     func(b *bench, m *message)
		posted     bool
		keyDiffers bool
	}{
		"the approved key": {func(*bench, *message) {}, true, false},
		"another key":      {func(b *bench, m *message) { m.dispatch.Peer.Fingerprint = b.us.signer.Fingerprint() }, false, true},
		"no card": {func(b *bench, _ *message) {
			b.peer.fail(func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == wire.CardPath {
					w.WriteHeader(500)
				}
				return r.URL.Path == wire.CardPath
			})
		}, false, false},
	} {
		b := newBench(t, ClientConfig{})
		id := b.queue(wire.ConnectionRequest, "connection", 1)
		b.db.change(id, func(m *message) {
			m.dispatch.CheckCard = true
			tt.change(b, m)
		})
		b.drain(t)
		x := b.db.message(id)
		_, waits := b.db.item(id)
		if posted := b.peer.count(id) == 1; posted != tt.posted || x.keyDiffers != tt.keyDiffers || waits != (!tt.posted && !tt.keyDiffers) {
			t.Errorf("%s: posted %v, key differs %v, waits %v", name, posted, x.keyDiffers, waits)
		}
		if !tt.posted && !tt.keyDiffers && x.unsent != 1 {
			t.Errorf("%s: the attempt was not taken back", name)
		}
	}
}

func TestTheSameAddressIsAskedAgainLessAndLess(t *testing.T) {
	t.Parallel()
	b := newBench(t, ClientConfig{})
	id := b.queue(wire.Message, "chat", 1)
	b.peer.fail(answers(202, nil, "")(b))
	var pauses []time.Duration
	for range 9 {
		b.drain(t)
		item, _ := b.db.item(id)
		pauses = append(pauses, item.NextAt.Sub(b.clock.Now()))
		b.next(t)
	}
	s := time.Second
	if diff := cmp.Diff([]time.Duration{2 * s, 2 * s, 2 * s, 2 * s, 2 * s, 2 * s, 4 * s, 8 * s, 16 * s}, pauses); diff != "" {
		t.Error(diff)
	}
}

// ownInbox answers in the process as peer.Inbox would.
type ownInbox struct {
	signer   *token.Signer
	received [][]byte
}

func (o *ownInbox) Receive(_ context.Context, envelope []byte, remoteIP string) (int, []byte) {
	if remoteIP != "" {
		return 400, nil
	}
	o.received = append(o.received, envelope)
	var e wire.Envelope
	if err := token.Peek(token.Envelope, string(envelope), &e); err != nil {
		return 400, nil
	}
	compact, err := o.signer.Sign(token.Ack, wire.Ack{
		Iss: e.Aud, Aud: e.Iss, Ref: e.JTI, SHA256: hash(envelope), Status: wire.Applied, Iat: start.Unix(),
	})
	if err != nil {
		return 500, nil
	}
	return 200, []byte(compact)
}

func TestOurOwnHostIsReachedInTheProcess(t *testing.T) {
	t.Parallel()
	b := newBench(t, ClientConfig{})
	own := &ownInbox{signer: b.us.signer}
	b.worker.Inbox = own
	id := b.queue(wire.Message, "chat", 1)
	b.db.change(id, func(m *message) {
		m.dispatch.Peer = b.us.peer(ourHost)
		m.dispatch.Claims.Aud, m.dispatch.Inner.Aud = "bob@"+ourHost, "bob@"+ourHost
	})
	b.drain(t)
	x := b.db.message(id)
	if _, waits := b.db.item(id); waits || len(own.received) != 1 || len(x.acks) != 1 {
		t.Fatalf("waits %v, received %d, acks %v", waits, len(own.received), x.acks)
	}
	if string(own.received[0]) != string(x.dispatch.Envelope) {
		t.Error("other bytes than the kept ones were received")
	}
}

// TestAPartitionHeals (G11): six hours without a network, then everything
// arrives within twice the longest pause, once and in order.
func TestAPartitionHeals(t *testing.T) {
	t.Parallel()
	b := newBench(t, ClientConfig{})
	var ids []string
	for i := range int64(20) {
		ids = append(ids, b.queue(wire.TaskPropose, string(rune('a'+i%4)), i+1))
	}
	b.peer.fail(answers(503, nil, "")(b))
	for b.clock.Now().Before(start.Add(6 * time.Hour)) {
		b.drain(t)
		b.next(t)
	}
	b.peer.mu.Lock()
	perLane := b.peer.posts / 4
	b.peer.mu.Unlock()
	if perLane > 40 {
		t.Errorf("%d attempts for a message in six hours", perLane)
	}
	b.wantHealed(t, ids)
}

// wantHealed lets the peer be well again: everything arrives soon, and once.
func (b *bench) wantHealed(t *testing.T, ids []string) {
	t.Helper()
	b.peer.fail(nil)
	healed := b.clock.Now()
	for b.next(t) {
		b.drain(t)
	}
	if took := b.clock.Now().Sub(healed); took > 2*outbox.MaxPause {
		t.Errorf("it took %v", took)
	}
	for _, id := range ids {
		if b.peer.count(id) != 1 {
			t.Errorf("applied %d times", b.peer.count(id))
		}
	}
}

// BenchmarkDelivery is the cost of one delivery over loopback with a database
// in memory: seal, sign, HTTP, the peer's verifying, opening and signing, verify.
func BenchmarkDelivery(b *testing.B) {
	w := newBench(b, ClientConfig{})
	b.ResetTimer()
	for range b.N {
		w.queue(wire.Message, "chat", 1)
		if _, err := w.worker.Step(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	if len(w.peer.applied) != b.N {
		b.Fatalf("%d of %d arrived", len(w.peer.applied), b.N)
	}
}

// BenchmarkFloor is the same without a node: the peer's and our cryptography
// and one HTTP request.
func BenchmarkFloor(b *testing.B) {
	w := newBench(b, ClientConfig{})
	id := w.queue(wire.Message, "chat", 1)
	d := w.db.message(id).dispatch
	b.ResetTimer()
	for range b.N {
		d.Claims.JTI = node.RandomIDs{}.New()
		d.Inner.JTI = d.Claims.JTI
		var err error
		if d.Envelope, err = w.worker.sign(d); err != nil {
			b.Fatal(err)
		}
		status, _, answer, _, err := w.client.Post(b.Context(), d.Peer.Inbox, d.Envelope)
		if err != nil || status != 200 {
			b.Fatal(status, err)
		}
		if _, err := w.worker.verify(attempt{Dispatch: d}, answer); err != nil {
			b.Fatal(err)
		}
	}
}
