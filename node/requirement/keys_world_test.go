package requirement

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/api/peer"
	"agentlink/node/audit"
	"agentlink/node/delivery"
	"agentlink/node/identity"
	"agentlink/node/seal"
	"agentlink/node/store"
	"agentlink/node/store/storetest"
	"agentlink/node/token"
	"agentlink/policy"
	"agentlink/policy/engine"
)

// village is houses that reach one another without a network, so that a test says
// what arrives, and may send what no node would.
type village struct {
	*testing.T
	clock  *node.FakeClock
	houses map[string]*house // by host
	// lost, where set, is asked after a message was taken in, and says that the answer
	// is lost on its way.
	lost func(host string, envelope wire.Envelope) bool
}

// house is the part of a node that speaks with others.
type house struct {
	*village
	host         string
	store        *store.Store
	identity     *identity.Identity
	coordination *coordination.Service
	inbox        *peer.Inbox
	worker       *delivery.Worker
	strangers    *delivery.Strangers
	log          *audit.Log
	owner        node.Actor
	agent        policy.Agent
	down         bool // nobody answers
	breaks       bool // what is sent to it may have arrived, and has not
}

func newVillage(t *testing.T, hosts ...string) *village {
	v := &village{T: t, clock: node.NewFakeClock(time.Date(2031, 5, 1, 12, 0, 0, 0, time.UTC)), houses: map[string]*house{}}
	for _, host := range hosts {
		v.houses[host] = v.build(host)
	}
	return v
}

func (v *village) must(err error) {
	v.Helper()
	if err != nil {
		v.Fatal(err)
	}
}

func (v *village) build(host string) *house {
	database := storetest.Benchmarked["memory"](v)
	database.Clock = v.clock
	h := &house{village: v, host: host, store: database.Open(v.T), owner: node.Actor{Kind: node.ActorOwner, OwnerID: "owner of " + host}}
	key := func(i byte) []byte { return bytes.Repeat([]byte{i}, 32) }
	ids, half := node.RandomIDs{}, func() float64 { return 0.5 }
	var err error
	h.identity, err = identity.LoadOrCreate(v.Context(), h.store, h.store, ids)
	v.must(err)
	h.log = audit.New(h.store, key(1))
	rules, err := engine.New(engine.Config{Store: h.store, IDs: ids, Audit: h.log})
	v.must(err)
	agents := policy.New(policy.Config{Store: h.store, IDs: ids, Audit: h.log, Decider: rules, Imaginer: rules})
	held := approvals.New(approvals.Config{Store: h.store, DB: h.store, IDs: ids, Audit: h.log, HashKey: key(2), MACKey: key(3), Epoch: 1})
	self := coordination.Self{Host: host, Fingerprint: h.identity.Signer.Fingerprint(), Recipient: h.identity.Recipient(), Inbox: "https://" + host + wire.InboxPath}
	h.coordination = coordination.New(coordination.Config{
		Store: h.store, DB: h.store, Clock: v.clock, IDs: ids, Policy: rules, Agents: agents, Approvals: held,
		Audit: h.log, Outbox: h.store, Self: self, Keys: h.identity,
	})
	h.inbox = peer.New(peer.Config{
		DB: h.store, Coordination: h.coordination, Strangers: h.store, Signer: h.identity.Signer, Open: h.identity.Open,
		Recipient: h.identity.Recipient, Self: self, Clock: v.clock, IDs: ids,
	})
	h.worker = delivery.NewWorker(delivery.WorkerConfig{
		DB: h.store, Outbox: h.store, Coordination: h.coordination, Directory: v, Transport: v, Inbox: h.inbox,
		Signer: h.identity.Signer, Host: host, Clock: v.clock, IDs: ids, Jitter: half,
	})
	h.strangers = delivery.NewStrangers(delivery.StrangersConfig{DB: h.store, Store: h.store, Directory: v, Inbox: h.inbox, Jitter: half})
	h.write(func(tx node.Tx) (err error) {
		h.agent, _, err = agents.CreateAgent(tx, h.owner, policy.NewAgent{Handle: "agent", Mode: policy.Autonomous})
		return err
	})
	return h
}

// Lookup implements coordination.Directory.
func (v *village) Lookup(_ context.Context, host, fingerprint string) (coordination.Peer, error) {
	h := v.houses[host]
	if h == nil || h.down {
		return coordination.Peer{}, node.Errorf(node.Unavailable, "Nobody is there.")
	}
	found := coordination.Peer{
		Fingerprint: h.identity.Signer.Fingerprint(), PublicKey: h.identity.Signer.PublicKey(), Recipient: h.identity.Recipient(),
		Inbox: "https://" + host + wire.InboxPath, Version: wire.Version,
	}
	if fingerprint != "" && fingerprint != found.Fingerprint {
		return coordination.Peer{}, &node.Error{Code: node.Conflict, Err: delivery.ErrOtherKey}
	}
	return found, nil
}

