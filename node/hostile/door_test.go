package hostile

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/api/peer"
	"agentlink/node/token"
)

// door is a node's listener, which hands everything on to its inbox: until it is
// told of a fault, which then answers in its place.
type door struct {
	server *http.Server
	url    string
	host   string
	node   atomic.Pointer[string] // the address of the node's own listener
	fault  atomic.Pointer[fault]
	clock  func() time.Time
	// earlier is an answer of the node to an earlier envelope.
	earlier    atomic.Value
	redirected atomic.Int32
	elsewhere  atomic.Int32 // requests to where no node asks anything

	mu    sync.Mutex
	posts []post
}

// post is one envelope that came, with what the node behind the door said of it.
type post struct {
	at       time.Time
	envelope []byte
	status   int
	answer   []byte
}

func (p post) claims() (e wire.Envelope) {
	_ = token.Peek(token.Envelope, string(p.envelope), &e)
	return e
}

func (p post) ack() (ack wire.Ack) {
	_ = token.Peek(token.Ack, string(p.answer), &ack)
	return ack
}

// fault is a way in which a peer fails to answer.
type fault struct {
	name string
	// arrives says that the node behind the door takes the envelope all the same,
	// and only its answer is lost.
	arrives bool
	// answer writes what is answered instead of the truth.
	answer func(w http.ResponseWriter, r *http.Request, truth post)
	// tls is what is wrong with the handshake: "forged" certificate or "broken".
	tls string
	// only are the envelopes that it fails on; all where nil.
	only func(wire.Envelope) bool
	// asks is the pause that the answer asks for.
	asks time.Duration
}

func newDoor(t testing.TB) *door { return openDoor(t, "http") }

// openDoor makes a door whose node says that it is reached by http or https. The
// door takes both, since cards of this machine are asked for by http.
func openDoor(t testing.TB, scheme string) *door {
	t.Helper()
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	d := &door{clock: node.SystemClock{}.Now, host: plain.Addr().String()}
	d.url = scheme + "://" + d.host
	l := newEitherWay(plain, &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: d.shake})
	d.server = &http.Server{Handler: d, ErrorLog: log.New(io.Discard, "", 0)}
	peer.Harden(d.server)
	go func() { _ = d.server.Serve(l) }()
	t.Cleanup(func() { _ = d.server.Close() })
	return d
}

// shake chooses the certificate, and breaks the handshake where it is told to.
func (d *door) shake(*tls.ClientHelloInfo) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{trusted}}
	f := d.fault.Load()
	if f == nil || f.tls == "" {
		return config, nil
	}
	d.note(post{})
	switch f.tls {
	case "forged":
		config.Certificates = []tls.Certificate{newCertificate()}
	case "broken":
		return nil, errors.New("no handshake")
	}
	return config, nil
}

// behind says where the node is to which the door leads.
func (d *door) behind(node string) { d.node.Store(&node) }

func (d *door) note(p post) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p.at = d.clock()
	d.posts = append(d.posts, p)
}

// seen are the envelopes that came so far.
func (d *door) seen() []post {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]post(nil), d.posts...)
}

// ServeHTTP implements http.Handler.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 16*wire.MaxEnvelope))
	if err != nil {
		return
	}
	if r.URL.Path == "/elsewhere" {
		d.elsewhere.Add(1)
	}
	f, p := d.fault.Load(), post{envelope: body}
	if f != nil && f.only != nil && !f.only(p.claims()) {
		f = nil
	}
	if r.URL.Path != wire.InboxPath || f == nil || f.arrives {
		p = d.pass(w, r, body)
	}
	if r.URL.Path == wire.InboxPath {
		d.note(p)
		if f != nil {
			clear(w.Header())
			f.answer(w, r, p)
			return
		}
	}
	w.WriteHeader(p.status)
	_, _ = w.Write(p.answer)
}

// pass asks the node behind the door.
func (d *door) pass(w http.ResponseWriter, r *http.Request, body []byte) post {
	p := post{envelope: body, status: http.StatusBadGateway}
	again, err := http.NewRequestWithContext(context.WithoutCancel(r.Context()), r.Method, *d.node.Load()+r.URL.Path, bytes.NewReader(body))
	if err != nil {
		return p
	}
	again.Header = r.Header.Clone()
	response, err := http.DefaultClient.Do(again)
	if err != nil {
		return p
	}
	defer func() { _ = response.Body.Close() }()
	for name, values := range response.Header {
		w.Header()[name] = values
	}
	p.status = response.StatusCode
	p.answer, _ = io.ReadAll(response.Body)
	return p
}
