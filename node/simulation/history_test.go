package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"agentlink/coordination"
	"agentlink/node"
	"agentlink/policy"
)

// history is one seed's course of events between two agents.
type history struct {
	t       testing.TB
	seed    uint64
	rng     *rand.Rand
	clock   *node.FakeClock
	network *network
	sides   [2]*side
	trace   []string
	repeats map[string]bool // tasks whose owner approved a run beside the rules
	lasting bool            // the connection is never revoked
	crowded bool            // others change the same rows meanwhile
	met     bool            // the agents are contacts already
	broken  string          // the invariant that failed
	last    copies          // after the last step
	now     copies          // after this one
}

func (w *world) history(t testing.TB, seed uint64) *history {
	rng := rand.New(rand.NewPCG(seed, 20261201))
	h := &history{t: t, seed: seed, rng: rng, clock: w.clock, repeats: map[string]bool{}, met: !w.met.IsZero()}
	h.network = &network{rng: rng, sides: map[string]*side{}}
	for i, d := range w.disks {
		s := &side{disk: d, name: [2]string{"ana", "ben"}[i], rng: rng, runs: map[string]json.RawMessage{}, fault: w.fault}
		s.ids = seededIDs{rng, w.clock}
		s.clock.off = 0
		h.sides[i] = s
		h.network.sides[d.host] = s
	}
	for _, s := range h.sides {
		s.start(t, h.network)
		if w.met.IsZero() {
			s.newAgent(t, fmt.Sprintf("%s-%d", s.name, seed), h.mode())
		} else {
			s.takeAgent(t, h.mode())
		}
	}
	return h
}

func (h *history) mode() policy.Mode {
	if h.eager() && h.rng.IntN(2) == 0 {
		return policy.Autonomous
	}
	return policy.Modes[h.rng.IntN(len(policy.Modes))]
}

func (h *history) log(format string, args ...any) {
	h.trace = append(h.trace, fmt.Sprintf(format, args...))
}

// fail ends the history: its steps, and the command that runs them again.
func (h *history) fail(format string, args ...any) {
	h.t.Helper()
	trace := h.trace
	if len(trace) > 400 {
		trace = trace[len(trace)-400:]
	}
	h.t.Fatalf("seed %d: %s\n%s\nagain: AGENTLINK_SIM_SEED=%d go test -count=1 -run '^TestSimulation$' ./node/simulation",
		h.seed, fmt.Sprintf(format, args...), strings.Join(trace, "\n"), h.seed)
}

// breaks fails with the name of the invariant that does not hold.
func (h *history) breaks(i invariant, when, problem string) {
	h.t.Helper()
	h.broken = i.id
	h.fail("%s, %s, does not hold %s: %s", i.id, i.name, when, problem)
}

func (h *history) other(s *side) *side {
	if s == h.sides[0] {
		return h.sides[1]
	}
	return h.sides[0]
}

// do runs something as the process of a side; it may die of it.
func (h *history) do(s *side, what string, f func(ctx context.Context) error) {
	h.t.Helper()
	var err error
	alive := s.survives(func() { err = f(context.Background()) })
	switch {
	case !alive:
		h.log("%s: %s: died %s", s.name, what, s.db.died)
		happened("a process dies " + s.db.died)
	case err != nil:
		h.log("%s: %s: %v", s.name, what, err)
		if code := node.CodeOf(err); code == node.Internal || code == node.Unavailable {
			h.fail("%s: %s: %v", s.name, what, err)
		}
	default:
		h.log("%s: %s", s.name, what)
	}
}

// tx runs one transaction of a side.
func (h *history) tx(s *side, what string, f func(tx node.Tx) error) {
	h.t.Helper()
	h.do(s, what, func(ctx context.Context) error { return s.db.InTx(ctx, f) })
}

