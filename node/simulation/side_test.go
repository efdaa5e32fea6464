package simulation

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agentlink/actions"
	"agentlink/actions/executor/reservation"
	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/api/peer"
	"agentlink/node/audit"
	"agentlink/node/delivery"
	"agentlink/node/outbox"
	"agentlink/node/seal"
	"agentlink/node/token"
	"agentlink/policy"
	"agentlink/policy/engine"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// side is one owner's running node with the one agent that a history is about.
type side struct {
	*disk
	name  string
	agent policy.Agent
	owner node.Actor
	db    *mortal
	ids   node.IDs
	rng   *mathrand.Rand

	audit        *audit.Log
	engine       *engine.Engine
	policy       *policy.Service
	approvals    *approvals.Service
	coordination *coordination.Service
	actions      *actions.Service
	inbox        *peer.Inbox
	worker       *delivery.Worker
	strangers    *delivery.Strangers
	runs         map[string]json.RawMessage // what the executor was given, by key
	again        atomic.Int64               // transactions that were run again
	logged       lines                      // what the process has logged
	fault        *fault                     // what is wrong with this node on purpose; nil: nothing
	connected    bool                       // the two sides are, and the history proper has begun
	decide       decider
	notes        notes
	read         *reads
}

func (s *side) address() string {
	return node.Address{Handle: s.agent.Handle, Host: s.host}.String()
}

func (s *side) actor() node.Actor {
	return node.Actor{Kind: node.ActorAgent, OwnerID: s.agent.OwnerID, AgentID: s.agent.ID}
}

func (s *side) self() coordination.Self {
	return coordination.Self{
		Host: s.host, Fingerprint: s.identity.Signer.Fingerprint(),
		Recipient: s.identity.Recipient(), Inbox: "http://" + s.host + "/agentlink/v1/inbox",
	}
}

// seams are the places where a fault can be planted: what the services are given.
type seams struct {
	approvals    approvals.Store
	coordination coordination.Store
	actions      actions.Store
	audit        audit.Store
	outbox       outbox.Store
	rules        engine.Store
	executor     actions.Executor
	inboxDB      node.DB
	// These wrap services that were made with the above.
	tasks    actions.Tasks
	inbox    peer.Coordination
	outgoing delivery.Coordination
	decide   decider
}

// decider is the owner's door: one transaction that decides.
type decider func(ctx context.Context, decision approvals.Decision) (approvals.Effect, error)

// start makes the services, as a process does that starts on this disk.
func (s *side) start(t testing.TB, network *network) {
	t.Helper()
	s.db = &mortal{DB: counted{s.store, &s.again}}
	at := &seams{
		approvals: s.store, coordination: s.store, actions: s.store, audit: s.store, outbox: s.store, rules: s.store,
		executor: counting{s}, inboxDB: s.db,
	}
	s.fault.plant(s, at, beneath)
	s.startServices(t, at)
	at.tasks, at.inbox, at.outgoing, at.decide = s.coordination, s.coordination, s.coordination, s.decides
	s.fault.plant(s, at, between)
	s.decide = at.decide
	s.startDoors(network, at)
}

func (s *side) startServices(t testing.TB, at *seams) {
	t.Helper()
	var err error
	s.audit = audit.New(at.audit, s.master.Key(seal.UseAudit))
	s.engine, err = engine.New(engine.Config{Store: at.rules, IDs: s.ids, Audit: s.audit, Log: s.logged.logger()})
	must(t, err)
	s.policy = policy.New(policy.Config{Store: s.store, IDs: s.ids, Audit: s.audit, Decider: s.engine})
	s.approvals = approvals.New(approvals.Config{
		Store: at.approvals, DB: s.db, IDs: s.ids, Audit: s.audit,
		HashKey: s.master.Key(seal.UseApproval), MACKey: s.master.Key(seal.UseRowMAC), TTL: 24 * time.Hour, Epoch: 1,
	})
	s.coordination = coordination.New(coordination.Config{
		Store: at.coordination, DB: s.db, Clock: s.clock, IDs: s.ids, Policy: s.engine, Agents: s.policy,
		Approvals: s.approvals, Audit: s.audit, Outbox: at.outbox, Self: s.self(),
	})
}

