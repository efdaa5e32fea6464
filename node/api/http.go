package api

import (
	"io"
	"net"
	"net/http"
	"regexp"
	"time"

	"agentlink/node"
)

// HTTP mounts an operation on net/http. Requests that wait are served this way:
// net/http tells at once when a client has left.
func HTTP(op Op) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		holdOpen(w, MaxWait)
		op(r.Context(), callOf(r)).send(w)
	})
}

// holdOpen lets an answer take longer than the server's time-outs allow. The
// deadline for reading has to go too: when it passes, the server ends the
// context of a request that has long been read.
func holdOpen(w http.ResponseWriter, wait time.Duration) {
	control := http.NewResponseController(w)
	// A writer without deadlines, as in tests, has none to lift.
	_ = control.SetReadDeadline(time.Time{})
	_ = control.SetWriteDeadline(node.SystemClock{}.Now().Add(wait + WriteTimeout))
}

func (a Answer) send(w http.ResponseWriter) {
	for name, value := range a.Header {
		w.Header().Set(name, value)
	}
	if len(a.Body) > 0 {
		w.Header().Set("Content-Type", jsonType)
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // the client has left; there is nobody to tell
}

const jsonType = "application/json; charset=utf-8"

var patternName = regexp.MustCompile(`\{([A-Za-z]+)\}`)

// callOf reads what Front let through: a body within limits, a query that
// parses, one value for each header.
func callOf(r *http.Request) *Call {
	call := &Call{
		Route: r.Pattern, Path: r.URL.EscapedPath(), Query: r.URL.Query(), Params: map[string]string{},
		Remote: remoteIP(r.RemoteAddr), RequestID: r.Header.Get(requestIDHeader),
		Header: Header{
			Authorization: r.Header.Get("Authorization"), ContentType: r.Header.Get("Content-Type"),
			IdempotencyKey: r.Header.Get("Idempotency-Key"), IfNoneMatch: r.Header.Get("If-None-Match"),
			LastEventID: r.Header.Get("Last-Event-ID"),
		},
	}
	for _, match := range patternName.FindAllStringSubmatch(r.Pattern, -1) {
		call.Params[match[1]] = r.PathValue(match[1])
	}
	if r.Body != http.NoBody {
		call.Body, _ = io.ReadAll(r.Body) // Front holds all of it in memory
	}
	return call
}

func remoteIP(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}
