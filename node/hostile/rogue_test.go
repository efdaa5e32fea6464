package hostile

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/api/socket"
	"agentlink/node/nodetest"
	"agentlink/node/seal"
	"agentlink/node/token"
	"agentlink/policy"
)

// rogue is a node of somebody who holds its keys in his own hands: it connects as
// any other, and then says what it likes.
type rogue struct {
	party
	t       testing.TB
	home    *home // whom it talks to
	handle  string
	host    string
	inbox   string
	posts   int           // what its own inbox took
	shows   *party        // the keys of its card, where they are not its own
	card    string        // its card, where it has made up one
	client  *http.Client  // to the node
	iatSkew time.Duration // of its clock
}

// clientOfTests keeps a connection for each of those that ask at once.
var clientOfTests = http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 8}}

func newRogue(t testing.TB, h *home, handle string) *rogue {
	t.Helper()
	r := &rogue{party: newParty(), t: t, home: h, handle: handle, client: &clientOfTests}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.host = strings.TrimPrefix(server.URL, "http://")
	r.inbox = server.URL + wire.InboxPath
	return r
}

func (r *rogue) address() string { return node.Address{Handle: r.handle, Host: r.host}.String() }

// ServeHTTP implements http.Handler: a card, and an inbox that takes everything.
func (r *rogue) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	keys := r.party
	if r.shows != nil {
		keys = *r.shows
	}
	if request.URL.Path == wire.CardPath && r.card != "" {
		writeToken(w, r.card)
		return
	}
	if request.URL.Path == wire.CardPath {
		now := r.home.world.clock.Now()
		writeToken(w, keys.sign(token.Card, wire.Card{
			Versions: []int{wire.Version}, Host: r.host, Fingerprint: keys.signer.Fingerprint(),
			PublicKey: base64.RawURLEncoding.EncodeToString(keys.signer.PublicKey()), Recipient: keys.recipient, Inbox: r.inbox,
			Iat: now.Unix(), Exp: now.Add(time.Hour).Unix(),
		}))
		return
	}
	r.posts++
	body, _ := io.ReadAll(request.Body)
	var e wire.Envelope
	_ = token.Peek(token.Envelope, string(body), &e)
	writeToken(w, keys.sign(token.Ack, wire.Ack{
		Iss: e.Aud, Aud: e.Iss, Ref: e.JTI, SHA256: hashOf(body), Seq: e.Seq, Status: wire.Applied, Iat: r.home.world.clock.Now().Unix(),
	}))
}

