package peer

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/seal"
	"agentlink/node/token"
)

var start = time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)

const (
	ourHost  = "home.example"
	peerHost = "peer.example"
	ana      = "ana@" + ourHost
	ben      = "ben@" + peerHost
)

// party is a node's keys.
type party struct {
	key                 ed25519.PrivateKey
	signer              *token.Signer
	identity, recipient string
}

func newParty(tb testing.TB) party {
	tb.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	p := party{key: key, signer: token.NewSigner(key)}
	p.identity, p.recipient = seal.NewKeyPair()
	return p
}

func (p party) open(sealed []byte) ([]byte, error) { return seal.FromIdentity(p.identity, sealed) }

func (p party) peer(host string) coordination.Peer {
	return coordination.Peer{
		Fingerprint: p.signer.Fingerprint(), PublicKey: p.signer.PublicKey(), Recipient: p.recipient,
		Inbox: "https://" + host + wire.InboxPath, Version: wire.Version,
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

// signRaw signs claims byte for byte, valid JSON or not.
func (p party) signRaw(header, claims string) []byte {
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(header)) + "." + encode([]byte(claims))
	return []byte(signed + "." + encode(ed25519.Sign(p.key, []byte(signed))))
}

// world is an inbox with what is around it: a database, coordination as far as
// the inbox can tell, and one peer.
type world struct {
	clock *node.FakeClock
	us    party
	peer  party
	inbox *Inbox

	mu    sync.Mutex
	down  bool // the database fails
	state worldState
	// verdict, where set, is what Receive answers instead of "applied".
	verdict func(coordination.Incoming) (wire.Ack, error)
}

type worldState struct {
	connections map[string]coordination.Connection // by aud and iss
	answers     map[string][]byte                  // by aud, iss and jti
	applied     map[string]int                     // by jti: how often Receive ran
	received    []coordination.Incoming
	keyChanged  []string
	strangers   map[string]coordination.Stranger
	kept        map[string][]wire.HeldHead // by connection
}

func newWorld(tb testing.TB) *world {
	tb.Helper()
	w := &world{clock: node.NewFakeClock(start), us: newParty(tb), peer: newParty(tb)}
	w.state = worldState{
		connections: map[string]coordination.Connection{}, answers: map[string][]byte{}, applied: map[string]int{},
		strangers: map[string]coordination.Stranger{},
	}
	w.connect(ana, ben, w.peer)
	w.inbox = New(Config{
		DB: w, Coordination: w, Strangers: w, Signer: w.us.signer, Open: w.us.open, Clock: w.clock, IDs: node.RandomIDs{},
		Self: coordination.Self{
			Host: ourHost, Fingerprint: w.us.signer.Fingerprint(), Recipient: w.us.recipient, Inbox: "https://" + ourHost + wire.InboxPath,
		},
	})
	return w
}

func (w *world) connect(aud, iss string, p party) {
	w.state.connections[aud+" "+iss] = coordination.Connection{
		ID: "connection of " + iss, Contact: iss, Status: coordination.ConnActive, Peer: p.peer(peerHost),
	}
}

type worldTx struct{ now time.Time }

func (tx worldTx) Now() time.Time        { return tx.now }
func (worldTx) OnCommit(func())          {}
func (worldTx) Context() context.Context { return context.Background() }
func (w *world) handles(aud string) bool { return aud == ana || aud == "bob@"+ourHost }
func (w *world) receivedCount() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.state.received)
}
func (w *world) strangersCount() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.state.strangers)
}
func (w *world) setDown(down bool)         { w.mu.Lock(); defer w.mu.Unlock(); w.down = down }
func answerKey(e wire.Envelope) string     { return e.Aud + " " + e.Iss + " " + e.JTI }
func connectionKey(e wire.Envelope) string { return e.Aud + " " + e.Iss }

func (w *world) InTx(ctx context.Context, f func(node.Tx) error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down {
		return errors.New("the database is down: password=secret")
	}
	before := worldState{
		connections: maps.Clone(w.state.connections), answers: maps.Clone(w.state.answers), applied: maps.Clone(w.state.applied),
		kept: w.state.kept, received: w.state.received, keyChanged: w.state.keyChanged, strangers: maps.Clone(w.state.strangers),
	}
	err := f(worldTx{w.clock.Now()})
	if err != nil {
		w.state = before
	}
	return err
}

func (w *world) View(ctx context.Context, f func(node.Tx) error) error { return w.InTx(ctx, f) }

func (w *world) KeyOf(_ node.Tx, e wire.Envelope) (coordination.Connection, bool, error) {
	c, ok := w.state.connections[connectionKey(e)]
	return c, ok, nil
}

func (w *world) Answered(_ node.Tx, e wire.Envelope) ([]byte, bool, error) {
	ack, ok := w.state.answers[answerKey(e)]
	return ack, ok, nil
}

