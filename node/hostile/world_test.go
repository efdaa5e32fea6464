package hostile

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"agentlink/actions"
	"agentlink/actions/executor/reservation"
	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/api/socket"
	"agentlink/node/config"
	"agentlink/node/nodetest"
	"agentlink/policy"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// world is some real nodes, each behind a door, whose background work is done
// step by step: nothing happens in them but what a test does, at the time that
// it says.
type world struct {
	t     testing.TB
	clock *node.FakeClock
	homes []*home
	// patience is how long a node waits for an answer.
	patience time.Duration
}

// home is one of them, with its agent.
type home struct {
	*nodetest.Node
	world    *world
	door     *door
	clock    *watch
	agent    *nodetest.Agent
	looker   looker
	rooms    *rooms
	failures int       // of its background work
	sealsFor string    // who reads what is sealed for it
	token    time.Time // when the agent's was got
}

// newWorld makes nodes whose agents are ana, ben, cleo and dan.
func newWorld(t testing.TB, count int) *world {
	t.Helper()
	w := emptyWorld(t)
	for _, handle := range []string{"ana", "ben", "cleo", "dan"}[:count] {
		w.add(handle, newDoor(t))
	}
	return w
}

func emptyWorld(t testing.TB) *world {
	return &world{t: t, clock: node.NewFakeClock(noon), patience: 15 * time.Second}
}

func (w *world) add(handle string, d *door) *home {
	w.t.Helper()
	h := &home{world: w, door: d, clock: &watch{right: w.clock}, rooms: &rooms{booked: map[string]int{}}}
	d.clock = w.clock.Now
	h.Node = nodetest.Start(w.t, nodetest.Options{
		Clock: h.clock, Still: true, PeerTimeout: w.patience, Executors: []actions.Executor{h.rooms},
		Settings: map[string]string{config.PublicURLName: d.url},
	})
	d.behind(h.Info.AgentsURL)
	h.agent = h.CreateAgent(handle, policy.Autonomous)
	h.looker = newLooker(w.t, filepath.Join(h.DataDir(), "node.db"))
	w.homes = append(w.homes, h)
	return h
}

// rooms is the real executor of reservations, which counts what it did.
type rooms struct {
	reservation.Executor
	mu     sync.Mutex
	booked map[string]int // by key
}

// Execute implements actions.Executor.
func (r *rooms) Execute(ctx context.Context, key string, parameters json.RawMessage) (actions.Result, error) {
	r.mu.Lock()
	r.booked[key]++
	r.mu.Unlock()
	return r.Executor.Execute(ctx, key, parameters)
}

func (r *rooms) count() (runs int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, times := range r.booked {
		runs += times
	}
	return runs
}

// post is one request of the agent's, with a token that is good now.
func (h *home) post(path string, body any) nodetest.Answer {
	h.world.t.Helper()
	if now := h.clock.Now(); h.token.IsZero() || now.Sub(h.token).Abs() > 5*time.Minute {
		h.agent.Renew()
		h.token = now
	}
	return h.agent.Post("/v1/agent"+path, body)
}

// settle lets all nodes work until nothing that is due soon waits.
func (w *world) settle() {
	w.t.Helper()
	for range 5 {
		for _, h := range w.homes {
			h.Step()
		}
		w.clock.Advance(2 * time.Second)
	}
}

// connect makes the agents of two nodes contacts, each of which may tell the
// other when its owner is free.
func (w *world) connect(from, to *home) {
	w.t.Helper()
	nodetest.Owner[socket.Sent](from.Node, socket.ConnectionRequest, socket.RequestConnection{Agent: from.agent.ID, Address: to.agent.Address})
	w.settle()
	nodetest.Owner[socket.Connection](to.Node, socket.ConnectionAccept, socket.ByID{ID: to.with(from.agent.Address).ID})
	w.settle()
	for _, pair := range [][2]*home{{from, to}, {to, from}} {
		if c := pair[0].with(pair[1].agent.Address); c.Status != coordination.ConnActive {
			w.t.Fatalf("%s: the connection is %q", pair[0].agent.Address, c.Status)
		}
		pair[0].Grant(pair[0].agent, pair[1].agent.Address, "disclose.availability", policy.Allow)
	}
}

// with is the newest connection with a contact.
func (h *home) with(contact string) (c socket.Connection) {
	h.world.t.Helper()
	list := nodetest.Owner[[]socket.Connection](h.Node, socket.ConnectionList, socket.ListOf{})
	if i := slices.IndexFunc(list, func(c socket.Connection) bool { return c.Contact == contact }); i >= 0 {
		return list[i]
	}
	return socket.Connection{}
}

func dinner(time string) map[string]any {
	return map[string]any{
		"date": "2026-12-05", "time": time, "timezone": "Europe/Berlin", "partySize": 2, "venue": map[string]any{"name": "Trattoria"},
	}
}

// starts begins a task with the first proposal.
func (h *home) starts(contact string) (uid string) {
	h.world.t.Helper()
	return h.post("/tasks", map[string]any{
		"connectionId": h.with(contact).ID, "type": "dinner.coordination", "title": "Dinner", "proposal": dinner("19:30"), "expiresInHours": 72,
	}).Want(http.StatusCreated).Text("taskUid")
}

func (h *home) task(uid string) socket.Task {
	h.world.t.Helper()
	return nodetest.Owner[socket.Task](h.Node, socket.TaskShow, socket.TaskRef{UID: uid})
}

// next moves the clock to when a node has something to send; false where it has
// nothing.
func (h *home) next() bool {
	h.world.t.Helper()
	at, waits := h.NextDelivery()
	if waits {
		h.world.clock.Advance(max(0, at.Sub(h.clock.Now())))
	}
	return waits
}

// waits says whether the node has something to send.
func (h *home) waits() bool {
	_, waits := h.NextDelivery()
	return waits
}

// percentile of what was measured.
func percentile(all []time.Duration, p int) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, len(sorted)*p/100)]
}

// StepBravely is Step for a node whose background work fails somewhere: a loop
// goes on after a pause, and so does this.
func (h *home) StepBravely() {
	h.world.t.Helper()
	for failed := 0; failed < 3; {
		if err := h.TryStep(); err == nil {
			return
		}
		failed++
		h.failures++
	}
}
