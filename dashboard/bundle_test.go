package dashboard_test

import (
	"bytes"
	"context"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"agentlink/actions"
	"agentlink/actions/executor/calendar"
	"agentlink/actions/executor/reservation"
	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/dashboard"
	"agentlink/node"
	"agentlink/node/api/peer"
	"agentlink/node/audit"
	"agentlink/node/delivery"
	"agentlink/node/identity"
	"agentlink/node/oauth"
	"agentlink/node/store"
	"agentlink/node/store/storetest"
	"agentlink/node/token"
	"agentlink/policy"
	"agentlink/policy/engine"
)

// noon is when every bundle begins.
var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// bundle is the dashboard on the real services of one node, whose store is in
// memory. Its agents talk to one another as to agents of other nodes; deliver
// carries what waits.
type bundle struct {
	t     testing.TB
	clock *node.FakeClock
	store *store.Store
	owner node.Actor

	identity     *identity.Identity
	audit        *audit.Log
	engine       *engine.Engine
	policy       *policy.Service
	approvals    *approvals.Service
	coordination *coordination.Service
	actions      *actions.Service
	clients      *oauth.Service
	worker       *delivery.Worker
	strangers    *delivery.Strangers

	visitor *dashboard.Visitor // who holds the session; nil for nobody
	handler http.Handler
}

// host is where the node's agents have their addresses.
const host = "node.example"

// newBundle makes a node with an owner who has signed in just now.
func newBundle(t testing.TB, change ...func(*dashboard.Config)) *bundle {
	t.Helper()
	b := &bundle{t: t, clock: node.NewFakeClock(noon), owner: node.Actor{Kind: node.ActorOwner, OwnerID: "owner"}}
	database := storetest.Benchmarked["memory"](t)
	database.Clock = b.clock
	b.store = database.Open(t)
	b.visitor = &dashboard.Visitor{SessionID: "session-1", OwnerID: b.owner.OwnerID, Name: "Ada", CSRF: "token of the session", Fresh: true}
	b.wire()
	config := dashboard.Config{
		DB: b.store, Clock: b.clock, IDs: node.RandomIDs{}, Access: b, Policy: b.policy, Decider: b.engine, Decisions: b.engine,
		Approvals: b.approvals, Coordination: b.coordination, Actions: b.actions, Directory: b, Clients: b.clients,
		Audit: b.audit, Events: b.store, Wake: b.store, Tally: b.store, Signer: b.identity.Signer,
		SignHead: func(claims audit.HeadClaims) (string, error) { return b.identity.Signer.Sign(token.AuditHead, claims) },
		Info: dashboard.Info{
			Host: host, URL: "http://" + host, DataDir: "/data", Database: "memory", Version: "test",
		},
	}
	for _, f := range change {
		f(&config)
	}
	b.handler = dashboard.New(config).Handler()
	return b
}

// wire makes the services as a node does.
func (b *bundle) wire() {
	b.t.Helper()
	key := func(i byte) []byte { return bytes.Repeat([]byte{i}, 32) }
	ids := node.RandomIDs{}
	var err error
	b.identity, err = identity.LoadOrCreate(b.t.Context(), b.store, b.store, ids)
	b.must(err)
	signer := b.identity.Signer
	self := coordination.Self{
		Host: host, Fingerprint: signer.Fingerprint(), Recipient: b.identity.Recipient(), Inbox: "http://" + host + "/agentlink/v1/inbox",
	}
	b.audit = audit.New(b.store, key(1))
	b.engine, err = engine.New(engine.Config{Store: b.store, IDs: ids, Audit: b.audit})
	b.must(err)
	b.policy = policy.New(policy.Config{Store: b.store, IDs: ids, Audit: b.audit, Decider: b.engine, Imaginer: b.engine})
	b.approvals = approvals.New(approvals.Config{
		Store: b.store, DB: b.store, IDs: ids, Audit: b.audit, HashKey: key(2), MACKey: key(3), Epoch: 1,
	})
	b.coordination = coordination.New(coordination.Config{
		Store: b.store, DB: b.store, Clock: b.clock, IDs: ids, Policy: b.engine, Agents: b.policy,
		Approvals: b.approvals, Audit: b.audit, Outbox: b.store, Self: self, Keys: b.identity,
	})
	b.actions = actions.New(actions.Config{
		Store: b.store, DB: b.store, IDs: ids, Policy: b.engine, Approvals: b.approvals, Tasks: b.coordination, Audit: b.audit,
		Executors: []actions.Executor{reservation.Executor{}, calendar.Executor{}}, Issuer: signer.Fingerprint,
		SignReceipt: func(claims any) (string, error) { return signer.Sign(token.Receipt, claims) },
	})
	b.clients = oauth.New(oauth.Config{DB: b.store, Store: b.store, Audit: b.audit, IDs: ids, Origins: []string{"http://" + host}})
	inbox := peer.New(peer.Config{
		DB: b.store, Coordination: b.coordination, Strangers: b.store, Signer: signer, Open: b.identity.Open, Recipient: b.identity.Recipient,
		Self: self, Clock: b.clock, IDs: ids,
	})
	b.worker = delivery.NewWorker(delivery.WorkerConfig{
		DB: b.store, Outbox: b.store, Coordination: b.coordination, Directory: b, Transport: b, Inbox: inbox,
		Signer: signer, Host: host, Clock: b.clock, IDs: ids, Jitter: func() float64 { return 0 },
	})
	b.strangers = delivery.NewStrangers(delivery.StrangersConfig{
		DB: b.store, Store: b.store, Directory: b, Inbox: inbox, Jitter: func() float64 { return 0 },
	})
}