// connect makes the two agents contacts, over a network that works.
func (h *history) connect() {
	h.t.Helper()
	a, b := h.sides[0], h.sides[1]
	if h.met {
		return
	}
	h.do(a, "asks to connect", func(ctx context.Context) error {
		prepared, err := a.coordination.PrepareConnect(ctx, h.network, a.owner, coordination.ConnectRequest{Address: b.address()})
		if err != nil {
			return err
		}
		return a.db.InTx(ctx, func(tx node.Tx) error {
			_, err := a.coordination.Connect(tx, a.owner, prepared)
			return err
		})
	})
	h.settle(4)
	h.tx(b, "accepts", func(tx node.Tx) error {
		c, err := b.connection(tx)
		if err != nil {
			return err
		}
		_, err = b.coordination.AcceptConnection(tx, b.owner, c.ID)
		return err
	})
	h.settle(4)
	for _, s := range h.sides {
		s.in(h.t, func(tx node.Tx) error {
			c, err := s.connection(tx)
			if err == nil && c.Status != coordination.ConnActive {
				h.fail("%s: the connection is %s", s.name, c.Status)
			}
			return err
		})
	}
}

func (s *side) connection(tx node.Tx) (coordination.Connection, error) {
	list, err := s.coordination.Connections(tx, s.agent.ID, coordination.Page{Limit: 1})
	if err != nil || len(list) == 0 {
		return coordination.Connection{}, node.Errorf(node.NotFound, "no connection: %v", err)
	}
	return list[0], nil
}

// settle lets the workers of both sides do what is due, some rounds long.
func (h *history) settle(rounds int) {
	h.t.Helper()
	for range rounds {
		for _, s := range h.sides {
			h.background(s)
		}
		h.clock.Advance(3 * time.Second)
	}
}

// background does everything that a side's loops would do now.
func (h *history) background(s *side) {
	h.t.Helper()
	for _, step := range []struct {
		name string
		step func(context.Context) (bool, error)
	}{
		{"delivers", s.worker.Step}, {"looks up strangers", s.strangers.Step}, {"expires tasks", s.coordination.ExpireStep},
		{"expires approvals", s.approvals.ExpireStep}, {"recovers runs", s.actions.RecoverStep},
	} {
		for more, steps := true, 0; more && steps < 200; steps++ {
			more = h.works(s, step.name, step.step)
		}
	}
}

// works does one step of background work, which is never refused.
func (h *history) works(s *side, what string, step func(context.Context) (bool, error)) (more bool) {
	h.t.Helper()
	var err error
	if !s.survives(func() { more, err = step(context.Background()) }) {
		h.log("%s: %s: died %s", s.name, what, s.db.died)
		happened("a process dies " + s.db.died)
		return false
	}
	if err != nil {
		h.fail("%s: %s: %v", s.name, what, err)
	}
	if more {
		h.log("%s: %s", s.name, what)
	}
	return more
}

// grant sets a rule of a side's owner.
func (h *history) grant(s *side, capability string, mode policy.GrantMode) {
	h.t.Helper()
	h.tx(s, fmt.Sprintf("grants %s %s", capability, mode), func(tx node.Tx) error {
		_, err := s.policy.SetGrant(tx, s.owner, policy.NewGrant{AgentID: s.agent.ID, Capability: capability, Mode: mode})
		return err
	})
}

// ungrant removes the rules of a side's owner that deny something.
func (h *history) ungrant(s *side) {
	h.t.Helper()
	h.tx(s, "removes denies", func(tx node.Tx) error {
		grants, err := s.policy.Grants(tx, s.agent.ID, nil)
		for _, g := range grants {
			if err == nil && g.Mode == policy.Deny {
				_, err = s.policy.RemoveGrant(tx, s.owner, g.ID)
			}
		}
		return err
	})
}

func (h *history) dinner() json.RawMessage {
	fields := map[string]any{
		"date": fmt.Sprintf("2027-01-%02d", 1+h.rng.IntN(28)), "time": "19:30", "timezone": "Europe/Berlin",
		"partySize": 2 + h.rng.IntN(4), "venue": map[string]any{"name": canary + " Trattoria"},
	}
	if h.rng.IntN(4) == 0 {
		fields["dietaryNotes"] = []string{canary + " no nuts"}
	}
	raw, _ := json.Marshal(fields)
	return raw
}
