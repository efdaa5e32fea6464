package peer

import (
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/api"
	"agentlink/node/api/problem"
)

// Time-outs of a connection from outside.
const (
	headerTimeout = 5 * time.Second
	bodyTimeout   = 10 * time.Second
	writeTimeout  = 30 * time.Second
	idleTimeout   = time.Minute
)

// Harden sets the time-outs and limits of a server that strangers can reach.
func Harden(server *http.Server) {
	server.ReadHeaderTimeout = headerTimeout
	server.ReadTimeout = headerTimeout + bodyTimeout
	server.WriteTimeout = writeTimeout
	server.IdleTimeout = idleTimeout
	server.MaxHeaderBytes = 8 << 10
}

// Handler serves wire.InboxPath, wire.WitnessPath and wire.CardPath.
func (i *Inbox) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+wire.InboxPath, i.post)
	mux.HandleFunc("POST "+wire.WitnessPath, i.postWitness)
	mux.HandleFunc("GET "+wire.CardPath, i.serveCard)
	return mux
}

func (i *Inbox) post(w http.ResponseWriter, r *http.Request) {
	i.take(w, r, wire.MaxEnvelope, func(envelope []byte, ip string) ([]byte, error) {
		return i.receive(r.Context(), envelope, ip, r.Header.Get(wire.HeadHeader) == wire.HeadWanted)
	})
}

// take reads what was posted and answers it, in one of the slots.
func (i *Inbox) take(w http.ResponseWriter, r *http.Request, limit int64, answer func(body []byte, ip string) ([]byte, error)) {
	body, err := readBody(w, r, limit)
	if err != nil {
		refuse(w, err)
		return
	}
	ip := i.ClientIP(r)
	if !i.slots.take(ip) {
		refuse(w, errBusy)
		return
	}
	defer i.slots.free(ip)
	status, text := answered(answer(body, ipKey(ip)))
	write(w, status, text)
}

var (
	errEncoded = node.Errorf(node.BadRequest, "Content-Encoding is not taken here. Send the envelope as it is.")
	errCut     = node.Errorf(node.BadRequest, "The envelope did not arrive whole.")
	errBusy    = &node.Error{Code: node.Unavailable, Message: "The node is busy. Send it again in a moment.",
		Details: map[string]any{problem.RetryAfterDetail: 1}}
)

// readBody takes an envelope's bytes. The socket's deadline is the machine's
// time, whatever clock the node goes by.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if api.Encoded(r) {
		return nil, errEncoded
	}
	if r.ContentLength > limit {
		return nil, errTooLarge
	}
	_ = http.NewResponseController(w).SetReadDeadline(node.SystemClock{}.Now().Add(bodyTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, errTooLarge
	}
	if err != nil {
		return nil, errCut
	}
	return body, nil
}

func refuse(w http.ResponseWriter, err error) {
	if pause := problem.RetryAfter(err); pause != "" {
		w.Header().Set("Retry-After", pause)
	}
	write(w, problem.Status(node.CodeOf(err)), problem.Of(err, "").JSON())
}

func write(w http.ResponseWriter, status int, answer []byte) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	switch {
	case status == http.StatusOK:
		h.Set("Content-Type", "application/jose")
	case len(answer) > 0:
		h.Set("Content-Type", "application/json")
	}
	if status == http.StatusTooManyRequests && h.Get("Retry-After") == "" {
		h.Set("Retry-After", problem.RetryAfter(errSlowDown))
	}
	w.WriteHeader(status)
	_, _ = w.Write(answer)
}

// remoteIP is the other end of a connection.
func remoteIP(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// ipKey is what an origin is counted by.
func ipKey(text string) string { return api.Network(text) }

// slots bound how many envelopes are worked on at once, in all and of one
// origin, so that nobody takes the whole node.
type slots struct {
	mu   *sync.Mutex
	all  int
	byIP map[string]int
}

const (
	maxSlots      = 64
	maxSlotsPerIP = 16
)

func newSlots() slots { return slots{mu: &sync.Mutex{}, byIP: map[string]int{}} }

func (s *slots) take(ip string) bool {
	ip = ipKey(ip)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all >= maxSlots || s.byIP[ip] >= maxSlotsPerIP {
		return false
	}
	s.all++
	s.byIP[ip]++
	return true
}

func (s *slots) free(ip string) {
	ip = ipKey(ip)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.byIP[ip]--; s.byIP[ip] == 0 {
		delete(s.byIP, ip)
	}
}