// Lookup implements coordination.Directory: this node is the only one there is.
func (b *bundle) Lookup(context.Context, string, string) (coordination.Peer, error) {
	return coordination.Peer{
		Fingerprint: b.identity.Signer.Fingerprint(), PublicKey: b.identity.Signer.PublicKey(), Recipient: b.identity.Recipient(),
		Inbox: "http://" + host + "/agentlink/v1/inbox", Version: 1,
	}, nil
}

// Post implements delivery.Transport: nobody else answers.
func (b *bundle) Post(context.Context, string, []byte) (int, http.Header, []byte, bool, error) {
	return 0, nil, nil, false, node.Errorf(node.Unavailable, "There is no other node.")
}

// Place implements dashboard.Access.
func (b *bundle) Place(string) (place dashboard.Place, known bool) {
	return dashboard.Place{Cookie: "agentlink-test"}, true
}

const goodCookie = "the cookie of the session"

// Open implements dashboard.Access.
func (b *bundle) Open(ctx context.Context, cookie string) error {
	_, err := b.Visitor(ctx, cookie, false)
	return err
}

// Visitor implements dashboard.Access.
func (b *bundle) Visitor(_ context.Context, cookie string, _ bool) (dashboard.Visitor, error) {
	if cookie != goodCookie || b.visitor == nil {
		return dashboard.Visitor{}, node.Errorf(node.Unauthorized, "Sign in.")
	}
	return *b.visitor, nil
}

func (b *bundle) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// in runs a transaction.
func (b *bundle) in(f func(tx node.Tx) error) {
	b.t.Helper()
	b.must(b.store.InTx(b.t.Context(), f))
}

// agent makes an agent.
func (b *bundle) agent(handle string, mode policy.Mode) (agent policy.Agent) {
	b.t.Helper()
	b.in(func(tx node.Tx) (err error) {
		agent, _, err = b.policy.CreateAgent(tx, b.owner, policy.NewAgent{Handle: handle, Name: handle, Mode: mode})
		return err
	})
	return agent
}

// actor is an agent as it acts.
func (b *bundle) actor(agent policy.Agent) node.Actor {
	return node.Actor{Kind: node.ActorAgent, OwnerID: agent.OwnerID, AgentID: agent.ID}
}

// ownerOf is the owner acting upon an agent.
func (b *bundle) ownerOf(agent policy.Agent) node.Actor {
	actor := b.owner
	actor.AgentID = agent.ID
	return actor
}

func address(agent policy.Agent) string { return agent.Handle + "@" + host }

// grant sets a grant; contact "" makes it agent-wide.
func (b *bundle) grant(agent policy.Agent, contact, capability string, mode policy.GrantMode) (grant policy.Grant) {
	b.t.Helper()
	b.in(func(tx node.Tx) (err error) {
		grant, err = b.policy.SetGrant(tx, b.ownerOf(agent), policy.NewGrant{AgentID: agent.ID, Contact: contact, Capability: capability, Mode: mode})
		return err
	})
	return grant
}

// request makes an agent's owner ask to connect with another agent; the request
// arrives.
func (b *bundle) request(from, to policy.Agent) {
	b.t.Helper()
	actor := b.ownerOf(from)
	prepared, err := b.coordination.PrepareConnect(b.t.Context(), b, actor, coordination.ConnectRequest{Address: address(to)})
	b.must(err)
	b.in(func(tx node.Tx) error {
		_, err := b.coordination.Connect(tx, actor, prepared)
		return err
	})
	b.deliver()
	b.steps(b.strangers.Step)
	b.clock.Advance(2 * time.Second) // then the request is sent again
	b.deliver()
}

// connect makes an active connection and gives it as each side has it.
func (b *bundle) connect(from, to policy.Agent) (ofFrom, ofTo coordination.Connection) {
	b.t.Helper()
	b.request(from, to)
	b.in(func(tx node.Tx) error {
		_, err := b.coordination.AcceptConnection(tx, b.ownerOf(to), b.connection(tx, to, from).ID)
		return err
	})
	b.deliver()
	b.in(func(tx node.Tx) error {
		ofFrom, ofTo = b.connection(tx, from, to), b.connection(tx, to, from)
		return nil
	})
	if ofFrom.Status != coordination.ConnActive || ofTo.Status != coordination.ConnActive {
		b.t.Fatalf("connecting gives %s and %s", ofFrom.Status, ofTo.Status)
	}
	return ofFrom, ofTo
}

