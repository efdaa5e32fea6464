package approvals_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"agentlink/approvals"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/store"
	"agentlink/node/store/storetest"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

var (
	owner = node.Actor{Kind: node.ActorOwner, OwnerID: "owner"}
	agent = node.Actor{Kind: node.ActorAgent, OwnerID: "owner", AgentID: "agent"}
)

// world is a service on a fresh store, with resolvers that note what they hear.
type world struct {
	*approvals.Service
	t     *testing.T
	store *store.Store
	clock *node.FakeClock
	heard *resolver
}

// resolver stands for the packages that resolve approvals.
type resolver struct {
	mu     sync.Mutex
	calls  []string
	effect approvals.Effect
	fails  map[string]error // by call
}

func (r *resolver) hear(call string, a approvals.Approval) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, call+" "+string(a.Kind)+" "+string(a.Status))
	return r.fails[call]
}

func (r *resolver) Approved(_ node.Tx, _ node.Actor, a approvals.Approval, _ approvals.Decision) (approvals.Effect, error) {
	return r.effect, r.hear("approved", a)
}

func (r *resolver) Rejected(_ node.Tx, _ node.Actor, a approvals.Approval) error {
	return r.hear("rejected", a)
}

func (r *resolver) Expired(_ node.Tx, a approvals.Approval) error { return r.hear("expired", a) }

func newWorld(t *testing.T, change ...func(*approvals.Config)) *world {
	t.Helper()
	database := storetest.Memory(t)
	clock := node.NewFakeClock(noon)
	database.Clock = clock
	w := on(t, database.Open(t), change...)
	w.clock = clock
	return w
}

func on(t *testing.T, s *store.Store, change ...func(*approvals.Config)) *world {
	t.Helper()
	config := approvals.Config{
		Store: s, DB: s, IDs: node.RandomIDs{}, Audit: audit.New(s, bytes.Repeat([]byte{3}, 32)),
		HashKey: bytes.Repeat([]byte{1}, 32), MACKey: bytes.Repeat([]byte{2}, 32), Epoch: 1,
	}
	for _, f := range change {
		f(&config)
	}
	w := &world{Service: approvals.New(config), t: t, store: s, heard: &resolver{fails: map[string]error{}}}
	for _, kind := range approvals.Kinds {
		w.Handle(kind, w.heard)
	}
	return w
}

// after is the same node restarted, as after a restore or with other settings.
func (w *world) after(change func(*approvals.Config)) *world {
	next := on(w.t, w.store, change)
	next.clock = w.clock
	return next
}

func (w *world) try(f func(tx node.Tx) error) error { return w.store.InTx(w.t.Context(), f) }

func (w *world) do(f func(tx node.Tx) error) {
	w.t.Helper()
	if err := w.try(f); err != nil {
		w.t.Fatal(err)
	}
}

func request(kind approvals.Kind) approvals.Request {
	r := approvals.Request{
		AgentID: "agent", OwnerID: "owner", Kind: kind, ConnectionID: "connection", Contact: "bob@b.example",
		TaskUID: "task", Held: map[string]string{"x": "grant_asks"},
	}
	switch kind {
	case approvals.Message:
		r.Action, r.Subject, r.Parameters = "task.propose", "message", json.RawMessage(`{"to":"bob@b.example","type":"task.propose","content":{"version":1}}`)
	case approvals.Connection:
		r.Action, r.Subject, r.Parameters = "connection.request", "connection", json.RawMessage(`{"address":"bob@b.example","fingerprint":"f","note":"Hello"}`)
	case approvals.Action:
		r.Action, r.AcceptedDigest, r.Parameters = "reservation.book", "digest", booking
	}
	return r
}

var booking = json.RawMessage(`{"venue":"Nonna <&> Söhne","date":"2026-12-04","time":"19:30","partySize":4,"taskUid":"task"}`)

func (w *world) ask(r approvals.Request) approvals.Approval {
	w.t.Helper()
	a, err := w.tryAsk(r)
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

func (w *world) tryAsk(r approvals.Request) (a approvals.Approval, err error) {
	err = w.try(func(tx node.Tx) (err error) {
		a, err = w.Request(tx, agent, r)
		return err
	})
	return a, err
}

func (w *world) decide(d approvals.Decision) (effect approvals.Effect, err error) {
	err = w.try(func(tx node.Tx) (err error) {
		effect, err = w.Decide(tx, owner, d)
		return err
	})
	return effect, err
}

func (w *world) use(id string, parameters json.RawMessage) (a approvals.Approval, err error) {
	err = w.try(func(tx node.Tx) (err error) {
		a, err = w.Use(tx, agent, id, "reservation.book", parameters)
		return err
	})
	return a, err
}

func (w *world) approval(id string) (a approvals.Approval) {
	w.t.Helper()
	w.do(func(tx node.Tx) (err error) {
		a, err = w.Approval(tx, "", id)
		return err
	})
	return a
}

// events lists the types of the audit log's rows.
func (w *world) events() (types []audit.Type) {
	w.t.Helper()
	w.do(func(tx node.Tx) error {
		rows, err := w.store.AuditRows(tx, audit.Filter{Limit: 1000})
		for _, row := range rows {
			types = append(types, row.Type)
		}
		return err
	})
	return types
}

// in brings an approval of a kind into a status, and says whether it can be there.
func (w *world) in(kind approvals.Kind, status approvals.Status) (approvals.Approval, bool) {
	w.t.Helper()
	a := w.ask(request(kind))
	yes := approvals.Decision{ID: a.ID, Hash: a.Hash, Approve: true}
	switch {
	case status == approvals.Cancelled, status == approvals.Approved && kind != approvals.Action:
		return a, false
	case status == approvals.Rejected:
		w.must(w.decide(approvals.Decision{ID: a.ID, Hash: a.Hash}))
	case status == approvals.Expired:
		w.clock.Advance(approvals.DefaultTTL)
		if _, err := w.ExpireStep(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
	case status == approvals.Approved:
		w.must(w.decide(yes))
	case status == approvals.Consumed:
		w.must(w.decide(yes))
		if kind == approvals.Action {
			if _, err := w.use(a.ID, booking); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	w.heard.calls = nil
	return w.approval(a.ID), true
}

func (w *world) must(_ approvals.Effect, err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// problem writes an error as code and reason: "conflict approval_used"; "" for none.
func problem(err error) string {
	if err == nil {
		return ""
	}
	if _, ok := node.AsError(err); !ok {
		return "untyped: " + err.Error()
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s", node.CodeOf(err), node.ReasonOf(err)))
}

var errResolver = errors.New("the resolver failed")
