package api

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"agentlink/node"
)

// requestIDHeader carries the request's id from Front to the operation. Front
// sets it and so drops whatever a client sent.
const requestIDHeader = "X-Agentlink-Request"

// single are the headers that may come once: a proxy and the node could
// otherwise read different ones.
var single = []string{
	"Authorization", "Content-Type", "Content-Length", "Idempotency-Key", "If-None-Match", "Last-Event-ID",
}

// Front stands before every door of the agents: it gives the request its id,
// bounds and reads the body, and refuses what the parsers behind it could read
// in two ways. Refusals are answered by fail.
func Front(ids node.IDs, fail func(*Call, error) Answer, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set(requestIDHeader, ids.New())
		if admitted(w, r, fail) {
			next.ServeHTTP(w, r)
		}
	})
}

// admitted reads the body, or answers the request.
func admitted(w http.ResponseWriter, r *http.Request, fail func(*Call, error) Answer) bool {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	body, err := check(w, r)
	if err != nil {
		call := &Call{Route: r.Method + " " + r.URL.Path, RequestID: r.Header.Get(requestIDHeader)}
		fail(call, err).send(w)
		return false
	}
	r.Body, r.ContentLength = http.NoBody, int64(len(body))
	if len(body) > 0 {
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	return true
}

func check(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if Encoded(r) {
		return nil, node.BadFields(node.Field{Field: "Content-Encoding", Problem: "is not taken: send the body as it is"})
	}
	for _, name := range single {
		if len(r.Header.Values(name)) > 1 {
			return nil, node.BadFields(node.Field{Field: name, Problem: "appears twice"})
		}
	}
	if !plainPath(r.URL) {
		return nil, ErrNoRoute()
	}
	if _, err := url.ParseQuery(r.URL.RawQuery); err != nil {
		return nil, node.BadFields(node.Field{Field: "(query)", Problem: "cannot be read"})
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, node.MaxJSONBytes))
	return body, bodyProblem(err)
}

// Encoded says whether a request calls its body encoded. An empty line counts
// too: behind it another may stand, which some parser reads.
func Encoded(r *http.Request) bool { return len(r.Header.Values("Content-Encoding")) > 0 }

func bodyProblem(err error) error {
	switch {
	case err == nil:
		return nil
	case isTooLarge(err):
		return node.Errorf(node.TooLarge, "The request is larger than 64 KiB.")
	}
	return &node.Error{Code: node.BadRequest, Message: "The request's body did not arrive.", Err: err}
}

// plainPath says whether the path reads the same to every router: no escapes, no
// empty or dotted segments.
func plainPath(u *url.URL) bool {
	if !strings.HasPrefix(u.Path, "/") || u.EscapedPath() != u.Path {
		return false
	}
	for _, segment := range strings.Split(strings.Trim(u.Path, "/"), "/") {
		if segment == "." || segment == ".." || (segment == "" && u.Path != "/") {
			return false
		}
	}
	return !strings.Contains(u.Path, "//")
}

// ErrNoRoute answers a path that leads nowhere.
func ErrNoRoute() *node.Error {
	return node.Errorf(node.NotFound, "There is nothing at this address. See /openapi.json for what there is.")
}

func isTooLarge(err error) bool {
	var tooLarge *http.MaxBytesError
	return errors.As(err, &tooLarge)
}