func (w *world) Receive(tx node.Tx, in coordination.Incoming, sign func(wire.Ack) ([]byte, error)) ([]byte, error) {
	if !w.handles(in.Envelope.Aud) {
		return nil, node.Errorf(node.NotFound, "nobody")
	}
	ack := wire.Ack{Status: wire.Applied}
	if in.Forged {
		ack = wire.Ack{Status: wire.Rejected, Code: wire.CodeForged}
	} else if w.verdict != nil {
		var err error
		if ack, err = w.verdict(in); err != nil {
			return nil, err
		}
	}
	ack.Iss, ack.Aud, ack.Ref, ack.SHA256, ack.Iat = in.Envelope.Aud, in.Envelope.Iss, in.Envelope.JTI, in.Sha256, tx.Now().Unix()
	if in.Forged {
		return sign(ack)
	}
	w.state.applied[in.Envelope.JTI]++
	w.state.received = append(w.state.received, in)
	if _, connected, _ := w.KeyOf(tx, in.Envelope); !connected && ack.Status == wire.Applied {
		w.state.connections[connectionKey(in.Envelope)] = coordination.Connection{
			ID: "new", Contact: in.Envelope.Iss, Status: coordination.PendingIncoming, Peer: in.Peer,
		}
	}
	signed, err := sign(ack)
	w.state.answers[answerKey(in.Envelope)] = signed
	return signed, err
}

func (w *world) MarkKeyChanged(_ node.Tx, c coordination.Connection) error {
	w.state.keyChanged = append(w.state.keyChanged, c.ID)
	return nil
}

func (w *world) Testimony(_ node.Tx, connectionID string) ([]wire.HeldHead, error) {
	return w.state.kept[connectionID], nil
}

// The store of strangers.

func (w *world) StrangerBySHA256(_ node.Tx, sum string) (coordination.Stranger, error) {
	for _, s := range w.state.strangers {
		if s.SHA256 == sum {
			return s, nil
		}
	}
	return coordination.Stranger{}, node.Errorf(node.NotFound, "no such stranger")
}

func (w *world) CountStrangers(_ node.Tx, host, ip string) (all, ofHost, ofIP int, err error) {
	for _, s := range w.state.strangers {
		all++
		if s.Host == host {
			ofHost++
		}
		if s.IP == ip && !s.Settled {
			ofIP++
		}
	}
	return all, ofHost, ofIP, nil
}

func (w *world) InsertStranger(_ node.Tx, s coordination.Stranger) error {
	w.state.strangers[s.ID] = s
	return nil
}

func (w *world) SettleStranger(_ node.Tx, id string, answer []byte) error {
	s := w.state.strangers[id]
	s.Settled, s.Answer = true, answer
	w.state.strangers[id] = s
	return nil
}

func (w *world) DeleteStranger(_ node.Tx, id string) error {
	delete(w.state.strangers, id)
	return nil
}

func (w *world) DeleteSettledStranger(node.Tx) (bool, error) {
	for _, s := range w.sorted() {
		if s.Settled {
			delete(w.state.strangers, s.ID)
			return true, nil
		}
	}
	return false, nil
}

func (w *world) ClaimStranger(node.Tx, time.Time) (coordination.Stranger, bool, error) {
	panic("not used by the inbox")
}
func (w *world) RescheduleStranger(node.Tx, string, time.Time, int) error {
	panic("not used by the inbox")
}
func (w *world) DeleteExpiredStrangers(node.Tx) error { panic("not used by the inbox") }

func (w *world) sorted() []coordination.Stranger {
	return slices.SortedFunc(maps.Values(w.state.strangers), func(a, b coordination.Stranger) int {
		return cmp.Or(a.ReceivedAt.Compare(b.ReceivedAt), cmp.Compare(a.ID, b.ID))
	})
}

// claims are those of a valid envelope from ben to ana.
func (w *world) claims(typ wire.Type) wire.Envelope {
	now := w.clock.Now()
	e := wire.Envelope{
		V: wire.Version, Iss: ben, Aud: ana, JTI: node.RandomIDs{}.New(), Iat: now.Unix(), Exp: now.Add(time.Hour).Unix(), Type: typ,
	}
	if typ.ForTask() {
		e.Task, e.Seq = node.RandomIDs{}.New(), 1
	}
	return e
}

func innerOf(e wire.Envelope, content string) wire.Inner {
	return wire.Inner{
		Iss: e.Iss, Aud: e.Aud, JTI: e.JTI, Type: e.Type, Task: e.Task, Seq: e.Seq, Author: wire.AuthorAgent, Content: []byte(content),
	}
}

// content is a valid content for the type, from the given node.
func content(typ wire.Type, from coordination.Peer) string {
	switch typ {
	case wire.Message:
		return `{"text":"hello"}`
	case wire.ConnectionRequest:
		return `{"recipient":"` + from.Recipient + `","inbox":"` + from.Inbox + `"}`
	}
	return `{}`
}

// envelope is a valid one of the type, signed by from.
func (w *world) envelope(tb testing.TB, from party, typ wire.Type, change func(*wire.Envelope)) []byte {
	tb.Helper()
	e := w.claims(typ)
	if change != nil {
		change(&e)
	}
	return w.sealed(tb, from, e, innerOf(e, content(typ, from.peer(peerHost))))
}

// sealed seals whatever inner part into whatever envelope.
func (w *world) sealed(tb testing.TB, from party, e wire.Envelope, inner any) []byte {
	tb.Helper()
	plaintext, ok := inner.(string)
	if !ok {
		plaintext = string(node.MustCanonical(inner))
	}
	sealed, err := seal.ToRecipient(w.us.recipient, []byte(plaintext))
	if err != nil {
		tb.Fatal(err)
	}
	e.Body = base64.RawURLEncoding.EncodeToString(sealed)
	return from.sign(tb, token.Envelope, e)
}

func sum(raw []byte) string {
	s := sha256.Sum256(raw)
	return hex.EncodeToString(s[:])
}