// Post implements delivery.Transport.
func (v *village) Post(ctx context.Context, url string, body []byte) (int, http.Header, []byte, bool, error) {
	for host, h := range v.houses {
		if url != "https://"+host+wire.InboxPath {
			continue
		}
		if h.down {
			break
		}
		if h.breaks {
			return 0, nil, nil, true, node.Errorf(node.Unavailable, "The line broke.")
		}
		status, answer := h.inbox.Receive(ctx, body, "203.0.113.9")
		var envelope wire.Envelope
		if v.lost != nil && token.Peek(token.Envelope, string(body), &envelope) == nil && v.lost(host, envelope) {
			return 0, nil, nil, true, node.Errorf(node.Unavailable, "The line broke.")
		}
		return status, nil, answer, true, nil
	}
	return 0, nil, nil, false, node.Errorf(node.Unavailable, "Nobody is there.")
}

func (h *house) write(f func(node.Tx) error) {
	h.Helper()
	h.must(h.store.InTx(h.Context(), f))
}

func (h *house) address() string { return "agent@" + h.host }

// run lets everybody send what is due, for as long as something moves.
func (v *village) run() {
	v.Helper()
	for moved, rounds := true, 0; moved; rounds++ {
		if moved = false; rounds > 1000 {
			v.Fatal("it never comes to rest")
		}
		for _, h := range v.houses {
			if h.down {
				continue
			}
			for _, step := range []func(context.Context) (bool, error){h.worker.Step, h.strangers.Step} {
				more, err := step(v.Context())
				v.must(err)
				moved = moved || more
			}
		}
	}
}

// settle runs, and lets time pass in steps, so that what was put off comes too.
func (v *village) settle() {
	v.Helper()
	for range 12 {
		v.run()
		v.clock.Advance(10 * time.Minute)
	}
	v.run()
}

// tidy is what a node does each minute.
func (h *house) tidy() {
	h.Helper()
	for more := true; more; {
		var err error
		more, err = h.coordination.ExpireStep(h.Context())
		h.must(err)
	}
}

// link connects the agents of two houses: the first one's owner asks.
func (v *village) link(from, to string) {
	v.Helper()
	v.ask(from, to)
	v.settle()
	v.houses[to].welcome(from)
	v.settle()
	for a, b := range map[string]string{from: to, to: from} {
		if c := v.houses[a].with(b); c.Status != coordination.ConnActive {
			v.Fatalf("%s with %s: %s", a, b, c.Status)
		}
	}
}

// welcome accepts the request of another house's agent.
func (h *house) welcome(from string) {
	h.Helper()
	id := h.with(from).ID
	h.write(func(tx node.Tx) error {
		_, err := h.coordination.AcceptConnection(tx, h.asOwner(), id)
		return err
	})
}

func (v *village) ask(from, to string) {
	v.Helper()
	a := v.houses[from]
	prepared, err := a.coordination.PrepareConnect(v.Context(), v, a.asOwner(), coordination.ConnectRequest{Address: v.houses[to].address()})
	v.must(err)
	a.write(func(tx node.Tx) error {
		_, err := a.coordination.Connect(tx, a.asOwner(), prepared)
		return err
	})
}

func (h *house) asOwner() node.Actor {
	actor := h.owner
	actor.AgentID = h.agent.ID
	return actor
}

// with is the latest connection with the agent of another house.
func (h *house) with(host string) (c coordination.Connection) {
	h.Helper()
	h.write(func(tx node.Tx) error {
		list, err := h.coordination.ConnectionsWith(tx, h.agent.ID, "agent@"+host)
		if err == nil && len(list) > 0 {
			c = list[0]
		}
		return err
	})
	return c
}

// say sends a chat message from the owner and gives its id.
func (h *house) say(to, text string) (id string) {
	h.Helper()
	connection := h.with(to).ID
	h.write(func(tx node.Tx) error {
		result, err := h.coordination.SendMessage(tx, h.asOwner(), connection, text)
		id = result.ID
		return err
	})
	return id
}

// heard says how often a text has come from another house.
func (h *house) heard(from, text string) (times int) {
	h.Helper()
	connection := h.with(from).ID
	h.write(func(tx node.Tx) error {
		list, err := h.coordination.Messages(tx, h.agent.ID, connection, coordination.Page{Limit: 100})
		for _, m := range list {
			var chat wire.Chat
			if m.Direction == coordination.In && m.Status == coordination.MsgReceived && json.Unmarshal(m.Content, &chat) == nil && chat.Text == text {
				times++
			}
		}
		return err
	})
	return times
}

// status is where one of our messages stands.
func (h *house) status(id string) (status coordination.MessageStatus) {
	h.Helper()
	h.write(func(tx node.Tx) error {
		m, err := h.store.Message(tx, h.agent.ID, id)
		status = m.Status
		return err
	})
	return status
}

