package durability

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"agentlink/actions"
	"agentlink/actions/executor/reservation"
	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/api/agent"
	"agentlink/node/api/peer"
	"agentlink/node/api/rest"
	"agentlink/node/audit"
	"agentlink/node/delivery"
	"agentlink/node/identity"
	"agentlink/node/oauth"
	"agentlink/node/seal"
	"agentlink/node/store"
	"agentlink/node/store/storetest"
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

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// world is two nodes without loops: nothing happens in them but what a test does.
type world struct {
	t     testing.TB
	clock *node.FakeClock
	sides [2]*side
}

// side is one of them, on a real database, with everything that stands between a
// request and the database.
type side struct {
	world    *world
	host     string
	store    *store.Store
	wire     *tripwire
	looker   looker
	identity *identity.Identity
	agent    policy.Agent
	owner    node.Actor

	audit        *audit.Log
	engine       *engine.Engine
	policy       *policy.Service
	approvals    *approvals.Service
	coordination *coordination.Service
	actions      *actions.Service
	inbox        *peer.Inbox
	worker       *delivery.Worker
	strangers    *delivery.Strangers
	oauth        *oauth.Service
	rest         http.Handler
	tokens       *token.Tokens
	effects      map[string]int // by the executor's key
}

// newWorld makes two nodes whose agents are contacts.
func newWorld(t *testing.T, fresh func(*testing.T) storetest.Database) *world {
	t.Helper()
	w := &world{t: t, clock: node.NewFakeClock(noon)}
	for i, host := range []string{"ana.test", "ben.test"} {
		w.sides[i] = newSide(t, w, host, fresh(t))
	}
	for i, handle := range []string{"scout", "juno"} {
		s := w.sides[i]
		s.owner = node.Actor{Kind: node.ActorOwner, OwnerID: "owner-of-" + handle}
		s.in(func(tx node.Tx) (err error) {
			s.agent, _, err = s.policy.CreateAgent(tx, s.owner, policy.NewAgent{Handle: handle, Mode: policy.Autonomous})
			return err
		})
		s.owner.AgentID = s.agent.ID
	}
	return w
}

func newSide(t *testing.T, w *world, host string, database storetest.Database) *side {
	t.Helper()
	s := &side{world: w, host: host, wire: &tripwire{}, effects: map[string]int{}}
	master := seal.NewMaster()
	var err error
	s.store, err = store.Open(t.Context(), store.Config{
		URL: database.URL, Box: seal.NewBox(master.Key(seal.UseRows)), Clock: w.clock, Wrap: s.wire.wrap,
	})
	must(t, err)
	t.Cleanup(func() { _ = s.store.Close() })
	must(t, s.store.Migrate(t.Context()))
	s.looker = newLooker(t, database.URL)
	s.identity, err = identity.LoadOrCreate(t.Context(), s.store, s.store, node.RandomIDs{})
	must(t, err)
	s.wireUp(t, master)
	return s
}

func (s *side) self() coordination.Self {
	return coordination.Self{
		Host: s.host, Fingerprint: s.identity.Signer.Fingerprint(), Recipient: s.identity.Recipient(), Inbox: "http://" + s.host + wire.InboxPath,
	}
}

func (s *side) wireUp(t testing.TB, master seal.Master) {
	ids, half := node.RandomIDs{}, func() float64 { return 0.5 }
	s.audit = audit.New(s.store, master.Key(seal.UseAudit))
	var err error
	s.engine, err = engine.New(engine.Config{Store: s.store, IDs: ids, Audit: s.audit})
	must(t, err)
	s.policy = policy.New(policy.Config{Store: s.store, IDs: ids, Audit: s.audit, Decider: s.engine, Imaginer: s.engine})
	s.approvals = approvals.New(approvals.Config{
		Store: s.store, DB: s.store, IDs: ids, Audit: s.audit, HashKey: master.Key(seal.UseApproval), MACKey: master.Key(seal.UseRowMAC),
		TTL: 24 * time.Hour, Epoch: 1,
	})
	s.coordination = coordination.New(coordination.Config{
		Store: s.store, DB: s.store, Clock: s.world.clock, IDs: ids, Policy: s.engine, Agents: s.policy, Approvals: s.approvals,
		Audit: s.audit, Outbox: s.store, Self: s.self(), Keys: s.identity,
	})
	s.actions = actions.New(actions.Config{
		Store: s.store, DB: s.store, IDs: ids, Policy: s.engine, Approvals: s.approvals, Tasks: s.coordination, Audit: s.audit,
		Executors: []actions.Executor{counting{side: s}}, Issuer: s.identity.Signer.Fingerprint,
		SignReceipt: func(claims any) (string, error) { return s.identity.Signer.Sign(token.Receipt, claims) },
	})
	s.inbox = peer.New(peer.Config{
		DB: s.store, Coordination: s.coordination, Strangers: s.store, Signer: s.identity.Signer, Open: s.identity.Open, Recipient: s.identity.Recipient,
		Self: s.self(), Clock: s.world.clock, IDs: ids,
	})
	s.worker = delivery.NewWorker(delivery.WorkerConfig{
		DB: s.store, Outbox: s.store, Coordination: s.coordination, Directory: s.world, Transport: s.world, Inbox: s.inbox,
		Signer: s.identity.Signer, Host: s.host, Clock: s.world.clock, IDs: ids, Jitter: half,
	})
	s.strangers = delivery.NewStrangers(delivery.StrangersConfig{DB: s.store, Store: s.store, Directory: s.world, Inbox: s.inbox, Jitter: half})
	s.oauth = oauth.New(oauth.Config{DB: s.store, Store: s.store, Audit: s.audit, IDs: ids, Origins: []string{"http://" + s.host}})
	s.tokens = token.NewTokens(s.identity.Signer, "http://"+s.host)
	api := agent.New(agent.Config{
		DB: s.store, Clock: s.world.clock, Agents: s.policy, Policy: s.engine, Coordination: s.coordination, Actions: s.actions,
		Approvals: s.approvals, Directory: s.world, Feed: s.store, Tokens: s.tokens, Answers: s.store, Wake: s.store,
		CursorKey: master.Key(seal.UseCursor), Host: s.host, Log: slog.New(slog.DiscardHandler),
	})
	s.rest = rest.New(rest.Config{API: api, IDs: ids, Agents: s.policy, Tokens: s.tokens, Ping: s.store.Ping})
}