func hashOf(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// claims are those of a valid envelope from the rogue's agent.
func (r *rogue) claims(typ wire.Type) wire.Envelope {
	now := r.home.world.clock.Now().Add(r.iatSkew)
	return wire.Envelope{
		V: wire.Version, Iss: r.address(), Aud: r.home.agent.Address, JTI: node.RandomIDs{}.New(), Iat: now.Unix(),
		Exp: now.Add(time.Hour).Unix(), Type: typ,
	}
}

func innerOf(e wire.Envelope, content string) wire.Inner {
	return wire.Inner{
		Iss: e.Iss, Aud: e.Aud, JTI: e.JTI, Type: e.Type, Task: e.Task, Seq: e.Seq, Author: wire.AuthorAgent, Content: []byte(content),
	}
}

// sealed gives an envelope the body that holds a text.
func (r *rogue) sealed(e wire.Envelope, inner string) wire.Envelope {
	r.t.Helper()
	body, err := seal.ToRecipient(r.home.recipient(), []byte(inner))
	must(r.t, err)
	e.Body = base64.RawURLEncoding.EncodeToString(body)
	return e
}

// recipient is what is sealed for this node, by its card.
func (h *home) recipient() string {
	h.world.t.Helper()
	if h.sealsFor == "" {
		response, err := http.Get(h.door.url + wire.CardPath) //nolint:noctx // a test's
		must(h.world.t, err)
		defer func() { _ = response.Body.Close() }()
		compact, err := io.ReadAll(response.Body)
		must(h.world.t, err)
		var card wire.Card
		must(h.world.t, token.Peek(token.Card, string(compact), &card))
		h.sealsFor = card.Recipient
	}
	return h.sealsFor
}

// envelope is a valid one.
func (r *rogue) envelope(e wire.Envelope, content string) string {
	r.t.Helper()
	return r.sign(token.Envelope, r.sealed(e, string(node.MustCanonical(innerOf(e, content)))))
}

// reply is what the node answers.
type reply struct {
	status int
	body   string
	ack    wire.Ack // where it has signed one
}

func (r *rogue) post(compact string) (a reply) {
	r.t.Helper()
	response, err := r.client.Post(r.home.Info.AgentsURL+wire.InboxPath, "application/jose", strings.NewReader(compact)) //nolint:noctx // a test's
	if err != nil {
		r.t.Errorf("post: %v", err)
		return a
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	must(r.t, err)
	a.status, a.body = response.StatusCode, string(bytes.TrimSpace(body))
	if a.status == http.StatusOK {
		must(r.t, token.Peek(token.Ack, a.body, &a.ack))
	}
	return a
}

// send is one valid message, which has to be answered so.
func (r *rogue) send(e wire.Envelope, content, status string) reply {
	r.t.Helper()
	a := r.post(r.envelope(e, content))
	if a.status != http.StatusOK || a.ack.Status != status {
		r.t.Fatalf("%s %s: %d %s, %+v", e.Type, content, a.status, a.body, a.ack)
	}
	return a
}

func (r *rogue) request() string {
	return fmt.Sprintf(`{"recipient":%q,"inbox":%q}`, r.recipient, r.inbox)
}

// connect makes the rogue's agent a contact of the node's.
func (r *rogue) connect() {
	r.t.Helper()
	compact := r.envelope(r.claims(wire.ConnectionRequest), r.request())
	if a := r.post(compact); a.status != http.StatusAccepted {
		r.t.Fatalf("a stranger gets %d %s", a.status, a.body)
	}
	r.home.Step()
	if a := r.post(compact); a.ack.Status != wire.Applied {
		r.t.Fatalf("the request to connect: %d %s", a.status, a.body)
	}
	nodetest.Owner[socket.Connection](r.home.Node, socket.ConnectionAccept, socket.ByID{ID: r.home.with(r.address()).ID})
	r.home.Step()
	if c := r.home.with(r.address()); c.Status != coordination.ConnActive || r.posts != 1 {
		r.t.Fatalf("the connection is %s after %d posts", c.Status, r.posts)
	}
	r.home.Grant(r.home.agent, r.address(), "disclose.availability", policy.Allow)
}

// forTask are the claims of a task's message.
func (r *rogue) forTask(typ wire.Type, uid string, seq, ack int64) wire.Envelope {
	e := r.claims(typ)
	e.Task, e.Seq, e.Ack = uid, seq, ack
	e.Exp = r.home.world.clock.Now().Add(24 * time.Hour).Unix()
	return e
}

const fields = `{"date":"2026-12-05","partySize":2,"time":"19:30","timezone":"Europe/Berlin","venue":{"name":"Trattoria"}}`

func (r *rogue) createContent() string {
	return fmt.Sprintf(`{"taskType":"dinner.coordination","title":"Dinner","deadline":%q,"proposal":%s}`,
		r.home.world.clock.Now().Add(48*time.Hour).Format(time.RFC3339), "PROPOSAL")
}

func proposal(uid string, version int, author coordination.Role) string {
	return fmt.Sprintf(`{"version":%d,"fields":%s,"digest":%q}`, version, fields, coordination.Digest(uid, author, version, []byte(fields)))
}

// creates begins a task with a proposal of the rogue's.
func (r *rogue) creates() (uid string) {
	r.t.Helper()
	uid = node.RandomIDs{}.New()
	r.send(r.forTask(wire.TaskCreate, uid, 1, 0), strings.Replace(r.createContent(), "PROPOSAL", proposal(uid, 1, coordination.Initiator), 1), wire.Applied)
	return uid
}
