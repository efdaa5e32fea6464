package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	mathrand "math/rand/v2"
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
	"agentlink/node/identity"
	"agentlink/node/seal"
	"agentlink/node/store"
	"agentlink/node/token"
	"agentlink/policy"
	"agentlink/policy/engine"
)

// disk is what of a node survives its process.
type disk struct {
	host     string
	store    *store.Store
	master   seal.Master
	identity *identity.Identity
	clock    *skewed
}

// skewed is a node's clock: the world's, off by a constant.
type skewed struct {
	world *node.FakeClock
	off   time.Duration
}

func (c *skewed) Now() time.Time { return c.world.Now().Add(c.off).Truncate(time.Microsecond) }

func newDisk(t testing.TB, host string, world *node.FakeClock) *disk {
	t.Helper()
	ctx := context.Background()
	d := &disk{host: host, master: seal.NewMaster(), clock: &skewed{world: world}}
	var err error
	d.store, err = store.Open(ctx, store.Config{URL: "sqlite::memory:", Box: seal.NewBox(d.master.Key(seal.UseRows)), Clock: d.clock})
	must(t, err)
	must(t, d.store.Migrate(ctx))
	d.identity, err = identity.LoadOrCreate(ctx, d.store, d.store, node.RandomIDs{})
	must(t, err)
	return d
}

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
	runs         map[string]int // how often the executor ran, by key
	again        atomic.Int64   // transactions that were run again
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
		Recipient: s.identity.Recipient, Inbox: "http://" + s.host + "/agentlink/v1/inbox",
	}
}

// start makes the services, as a process does that starts on this disk.
func (s *side) start(t testing.TB, network *network) {
	t.Helper()
	var err error
	s.db = &mortal{DB: counted{s.store, &s.again}}
	s.audit = audit.New(s.store, s.master.Key(seal.UseAudit))
	s.engine, err = engine.New(engine.Config{Store: s.store, IDs: s.ids, Audit: s.audit})
	must(t, err)
	s.policy = policy.New(policy.Config{Store: s.store, IDs: s.ids, Audit: s.audit, Decider: s.engine})
	s.approvals = approvals.New(approvals.Config{
		Store: s.store, DB: s.db, IDs: s.ids, Audit: s.audit,
		HashKey: s.master.Key(seal.UseApproval), MACKey: s.master.Key(seal.UseRowMAC), TTL: 24 * time.Hour, Epoch: 1,
	})
	s.coordination = coordination.New(coordination.Config{
		Store: s.store, DB: s.db, Clock: s.clock, IDs: s.ids, Policy: s.engine, Agents: s.policy,
		Approvals: s.approvals, Audit: s.audit, Outbox: s.store, Self: s.self(),
	})
	s.actions = actions.New(actions.Config{
		Store: s.store, DB: s.db, IDs: s.ids, Policy: s.engine, Approvals: s.approvals, Tasks: s.coordination,
		Audit: s.audit, Executors: []actions.Executor{counting{s}}, Issuer: s.identity.Signer.Fingerprint(),
		SignReceipt: func(claims any) (string, error) { return s.identity.Signer.Sign(token.Receipt, claims) },
	})
	s.inbox = peer.New(peer.Config{
		DB: s.db, Coordination: s.coordination, Strangers: s.store, Signer: s.identity.Signer, Open: s.identity.Open,
		Self: s.self(), Clock: s.clock, IDs: s.ids,
	})
	s.worker = delivery.NewWorker(delivery.WorkerConfig{
		DB: s.db, Outbox: s.store, Coordination: s.coordination, Directory: network, Transport: network.from(s),
		Inbox: s.inbox, Signer: s.identity.Signer, Host: s.host, Clock: s.clock, IDs: s.ids, Jitter: s.rng.Float64,
	})
	s.strangers = delivery.NewStrangers(delivery.StrangersConfig{
		DB: s.db, Store: s.store, Directory: network, Inbox: s.inbox, Jitter: s.rng.Float64,
	})
}

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

func (s *side) in(t testing.TB, f func(node.Tx) error) {
	t.Helper()
	must(t, s.store.InTx(context.Background(), f))
}

// counting is the real executor of reservations, which counts what it did and
// can die before or after.
type counting struct{ side *side }

func (counting) Name() string     { return reservation.Executor{}.Name() }
func (counting) Idempotent() bool { return true }

func (c counting) Execute(ctx context.Context, key string, parameters json.RawMessage) (actions.Result, error) {
	c.side.db.mayDie("before the executor")
	c.side.runs[key]++
	result, err := reservation.Executor{}.Execute(ctx, key, parameters)
	c.side.db.mayDie("after the executor")
	return result, err
}

// mortal is a database whose process can die before or after any transaction.
type mortal struct {
	node.DB
	countdown int // transactions until it dies; 0 means that it lives on
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
		if m.countdown--; m.countdown == 0 {
			m.died = where
			panic(death{where})
		}
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
