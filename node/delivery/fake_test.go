package delivery

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/outbox"
	"agentlink/node/seal"
	"agentlink/node/token"
)

var start = time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)

// memory is a database and an outbox with one transaction at a time.
type memory struct {
	clock node.Clock
	mu    sync.Mutex
	state memoryState
	// locking is called by Lock, where it is set.
	locking func(tx node.Tx, item outbox.Item) error
}

type memoryState struct {
	items     map[string]outbox.Item
	messages  map[string]message
	strangers map[string]coordination.Stranger
}

// message is as much of a message as delivery sees.
type message struct {
	dispatch    coordination.Dispatch
	tries       int
	unsent      int // how often NotSent was called
	acks        []wire.Ack
	keyDiffers  bool
	acknowledge bool // what Acknowledged answers
	broken      bool // Dispatch fails
}

func newMemory(clock node.Clock) *memory {
	return &memory{clock: clock, state: memoryState{
		items: map[string]outbox.Item{}, messages: map[string]message{}, strangers: map[string]coordination.Stranger{},
	}}
}

type memoryTx struct {
	now  time.Time
	done []func()
}

func (tx *memoryTx) Now() time.Time           { return tx.now }
func (tx *memoryTx) OnCommit(f func())        { tx.done = append(tx.done, f) }
func (tx *memoryTx) Context() context.Context { return context.Background() }