// counting is the real executor of reservations, which counts what it did: as
// one that is idempotent by its key, a key has its effect once.
type counting struct {
	reservation.Executor
	side *side
}

func (c counting) Execute(ctx context.Context, key string, parameters json.RawMessage) (actions.Result, error) {
	c.side.effects[key]++
	return c.Executor.Execute(ctx, key, parameters)
}

// Lookup implements coordination.Directory.
func (w *world) Lookup(_ context.Context, host, fingerprint string) (coordination.Peer, error) {
	for _, s := range w.sides {
		if self := s.self(); s.host == host && (fingerprint == "" || fingerprint == self.Fingerprint) {
			return coordination.Peer{
				Fingerprint: self.Fingerprint, PublicKey: s.identity.Signer.PublicKey(), Recipient: self.Recipient, Inbox: self.Inbox, Version: wire.Version,
			}, nil
		}
	}
	return coordination.Peer{}, node.Errorf(node.Unavailable, "The node does not answer.")
}

// Post implements delivery.Transport.
func (w *world) Post(ctx context.Context, url string, body []byte) (int, http.Header, []byte, bool, error) {
	for _, s := range w.sides {
		if s.self().Inbox == url {
			status, answer := s.inbox.Receive(ctx, body, "192.0.2.1")
			return status, nil, answer, true, nil
		}
	}
	return 0, nil, nil, false, fmt.Errorf("nobody is at %s", url)
}

func (s *side) in(f func(node.Tx) error) {
	s.world.t.Helper()
	must(s.world.t, s.store.InTx(context.Background(), f))
}

func (s *side) other() *side {
	if s.world.sides[0] == s {
		return s.world.sides[1]
	}
	return s.world.sides[0]
}

func (s *side) address() string { return node.Address{Handle: s.agent.Handle, Host: s.host}.String() }

// answer is what the agent gets.
type answer struct {
	status int
	body   string
}

func (a answer) text(name string) string {
	var members map[string]any
	_ = json.Unmarshal([]byte(a.body), &members)
	text, _ := members[name].(string)
	return text
}

// post is one request of the agent's, by REST, with an idempotency key where it
// is not empty.
func (s *side) post(path, key string, body any) answer {
	s.world.t.Helper()
	content, err := json.Marshal(body)
	must(s.world.t, err)
	bearer, _, err := s.tokens.Issue(s.agent.ID, s.agent.KeyGeneration, s.world.clock.Now())
	must(s.world.t, err)
	r := httptest.NewRequest(http.MethodPost, "http://"+s.host+"/v1/agent"+path, bytes.NewReader(content))
	r.Header.Set("Authorization", "Bearer "+bearer)
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	w := httptest.NewRecorder()
	s.rest.ServeHTTP(w, r)
	return answer{w.Code, w.Body.String()}
}