// talk sends a message each way and fails where one does not arrive once.
func (v *village) talk(one, other, text string) {
	v.Helper()
	for a, b := range map[string]string{one: other, other: one} {
		id := v.houses[a].say(b, text)
		v.settle()
		if got := v.houses[b].heard(a, text); got != 1 || v.houses[a].status(id) != coordination.MsgDelivered {
			v.Errorf("%q from %s arrived %d times, and is %s", text, a, got, v.houses[a].status(id))
		}
	}
}

// change writes into the row of a connection what no node would by itself.
func (h *house) change(host string, f func(*coordination.Connection)) {
	h.Helper()
	id := h.with(host).ID
	h.write(func(tx node.Tx) error {
		c, err := h.store.LockConnection(tx, id)
		if err != nil {
			return err
		}
		f(&c)
		return h.store.SaveConnection(tx, c, c.Status)
	})
}

// leave ends the connection with the agent of another house.
func (h *house) leave(host string) {
	h.Helper()
	id := h.with(host).ID
	h.write(func(tx node.Tx) error {
		_, err := h.coordination.RevokeConnection(tx, h.asOwner(), id)
		return err
	})
}

// rotate replaces the house's key.
func (h *house) rotate() (done coordination.KeyRotation) {
	h.Helper()
	h.write(func(tx node.Tx) (err error) {
		done, err = h.coordination.RotateKey(tx, h.owner)
		return err
	})
	return done
}

// accept answers a new key of another house's; refuse does too.
func (h *house) accept(host, fingerprint string) error {
	return h.decide(h.coordination.AcceptKey, host, fingerprint)
}
func (h *house) refuse(host, fingerprint string) error {
	return h.decide(h.coordination.RefuseKey, host, fingerprint)
}

func (h *house) decide(f func(node.Tx, node.Actor, string, string) (coordination.Connection, error), host, fingerprint string) error {
	h.Helper()
	connection := h.with(host).ID
	return h.store.InTx(h.Context(), func(tx node.Tx) error {
		_, err := f(tx, h.asOwner(), connection, fingerprint)
		return err
	})
}

// events counts what the log has of a type.
func (h *house) events(want audit.Type) (count int) {
	h.Helper()
	h.write(func(tx node.Tx) error {
		list, err := h.store.AuditRows(tx, audit.Filter{Types: []audit.Type{want}, Limit: 100})
		count = len(list)
		return err
	})
	return count
}

// thief is somebody who has copied the keys of a house.
type thief struct {
	*house
	keys   identity.Keys
	signer *token.Signer
	signed []byte // what was sent last
}

func (h *house) robbed() *thief {
	h.Helper()
	th := &thief{house: h}
	h.write(func(tx node.Tx) (err error) {
		th.keys, err = h.store.NodeKeys(tx)
		return err
	})
	th.signer = token.NewSigner(ed25519.NewKeyFromSeed(th.keys.Seed))
	return th
}

// send puts a message under the stolen key into somebody's inbox.
func (th *thief) send(to string, typ wire.Type, content any) (status int, ack wire.Ack) {
	th.Helper()
	target := th.houses[to]
	now := th.clock.Now()
	envelope := wire.Envelope{
		V: wire.Version, Iss: th.address(), Aud: target.address(), JTI: node.RandomIDs{}.New(), Iat: now.Unix(), Exp: now.Add(time.Hour).Unix(), Type: typ,
	}
	inner := wire.Inner{Iss: envelope.Iss, Aud: envelope.Aud, JTI: envelope.JTI, Type: typ, Author: wire.AuthorAgent, Content: node.MustCanonical(content)}
	envelope, err := envelope.Seal(inner, func(plain []byte) ([]byte, error) { return seal.ToRecipient(target.identity.Recipient(), plain) })
	th.must(err)
	compact, err := th.signer.Sign(token.Envelope, envelope)
	th.must(err)
	th.signed = []byte(compact)
	status, answer := target.inbox.Receive(th.Context(), th.signed, "203.0.113.66")
	if status == http.StatusOK {
		th.must(token.Peek(token.Ack, string(answer), &ack))
	}
	return status, ack
}

// announce says that a key takes the place of the stolen one.
func (th *thief) announce(to string, next *token.Signer, recipient string) (status int, ack wire.Ack) {
	th.Helper()
	statement, err := token.NewStatement(th.signer, next, th.host, recipient, th.clock.Now())
	th.must(err)
	return th.send(to, wire.KeyRotate, wire.Rotation{Chain: []token.Statement{statement}})
}

func newKey() (*token.Signer, string) {
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		panic(err)
	}
	_, recipient := seal.NewKeyPair()
	return token.NewSigner(private), recipient
}