func (b *bundle) connection(tx node.Tx, agent, with policy.Agent) coordination.Connection {
	b.t.Helper()
	known, err := b.store.ConnectionsWith(tx, agent.ID, address(with))
	if err != nil || len(known) == 0 {
		b.t.Fatalf("no connection of %s with %s: %v", agent.Handle, with.Handle, err)
	}
	return known[0]
}

// deliver carries everything that waits in the outbox.
func (b *bundle) deliver() {
	b.t.Helper()
	b.steps(b.worker.Step)
}

func (b *bundle) steps(step func(context.Context) (bool, error)) {
	b.t.Helper()
	for more := true; more; {
		var err error
		more, err = step(b.t.Context())
		b.must(err)
	}
}

// terms are the fields of a dinner, with changes; nil removes a field.
func terms(changes map[string]any) json.RawMessage {
	fields := map[string]any{
		"date": "2026-05-09", "time": "19:30", "timezone": "Europe/Rome", "partySize": 2, "venue": map[string]any{"name": "Da Piero"},
	}
	for name, value := range changes {
		if fields[name] = value; value == nil {
			delete(fields, name)
		}
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return raw
}

// page is what came of a request.
type page struct {
	t      testing.TB
	Status int
	Header http.Header
	Body   string
}

// get opens a page as the signed-in owner.
func (b *bundle) get(path string) page {
	b.t.Helper()
	return b.send(httptest.NewRequest(http.MethodGet, path, nil))
}

// post sends a form as the page itself does, with the session's token.
func (b *bundle) post(path string, form url.Values) page {
	b.t.Helper()
	if form == nil {
		form = url.Values{}
	}
	if b.visitor != nil {
		form.Set("csrf", b.visitor.CSRF)
	}
	return b.send(formRequest(path, form))
}

func formRequest(path string, form url.Values) *http.Request {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return r
}

// send sends a request with the session's cookie.
func (b *bundle) send(r *http.Request) page {
	b.t.Helper()
	r.Host = host
	r.AddCookie(&http.Cookie{Name: "agentlink-test", Value: goodCookie})
	recorder := httptest.NewRecorder()
	b.handler.ServeHTTP(recorder, r)
	result := recorder.Result()
	body, err := io.ReadAll(result.Body)
	b.must(err)
	return page{t: b.t, Status: result.StatusCode, Header: result.Header, Body: string(body)}
}

// want fails the test where the status is another.
func (p page) want(status int) page {
	p.t.Helper()
	if p.Status != status {
		p.t.Fatalf("status %d, want %d: %s", p.Status, status, p.Body)
	}
	return p
}

// leadsTo fails the test where the answer does not lead to this address.
func (p page) leadsTo(address string) page {
	p.t.Helper()
	if p.want(http.StatusSeeOther); p.Header.Get("Location") != address {
		p.t.Fatalf("leads to %s, want %s", p.Header.Get("Location"), address)
	}
	return p
}

// says fails the test where the page lacks one of these texts.
func (p page) says(texts ...string) page {
	p.t.Helper()
	for _, text := range texts {
		if !strings.Contains(p.Body, text) {
			p.t.Errorf("the page does not say %q:\n%s", text, p.Body)
		}
	}
	return p
}

// lacks fails the test where the page has one of these texts.
func (p page) lacks(texts ...string) page {
	p.t.Helper()
	for _, text := range texts {
		if strings.Contains(p.Body, text) {
			p.t.Errorf("the page says %q:\n%s", text, p.Body)
		}
	}
	return p
}

// link is the address that a link with this text leads to.
func (p page) link(text string) string {
	p.t.Helper()
	for part := range strings.SplitSeq(p.Body, "<a ") {
		tag, rest, _ := strings.Cut(part, ">")
		shown, _, _ := strings.Cut(rest, "</a>")
		_, address, found := strings.Cut(tag, `href="`)
		if strings.TrimSpace(shown) == text && found {
			address, _, _ = strings.Cut(address, `"`)
			return html.UnescapeString(address)
		}
	}
	p.t.Fatalf("there is no link %q:\n%s", text, p.Body)
	return ""
}

// TestBundle: the node of these tests is a whole one.
func TestBundle(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	scout, juno := b.agent("scout", policy.Autonomous), b.agent("juno", policy.Autonomous)
	b.connect(scout, juno)
	b.get("/").want(http.StatusOK).says("Nothing waits for you", "2 contacts")
	b.visitor = nil
	b.get("/").leadsTo("/login?next=%2F")
}
