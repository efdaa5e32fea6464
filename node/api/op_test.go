package api

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"agentlink/node"
	"agentlink/node/api/schema"
	"agentlink/node/token"
	"agentlink/policy"
)

// This file calls operations as they are, without any server.

type fixed struct {
	now    time.Time
	taken  bool
	agent  policy.Agent
	undone int
}

func (f *fixed) Now() time.Time           { return f.now }
func (f *fixed) OnCommit(func())          {}
func (f *fixed) Context() context.Context { return context.Background() }
func (f *fixed) InTx(_ context.Context, run func(node.Tx) error) error {
	err := run(f)
	if err != nil {
		f.undone++
	}
	return err
}
func (f *fixed) View(_ context.Context, run func(node.Tx) error) error { return run(f) }
func (f *fixed) Check(compact string, _ time.Time) (token.AccessClaims, error) {
	if compact != "good" {
		return token.AccessClaims{}, errors.New("bad")
	}
	return token.AccessClaims{Sub: "a"}, nil
}
func (f *fixed) Agent(node.Tx, string) (policy.Agent, error) { return f.agent, nil }
func (f *fixed) ClaimIdempotency(_ node.Tx, _, _, hash string) (bool, string, []byte, error) {
	return !f.taken, hash, nil, nil
}
func (f *fixed) KeepAnswer(node.Tx, string, string, []byte) error { return nil }
func (f *fixed) DropIdempotency(node.Tx, string, string) error    { return nil }
func (f *fixed) Subscribe(string) (<-chan struct{}, func())       { return nil, func() {} }

func newDoor() (*Door, *fixed) {
	f := &fixed{now: time.Unix(0, 0), agent: policy.Agent{ID: "a", OwnerID: "o", Status: policy.Active}}
	return &Door{
		DB: f, Clock: f, Tokens: f, Agents: f, Answers: f, Wake: f, Schemas: schema.NewSet(nil),
		Log: slog.New(slog.DiscardHandler),
	}, f
}

type say struct {
	Text string `json:"text"`
}

func echo(_ node.Tx, by Caller, request say) (Reply[say], error) {
	return Reply[say]{Status: Created, Body: say{Text: by.Actor.OwnerID + " " + request.Text}}, nil
}

func TestWrite(t *testing.T) {
	t.Parallel()
	d, _ := newDoor()
	op := Write(d, echo)
	call := &Call{Body: []byte(`{"text":"hi"}`), Header: Header{Authorization: "Bearer good"}}
	if a := op(t.Context(), call); a.Status != Created || string(a.Body) != `{"text":"o hi"}` {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	for _, authorization := range []string{"", "good", "Basic good", "Bearer", "Bearer bad", "Bearer  good", " Bearer good"} {
		call.Header.Authorization = authorization
		if a := op(t.Context(), call); a.Status != 401 || a.Header["WWW-Authenticate"] != "Bearer" {
			t.Errorf("%q: %d %s", authorization, a.Status, a.Body)
		}
	}
}

// TestWriteWithAKeyInUse: while the first request with a key is not answered,
// the second changes nothing.
func TestWriteWithAKeyInUse(t *testing.T) {
	t.Parallel()
	d, f := newDoor()
	f.taken = true
	called := false
	op := Write(d, func(node.Tx, Caller, say) (Reply[say], error) {
		called = true
		return Reply[say]{}, nil
	})
	a := op(t.Context(), &Call{Body: []byte(`{"text":"hi"}`), Header: Header{Authorization: "Bearer good", IdempotencyKey: "k"}})
	if a.Status != 409 || called || f.undone != 1 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

// TestEndedContext is the node's being late, not a mistake of the node.
func TestEndedContext(t *testing.T) {
	t.Parallel()
	d, _ := newDoor()
	for _, cause := range []error{context.Canceled, context.DeadlineExceeded} {
		op := Write(d, func(node.Tx, Caller, say) (Reply[say], error) { return Reply[say]{}, cause })
		a := op(t.Context(), &Call{Body: []byte(`{"text":"hi"}`), Header: Header{Authorization: "Bearer good"}})
		if a.Status != 503 || !strings.Contains(string(a.Body), `"unavailable"`) {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	}
}

func TestRequestHash(t *testing.T) {
	t.Parallel()
	calls := []*Call{
		{Route: "POST /a", Path: "/a", Body: []byte("b")}, {Route: "POST /a", Path: "/ab", Body: nil}, {Route: "POST /a", Path: "/a", Body: []byte("bb")},
		{Route: "POST /a/a", Path: "", Body: []byte("b")}, {Route: "POST /", Path: "a/a", Body: []byte("b")}, {Route: "POST /a", Path: "/", Body: []byte("ab")},
	}
	seen := map[string]bool{}
	for _, call := range calls {
		hash := requestHash(call)
		if seen[hash] || hash != requestHash(call) {
			t.Errorf("%v", call)
		}
		seen[hash] = true
	}
}

func TestValidKey(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]bool{
		"k": true, "8e03978e-40d5-43dd-bc93-6894a57f9324": true, strings.Repeat("k", 255): true,
		strings.Repeat("k", 256): false, "a b": false, "a\tb": false, "a\x00": false, "ä": false, "a\n": false,
	} {
		if validKey(key) != want {
			t.Errorf("%q: %v", key, !want)
		}
	}
}

// TestMissingIsForeign: a service's own words for what is not there do not tell
// it from what is another agent's.
func TestMissingIsForeign(t *testing.T) {
	t.Parallel()
	d, _ := newDoor()
	call := &Call{Header: Header{Authorization: "Bearer good"}}
	var bodies []string
	for _, missing := range []error{
		node.Errorf(node.NotFound, "There is no row."),
		&node.Error{Code: node.NotFound, Message: "It is Bob's.", Details: map[string]any{"agent": "bob"}},
	} {
		a := Read(d, func(node.Tx, Caller, struct{}) (say, error) { return say{}, missing })(t.Context(), call)
		if a.Status != 404 {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		bodies = append(bodies, string(a.Body))
	}
	if bodies[0] != bodies[1] {
		t.Errorf("%q", bodies)
	}
}