func (s *side) startDoors(network *network, at *seams) {
	s.actions = actions.New(actions.Config{
		Store: at.actions, DB: s.db, IDs: s.ids, Policy: s.engine, Approvals: s.approvals, Tasks: at.tasks,
		Audit: s.audit, Executors: []actions.Executor{at.executor}, Issuer: s.identity.Signer.Fingerprint,
		SignReceipt: func(claims any) (string, error) { return s.identity.Signer.Sign(token.Receipt, claims) },
		Log:         s.logged.logger(),
	})
	s.inbox = peer.New(peer.Config{
		DB: at.inboxDB, Coordination: at.inbox, Strangers: s.store, Signer: s.identity.Signer, Open: s.identity.Open,
		Self: s.self(), Clock: s.clock, IDs: s.ids, Log: s.logged.logger(),
	})
	s.worker = delivery.NewWorker(delivery.WorkerConfig{
		DB: s.db, Outbox: at.outbox, Coordination: at.outgoing, Directory: network, Transport: network.from(s),
		Inbox: s.inbox, Signer: s.identity.Signer, Host: s.host, Clock: s.clock, IDs: s.ids, Jitter: s.rng.Float64,
		Log: s.logged.logger(),
	})
	s.strangers = delivery.NewStrangers(delivery.StrangersConfig{
		DB: s.db, Store: s.store, Directory: network, Inbox: s.inbox, Jitter: s.rng.Float64,
	})
}

// decides is the owner's word, in a transaction of its own.
func (s *side) decides(ctx context.Context, decision approvals.Decision) (effect approvals.Effect, err error) {
	err = s.db.InTx(ctx, func(tx node.Tx) error {
		effect, err = s.approvals.Decide(tx, s.owner, decision)
		return err
	})
	return effect, err
}

// lines are what a process logs.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// newAgent gives the side a fresh agent for a history.
func (s *side) newAgent(t testing.TB, handle string, mode policy.Mode) {
	t.Helper()
	s.owner = node.Actor{Kind: node.ActorOwner, OwnerID: "owner-of-" + s.name}
	s.in(t, func(tx node.Tx) (err error) {
		s.agent, _, err = s.policy.CreateAgent(tx, s.owner, policy.NewAgent{Handle: handle, Mode: mode})
		return err
	})
	s.owner.AgentID = s.agent.ID
}

// takeAgent gives it the one that is on the disk.
func (s *side) takeAgent(t testing.TB, mode policy.Mode) {
	t.Helper()
	s.owner = node.Actor{Kind: node.ActorOwner, OwnerID: s.disk.agent.OwnerID, AgentID: s.disk.agent.ID}
	s.in(t, func(tx node.Tx) (err error) {
		s.agent, err = s.policy.SetMode(tx, s.owner, s.disk.agent.ID, mode)
		return err
	})
}

func (s *side) in(t testing.TB, f func(node.Tx) error) {
	t.Helper()
	must(t, s.store.InTx(context.Background(), f))
}

// counting is the real executor of reservations, which notes what it was given and
// can die before or after.
type counting struct{ side *side }

func (counting) Name() string     { return reservation.Executor{}.Name() }
func (counting) Idempotent() bool { return true }

func (c counting) Execute(ctx context.Context, key string, parameters json.RawMessage) (actions.Result, error) {
	c.side.db.mayDie("before the executor")
	c.side.runs[key] = parameters
	result, err := reservation.Executor{}.Execute(ctx, key, parameters)
	c.side.db.mayDie("after the executor")
	return result, err
}

// mortal is a database whose process can die before or after any transaction.
type mortal struct {
	node.DB
	countdown int    // transactions until it dies; 0 means that it lives on
	doomed    string // where it dies the next time that it gets there
	died      string
}

// death is what a process that dies panics with.
type death struct{ where string }

func (m *mortal) InTx(ctx context.Context, f func(node.Tx) error) error {
	m.mayDie("before a transaction")
	err := m.DB.InTx(ctx, f)
	m.mayDie("after a transaction")
	return err
}

func (m *mortal) mayDie(where string) {
	if m.died != "" {
		panic(death{m.died})
	}
	if m.countdown > 0 {
		m.countdown--
		if m.countdown == 0 {
			m.doomed = where
		}
	}
	if m.doomed == where {
		m.died = where
		panic(death{where})
	}
}

// seededIDs are ids that a seed decides.
type seededIDs struct {
	rng   *mathrand.Rand
	clock node.Clock
}

func (s seededIDs) New() string {
	ms := uint64(s.clock.Now().UnixMilli())
	a, b := s.rng.Uint64(), s.rng.Uint64()
	return fmt.Sprintf("%08x-%04x-7%03x-%04x-%012x", ms>>16, ms&0xffff, a&0xfff, 0x8000|(a>>16)&0x3fff, b&0xffffffffffff)
}