func (m *memory) InTx(ctx context.Context, f func(node.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	before := memoryState{items: maps.Clone(m.state.items), messages: maps.Clone(m.state.messages), strangers: maps.Clone(m.state.strangers)}
	tx := &memoryTx{now: m.clock.Now()}
	if err := f(tx); err != nil {
		m.state = before
		return err
	}
	for _, hook := range tx.done {
		hook()
	}
	return nil
}

func (m *memory) View(ctx context.Context, f func(node.Tx) error) error { return m.InTx(ctx, f) }

func (m *memory) InsertOutbox(_ node.Tx, item outbox.Item) error {
	m.state.items[item.ID] = item
	return nil
}

func (m *memory) DueOutbox(tx node.Tx) (outbox.Item, bool, error) {
	due := slices.SortedFunc(maps.Values(m.state.items), func(a, b outbox.Item) int {
		return cmp.Or(a.NextAt.Compare(b.NextAt), cmp.Compare(a.ID, b.ID))
	})
	for _, item := range due {
		if m.mayLeave(tx, item) {
			return item, true, nil
		}
	}
	return outbox.Item{}, false, nil
}

func (m *memory) mayLeave(tx node.Tx, item outbox.Item) bool {
	return !item.NextAt.After(tx.Now()) && !item.LeaseUntil.After(tx.Now()) && m.heads(item)
}

func (m *memory) ClaimOutbox(tx node.Tx, id, token string, until time.Time) (outbox.Item, bool, error) {
	item, known := m.state.items[id]
	if !known || !m.mayLeave(tx, item) {
		return outbox.Item{}, false, nil
	}
	item.Attempts++
	item.LeaseToken, item.LeaseUntil = token, until
	m.state.items[id] = item
	return item, true, nil
}

func (m *memory) heads(item outbox.Item) bool {
	for _, other := range m.state.items {
		if other.Lane == item.Lane && other.Order < item.Order {
			return false
		}
	}
	return true
}

func (m *memory) DeleteOutbox(_ node.Tx, id, token string) (bool, error) {
	held := token != "" && m.state.items[id].LeaseToken == token
	if held {
		delete(m.state.items, id)
	}
	return held, nil
}

func (m *memory) RescheduleOutbox(_ node.Tx, id, token string, next time.Time) (bool, error) {
	item := m.state.items[id]
	if token == "" || item.LeaseToken != token {
		return false, nil
	}
	item.NextAt, item.LeaseToken, item.LeaseUntil = next, "", time.Time{}
	m.state.items[id] = item
	return true, nil
}

func (m *memory) DropOutbox(_ node.Tx, _ string, _ outbox.Kind, ref string) error {
	delete(m.state.items, ref)
	return nil
}

func (m *memory) WakeOutbox(node.Tx, string, string) error { panic("not used by delivery") }

func (m *memory) NextOutbox(node.Tx) (at time.Time, ok bool, err error) {
	for _, item := range m.state.items {
		due := item.NextAt
		if item.LeaseUntil.After(due) {
			due = item.LeaseUntil
		}
		if m.heads(item) && (!ok || due.Before(at)) {
			at, ok = due, true
		}
	}
	return at, ok, nil
}

// The rest is what coordination does, as far as delivery can tell.

func (m *memory) Lock(tx node.Tx, item outbox.Item) error {
	if m.locking != nil {
		return m.locking(tx, item)
	}
	return nil
}

func (m *memory) Dispatch(_ node.Tx, item outbox.Item, sign coordination.Sign) (coordination.Dispatch, error) {
	x := m.state.messages[item.Ref]
	if x.broken {
		return coordination.Dispatch{}, errors.New("the row is damaged")
	}
	if x.dispatch.Do == coordination.Send {
		x.tries++
		if x.dispatch.Again = x.dispatch.Envelope != nil; !x.dispatch.Again {
			var err error
			if x.dispatch.Envelope, err = sign(x.dispatch); err != nil {
				return coordination.Dispatch{}, err
			}
		}
		m.state.messages[item.Ref] = x
	}
	return x.dispatch, nil
}

func (m *memory) NotSent(_ node.Tx, _, id string) error {
	x := m.state.messages[id]
	x.unsent++
	if x.tries--; x.tries == 0 {
		x.dispatch.Envelope = nil
	}
	m.state.messages[id] = x
	return nil
}

func (m *memory) KeyDiffers(_ node.Tx, _, id string) error {
	x := m.state.messages[id]
	x.keyDiffers = true
	m.state.messages[id] = x
	return nil
}

func (m *memory) Acknowledged(_ node.Tx, _ string, ack wire.Ack) (bool, error) {
	x := m.state.messages[ack.Ref]
	x.acks = append(slices.Clone(x.acks), ack)
	m.state.messages[ack.Ref] = x
	return x.acknowledge, nil
}

func (m *memory) message(id string) message {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state.messages[id]
}

func (m *memory) item(id string) (outbox.Item, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	item, ok := m.state.items[id]
	return item, ok
}

// change alters a message.
func (m *memory) change(id string, f func(*message)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	x := m.state.messages[id]
	f(&x)
	m.state.messages[id] = x
}

// party is a node's keys.
type party struct {
	signer              *token.Signer
	identity, recipient string
}

func newParty(tb testing.TB) party {
	tb.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	p := party{signer: token.NewSigner(key)}
	p.identity, p.recipient = seal.NewKeyPair()
	return p
}

func (p party) open(sealed []byte) ([]byte, error) { return seal.FromIdentity(p.identity, sealed) }

func (p party) peer(host string) coordination.Peer {
	return coordination.Peer{
		Fingerprint: p.signer.Fingerprint(), PublicKey: p.signer.PublicKey(), Recipient: p.recipient,
		Inbox: "http://" + host + wire.InboxPath, Version: wire.Version,
	}
}

func (p party) card(host string, now time.Time) wire.Card {
	return wire.Card{
		Versions: []int{wire.Version}, Host: host, Fingerprint: p.signer.Fingerprint(),
		PublicKey: base64.RawURLEncoding.EncodeToString(p.signer.PublicKey()), Recipient: p.recipient,
		Inbox: "http://" + host + wire.InboxPath, Iat: now.Unix(), Exp: now.Add(time.Hour).Unix(),
	}
}

func (p party) sign(tb testing.TB, kind token.Kind, claims any) []byte {
	tb.Helper()
	compact, err := p.signer.Sign(kind, claims)
	if err != nil {
		tb.Fatal(err)
	}
	return []byte(compact)
}

// faultyPeer is another node over real sockets that can be told to misbehave.
type faultyPeer struct {
	party
	host string
	from coordination.Peer // whose envelopes it takes
	now  func() time.Time
	// fault, where set, answers instead of the peer and says whether it did.
	fault atomic.Pointer[func(w http.ResponseWriter, r *http.Request) bool]

	mu      sync.Mutex
	applied map[string]int    // by jti: how often new
	bytes   map[string]string // by jti: the first bytes
	order   []string
	posts   int
}

func newFaultyPeer(tb testing.TB, from coordination.Peer, clock node.Clock) *faultyPeer {
	tb.Helper()
	p := &faultyPeer{party: newParty(tb), from: from, now: clock.Now, applied: map[string]int{}, bytes: map[string]string{}}
	server := httptest.NewServer(p)
	tb.Cleanup(server.Close)
	p.host = strings.TrimPrefix(server.URL, "http://")
	return p
}

func (p *faultyPeer) fail(f func(http.ResponseWriter, *http.Request) bool) {
	if f == nil {
		p.fault.Store(nil)
		return
	}
	p.fault.Store(&f)
}

func (p *faultyPeer) count(id string) (applied int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.applied[id]
}

func (p *faultyPeer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.posts++
	p.mu.Unlock()
	if fault := p.fault.Load(); fault != nil && (*fault)(w, r) {
		return
	}
	if r.URL.Path == wire.CardPath {
		compact, err := p.signer.Sign(token.Card, p.card(p.host, p.now()))
		if err != nil {
			panic(err)
		}
		_, _ = w.Write([]byte(compact))
		return
	}
	ack, ok := p.take(r)
	if !ok {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	compact, err := p.signer.Sign(token.Ack, ack)
	if err != nil {
		panic(err)
	}
	_, _ = w.Write([]byte(compact))
}

// take verifies and opens an envelope as a peer does, and remembers it.
func (p *faultyPeer) take(r *http.Request) (wire.Ack, bool) {
	body := make([]byte, wire.MaxEnvelope)
	n, _ := readFull(r, body)
	var envelope wire.Envelope
	if token.Open(token.Envelope, p.from.PublicKey, string(body[:n]), &envelope) != nil {
		return wire.Ack{}, false
	}
	if _, err := envelope.Open(p.open); err != nil {
		return wire.Ack{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if first, known := p.bytes[envelope.JTI]; !known {
		p.bytes[envelope.JTI] = string(body[:n])
		p.applied[envelope.JTI]++
		p.order = append(p.order, envelope.JTI)
	} else if first != string(body[:n]) {
		panic(fmt.Sprintf("two envelopes for message %s", envelope.JTI))
	}
	return wire.Ack{
		Iss: envelope.Aud, Aud: envelope.Iss, Ref: envelope.JTI, SHA256: hash(body[:n]), Seq: envelope.Seq,
		Status: wire.Applied, Iat: p.now().Unix(),
	}, true
}

func readFull(r *http.Request, into []byte) (n int, err error) {
	for err == nil && n < len(into) {
		var k int
		k, err = r.Body.Read(into[n:])
		n += k
	}
	return n, err
}

// bench is a worker with everything around it.
type bench struct {
	clock  *node.FakeClock
	db     *memory
	us     party
	peer   *faultyPeer
	worker *Worker
	client *Client
}

const ourHost = "localhost:7410"

func newBench(tb testing.TB, config ClientConfig) *bench {
	tb.Helper()
	clock := node.NewFakeClock(start)
	b := &bench{clock: clock, db: newMemory(clock), us: newParty(tb)}
	b.peer = newFaultyPeer(tb, b.us.peer(ourHost), clock)
	config.Reach = Reach{Loopback: true}
	b.client = NewClient(config)
	tb.Cleanup(b.client.Close)
	b.worker = NewWorker(WorkerConfig{
		DB: b.db, Outbox: b.db, Coordination: b.db, Transport: b.client, Signer: b.us.signer, Host: ourHost,
		Directory: &Directory{Client: b.client, Clock: clock, Self: coordination.Self{Host: ourHost}},
		Clock:     clock, IDs: node.RandomIDs{}, Jitter: func() float64 { return 0 },
	})
	return b
}

// queue puts a message into the outbox. Its id is its item's too.
func (b *bench) queue(typ wire.Type, lane string, order int64) string {
	id := node.RandomIDs{}.New()
	now := b.clock.Now()
	claims := wire.Envelope{
		V: wire.Version, Iss: "ana@" + ourHost, Aud: "ben@" + b.peer.host, JTI: id, Iat: now.Unix(),
		Exp: now.Add(24 * time.Hour).Unix(), Type: typ,
	}
	if typ.ForTask() {
		claims.Task, claims.Seq = node.RandomIDs{}.New(), order
	}
	x := message{acknowledge: true, dispatch: coordination.Dispatch{
		Do: coordination.Send, Claims: claims, Peer: b.peer.peer(b.peer.host), AgentID: "agent", MessageID: id,
		Inner: wire.Inner{
			Iss: claims.Iss, Aud: claims.Aud, JTI: id, Type: typ, Task: claims.Task, Seq: claims.Seq,
			Author: wire.AuthorAgent, Content: []byte(`{"text":"see you at eight"}`),
		},
	}}
	b.db.mu.Lock()
	defer b.db.mu.Unlock()
	b.db.state.messages[id] = x
	b.db.state.items[id] = outbox.Item{ID: id, AgentID: "agent", Kind: outbox.Envelope, Lane: lane, Order: order, Ref: id, NextAt: now, CreatedAt: now}
	return id
}

// drain steps until nothing is due now.
func (b *bench) drain(tb testing.TB) {
	tb.Helper()
	for {
		more, err := b.worker.Step(tb.Context())
		if err != nil {
			tb.Fatal(err)
		}
		if !more {
			return
		}
	}
}

// next moves the clock to when the next item is due; false when none waits.
func (b *bench) next(tb testing.TB) bool {
	tb.Helper()
	var at time.Time
	var ok bool
	err := b.db.View(tb.Context(), func(tx node.Tx) (err error) {
		at, ok, err = b.db.NextOutbox(tx)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	if ok {
		b.clock.Advance(max(0, at.Sub(b.clock.Now())))
	}
	return ok
}