// steps does what the node's loops would do, some rounds long.
func (s *side) steps(ctx context.Context) error {
	for _, step := range []func(context.Context) (bool, error){
		s.worker.Step, s.strangers.Step, s.coordination.ExpireStep, s.approvals.ExpireStep, s.actions.RecoverStep,
	} {
		for more, n := true, 0; more && n < 100; n++ {
			var err error
			if more, err = step(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// settle lets both nodes work until nothing waits.
func (w *world) settle() {
	w.t.Helper()
	for range 6 {
		for _, s := range w.sides {
			must(w.t, s.steps(context.Background()))
		}
		w.clock.Advance(2 * time.Second)
	}
}

func (s *side) connection() (c coordination.Connection) {
	s.world.t.Helper()
	s.in(func(tx node.Tx) error {
		list, err := s.coordination.Connections(tx, s.agent.ID, coordination.Page{Limit: 1})
		if err == nil && len(list) == 1 {
			c = list[0]
		}
		return err
	})
	return c
}

// finds looks up the other side's node, and asks asks it then.
func (s *side) finds(ctx context.Context) (coordination.Prepared, error) {
	return s.coordination.PrepareConnect(ctx, s.world, s.owner, coordination.ConnectRequest{Address: s.other().address()})
}

func (s *side) asks(ctx context.Context, prepared coordination.Prepared) error {
	return s.store.InTx(ctx, func(tx node.Tx) error {
		_, err := s.coordination.Connect(tx, s.owner, prepared)
		return err
	})
}

// asked is a world in which the first side has asked the second one.
func (w *world) asked() {
	w.t.Helper()
	found, err := w.sides[0].finds(context.Background())
	must(w.t, err)
	must(w.t, w.sides[0].asks(context.Background(), found))
	w.settle()
}

// acquainted makes the two agents contacts.
func (w *world) acquainted() {
	w.t.Helper()
	w.asked()
	s, c := w.sides[1], w.sides[1].connection()
	s.in(func(tx node.Tx) error {
		_, err := s.coordination.AcceptConnection(tx, s.owner, c.ID)
		return err
	})
	w.settle()
	for _, s := range w.sides {
		if c := s.connection(); c.Status != coordination.ConnActive {
			w.t.Fatalf("%s: the connection is %s", s.host, c.Status)
		}
		s.grants("disclose.availability", policy.Allow)
	}
}

func (s *side) grants(capability string, mode policy.GrantMode) {
	s.world.t.Helper()
	s.in(func(tx node.Tx) error {
		_, err := s.policy.SetGrant(tx, s.owner, policy.NewGrant{AgentID: s.agent.ID, Contact: s.other().address(), Capability: capability, Mode: mode})
		return err
	})
}

func dinner() map[string]any {
	return map[string]any{
		"date": "2027-01-05", "time": "19:30", "timezone": "Europe/Berlin", "partySize": 2, "venue": map[string]any{"name": "Trattoria"},
	}
}

// starts begins a task with the first proposal.
func (s *side) starts() (uid string) {
	s.world.t.Helper()
	a := s.post("/tasks", "", map[string]any{
		"connectionId": s.connection().ID, "type": "dinner.coordination", "title": "Dinner", "proposal": dinner(), "expiresInHours": 30,
	})
	if a.status != http.StatusCreated {
		s.world.t.Fatalf("start a task: %d %s: %v", a.status, a.body, s.pending().Held)
	}
	s.world.settle()
	return a.text("taskUid")
}

// agrees makes both sides agree on a task of this side.
func (s *side) agrees() (uid string) {
	s.world.t.Helper()
	uid = s.starts()
	a := s.other().post("/tasks/"+uid+"/responses", "", map[string]any{"version": 1, "decision": "accept"})
	if a.status != http.StatusCreated {
		s.world.t.Fatalf("accept: %d %s", a.status, a.body)
	}
	s.world.settle()
	return uid
}

// booking is the parameters of the action that a task is for.
func booking(uid string) map[string]any {
	t, _ := coordination.TypeOf("dinner.coordination")
	parameters := t.Mapped(dinner())
	parameters["taskUid"] = uid
	return parameters
}

// pending is the approval that waits.
func (s *side) pending() (a approvals.Approval) {
	s.world.t.Helper()
	s.in(func(tx node.Tx) error {
		list, err := s.approvals.Approvals(tx, approvals.Filter{AgentID: s.agent.ID, Status: approvals.Pending, Limit: 1})
		if err == nil && len(list) == 0 {
			err = fmt.Errorf("no approval waits")
		}
		if err == nil {
			a = list[0]
		}
		return err
	})
	return a
}

func (s *side) decides(ctx context.Context, a approvals.Approval, yes bool) error {
	return s.store.InTx(ctx, func(tx node.Tx) error {
		_, err := s.approvals.Decide(tx, s.owner, approvals.Decision{ID: a.ID, Hash: a.Hash, Approve: yes})
		return err
	})
}

// wantWholeLog verifies the chain of the audit log.
func (s *side) wantWholeLog(what string) {
	s.world.t.Helper()
	must(s.world.t, s.store.View(context.Background(), func(tx node.Tx) error {
		report, err := s.audit.Verify(tx, true)
		if err == nil && !report.OK() {
			s.world.t.Errorf("%s: %s: the audit log is not whole: %s", what, s.host, report.Problem)
		}
		return err
	}))
}

// failed makes an error of an answer that is no success. It has to be one that
// may come of a database that does not answer.
func (a answer) failed() error {
	if a.status < 300 {
		return nil
	}
	if strings.Contains(a.body, "planted") {
		return fmt.Errorf("the answer tells what is inside: %s", a.body)
	}
	return &refused{a}
}

type refused struct{ answer }

func (r *refused) Error() string { return fmt.Sprintf("%d %s", r.status, r.body) }
