package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/outbox"
	"agentlink/node/token"
)

// The part of coordination.StrangerStore that the worker uses.

func (m *memory) ClaimStranger(tx node.Tx, next time.Time) (coordination.Stranger, bool, error) {
	waiting := slices.SortedFunc(maps.Values(m.state.strangers), func(a, b coordination.Stranger) int {
		return cmp.Or(a.NextAt.Compare(b.NextAt), cmp.Compare(a.ID, b.ID))
	})
	for _, s := range waiting {
		if !s.Settled && !s.NextAt.After(tx.Now()) {
			s.NextAt, s.Attempts = next, s.Attempts+1
			m.state.strangers[s.ID] = s
			return s, true, nil
		}
	}
	return coordination.Stranger{}, false, nil
}

func (m *memory) RescheduleStranger(_ node.Tx, id string, next time.Time, attempts int) error {
	s := m.state.strangers[id]
	s.NextAt, s.Attempts = next, attempts
	m.state.strangers[id] = s
	return nil
}

func (m *memory) DeleteStranger(_ node.Tx, id string) error {
	delete(m.state.strangers, id)
	return nil
}

func (m *memory) DeleteExpiredStrangers(tx node.Tx) error {
	maps.DeleteFunc(m.state.strangers, func(_ string, s coordination.Stranger) bool { return !s.ExpiresAt.After(tx.Now()) })
	return nil
}

type strangerStore struct {
	coordination.StrangerStore // what only the inbox calls: nil, and so fatal
	*memory
}

func (s strangerStore) ClaimStranger(tx node.Tx, next time.Time) (coordination.Stranger, bool, error) {
	return s.memory.ClaimStranger(tx, next)
}
func (s strangerStore) RescheduleStranger(tx node.Tx, id string, next time.Time, attempts int) error {
	return s.memory.RescheduleStranger(tx, id, next, attempts)
}
func (s strangerStore) DeleteStranger(tx node.Tx, id string) error {
	return s.memory.DeleteStranger(tx, id)
}
func (s strangerStore) DeleteExpiredStrangers(tx node.Tx) error {
	return s.memory.DeleteExpiredStrangers(tx)
}

// guests is a worker for strangers with what it meets.
type guests struct {
	clock      *node.FakeClock
	db         *memory
	worker     *Strangers
	party      party
	lookedUp   map[string]int
	reachable  bool
	introduced []string
}

func newGuests(t *testing.T) *guests {
	clock := node.NewFakeClock(start)
	g := &guests{clock: clock, db: newMemory(clock), party: newParty(t), lookedUp: map[string]int{}, reachable: true}
	g.worker = NewStrangers(StrangersConfig{
		DB: g.db, Store: strangerStore{memory: g.db}, Directory: g, Inbox: g, Jitter: func() float64 { return 0 },
	})
	return g
}

func (g *guests) Lookup(_ context.Context, host, _ string) (coordination.Peer, error) {
	g.lookedUp[host]++
	if !g.reachable {
		return coordination.Peer{}, errors.New("unreachable")
	}
	return g.party.peer(host), nil
}

func (g *guests) Introduce(_ context.Context, s coordination.Stranger, _ coordination.Peer) error {
	g.introduced = append(g.introduced, s.ID)
	delete(g.db.state.strangers, s.ID)
	return nil
}

func (g *guests) arrive(t *testing.T, host, ip string) string {
	id := node.RandomIDs{}.New()
	g.db.state.strangers[id] = coordination.Stranger{
		ID: id, Host: "key of " + host, IP: ip, NextAt: g.clock.Now(), ExpiresAt: g.clock.Now().Add(coordination.StrangerLife),
		Envelope: g.party.sign(t, token.Envelope, wire.Envelope{Iss: "eve@" + host, Aud: "ana@" + ourHost}),
	}
	return id
}

func (g *guests) drain(t *testing.T) {
	t.Helper()
	for {
		more, err := g.worker.Step(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return
		}
	}
}

func TestAStrangerIsIntroduced(t *testing.T) {
	t.Parallel()
	g := newGuests(t)
	id := g.arrive(t, "peer.example", "192.0.2.1")
	g.drain(t)
	if len(g.introduced) != 1 || g.introduced[0] != id || g.lookedUp["peer.example"] != 1 {
		t.Errorf("introduced %v, looked up %v", g.introduced, g.lookedUp)
	}
}

func TestLookupsHaveBudgets(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		host func(i int) string
		ip   func(i int) string
		want int // look-ups in the first hour
	}{
		{"one host from many addresses", func(int) string { return "victim.example" }, func(i int) string { return fmt.Sprint(i) }, lookupsPerHost},
		{"one address, many hosts", func(i int) string { return fmt.Sprintf("h%d.example", i) }, func(int) string { return "192.0.2.1" }, lookupsPerIP},
		{"many of both", func(i int) string { return fmt.Sprintf("h%d.example", i) }, func(i int) string { return fmt.Sprint(i) }, 100},
		{"this node itself", func(int) string { return ourHost }, func(int) string { return "" }, 100},
	} {
		g := newGuests(t)
		for i := range 100 {
			g.arrive(t, tt.host(i), tt.ip(i))
		}
		g.drain(t)
		if len(g.introduced) != tt.want {
			t.Errorf("%s: %d look-ups at once, want %d", tt.name, len(g.introduced), tt.want)
		}
		g.clock.Advance(lookupWindow)
		g.drain(t)
		if want := min(100, 2*tt.want); len(g.introduced) != want {
			t.Errorf("%s: %d look-ups in two hours, want %d", tt.name, len(g.introduced), want)
		}
	}
}

func TestACardThatCannotBeReadIsTriedSomeTimes(t *testing.T) {
	t.Parallel()
	g := newGuests(t)
	g.reachable = false
	id := g.arrive(t, "peer.example", "192.0.2.1")
	for range strangerTries + 3 {
		g.drain(t)
		g.clock.Advance(outbox.MaxPause)
	}
	if _, there := g.db.state.strangers[id]; there || g.lookedUp["peer.example"] != strangerTries || len(g.introduced) != 0 {
		t.Errorf("there %v, looked up %v, introduced %v", there, g.lookedUp, g.introduced)
	}
}

func TestWhatIsOverIsForgotten(t *testing.T) {
	t.Parallel()
	g := newGuests(t)
	g.arrive(t, "peer.example", "192.0.2.1")
	g.clock.Advance(coordination.StrangerLife)
	g.drain(t)
	if len(g.db.state.strangers) != 0 || len(g.lookedUp) != 0 {
		t.Errorf("%d rows, looked up %v", len(g.db.state.strangers), g.lookedUp)
	}
}
