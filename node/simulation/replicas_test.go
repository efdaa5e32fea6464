package simulation

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/identity"
	"agentlink/node/seal"
	"agentlink/node/store/storetest"
	"agentlink/policy"
)

// Replicas of a node share a PostgreSQL database. Here they act at once on the
// same rows, so what happens is no longer decided by a seed. The order of locks
// has to keep them from waiting for each other in a circle, which PostgreSQL
// ends by failing one of them.

// counted is a database that counts what it had to run again.
type counted struct {
	node.DB
	again *atomic.Int64
}

func (c counted) InTx(ctx context.Context, f func(node.Tx) error) error {
	runs := int64(0)
	defer func() { c.again.Add(max(0, runs-1)) }()
	return c.DB.InTx(ctx, func(tx node.Tx) error {
		runs++
		return f(tx)
	})
}

// cluster is a node with several replicas.
type cluster struct {
	storetest.Database
	host   string
	master seal.Master
}

func newCluster(t *testing.T, host string) cluster {
	t.Helper()
	c := cluster{Database: storetest.Postgres(t), host: host, master: seal.NewMaster()}
	c.Box = seal.NewBox(c.master.Key(seal.UseRows))
	return c
}

// replica is a process of the node with a store of its own.
func (c cluster) replica(t *testing.T, world *node.FakeClock) *disk {
	t.Helper()
	d := &disk{host: c.host, master: c.master, clock: &skewed{world: world}}
	c.Clock = d.clock
	d.store = c.Open(t)
	var err error
	d.identity, err = identity.LoadOrCreate(t.Context(), d.store, d.store, node.RandomIDs{})
	must(t, err)
	return d
}

// replicas are histories of the same two agents. Each has processes of its own
// on both nodes.
func replicas(t *testing.T, count int) []*history {
	t.Helper()
	clock := newClock()
	nodes := [2]cluster{newCluster(t, "ana.test"), newCluster(t, "ben.test")}
	var all []*history
	for seed := range uint64(count) {
		w := &world{clock: clock, disks: [2]*disk{nodes[0].replica(t, clock), nodes[1].replica(t, clock)}}
		h := w.history(t, seed)
		h.crowded = true
		all = append(all, h)
		for i, s := range h.sides {
			s.agent, s.owner = all[0].sides[i].agent, all[0].sides[i].owner
		}
	}
	return all
}

// atOnce does something in all histories at the same time.
func atOnce(all []*history, do func(h *history, i int)) {
	var done sync.WaitGroup
	for i, h := range all {
		done.Go(func() { do(h, i) })
	}
	done.Wait()
}

// wantNoneAgain fails where two transactions locked each other out.
func wantNoneAgain(t *testing.T, all []*history) {
	t.Helper()
	for i, h := range all {
		for _, s := range h.sides {
			if again := s.again.Load(); again != 0 {
				t.Errorf("replica %d of %s: %d transactions met a deadlock", i, s.name, again)
			}
		}
	}
}

// TestReplicas: proposals, answers, cancels, runs, owners' decisions and
// deliveries at once. The copies agree, the logs are whole, and no transaction
// had to be run again; nor where both owners end the connection meanwhile.
func TestReplicas(t *testing.T) {
	t.Parallel()
	storetest.RequirePostgres(t)
	all := replicas(t, 6)
	first := all[0]
	first.connect()
	for _, s := range first.sides {
		first.opening(s)
	}
	atOnce(all, func(h *history, _ int) {
		h.lasting = true
		h.network.drop, h.network.repeat = h.rng.IntN(20), h.rng.IntN(20)
		for range 100 {
			h.step()
		}
	})
	first.join(all[1:])
	first.heal()
	first.drain()
	first.check("healed")
	first.clock.Advance(40 * time.Hour)
	first.drain()
	first.check("after all deadlines")

	atOnce(all, func(h *history, i int) {
		for step := range 40 {
			h.step()
			if step == 20 && i < 2 {
				h.revokes(h.sides[i])
			}
		}
	})
	first.heal()
	first.drain()
	first.checkLogs()
	wantNoneAgain(t, all)
}

// join adds what others did to a history.
func (h *history) join(others []*history) {
	for _, other := range others {
		maps.Copy(h.repeats, other.repeats)
		for i, s := range other.sides {
			maps.Copy(h.sides[i].runs, s.runs)
		}
	}
}

func (h *history) revokes(s *side) {
	if s.db.died != "" {
		s.start(h.t, h.network)
	}
	h.tx(s, "revokes the connection", func(tx node.Tx) error {
		c, err := s.connection(tx)
		if err == nil {
			_, err = s.coordination.RevokeConnection(tx, s.owner, c.ID)
		}
		return err
	})
}

// TestOwnerDecidesTwice: an agent's request to connect waits for its owner, and
// so does the contact's own. The owner answers both at once, and takes the first back.
func TestOwnerDecidesTwice(t *testing.T) {
	t.Parallel()
	storetest.RequirePostgres(t)
	all := replicas(t, 3)
	first := all[0]
	ana, ben := first.sides[0], first.sides[1]
	for round := range 8 {
		for _, s := range first.sides {
			s.newAgent(t, fmt.Sprintf("%s-again-%d", s.name, round), policy.Manual)
		}
		p := &pair{history: first, a: ana, b: ben}
		if _, err := p.asks(ana, ana.actor(), coordination.ConnectRequest{}); err != nil {
			t.Fatal(err)
		}
		own := p.connectionOf(ana)
		first.clock.Advance(time.Second) // theirs is the later one
		if _, err := p.asks(ben, ben.owner, coordination.ConnectRequest{}); err != nil {
			t.Fatal(err)
		}
		first.settle(4)
		theirs := p.connectionOf(ana)
		if own.Status != coordination.PendingOwner || theirs.Status != coordination.PendingIncoming {
			t.Fatalf("ours is %s, theirs %s", own.Status, theirs.Status)
		}
		asked := ana.known(first).approvals(approvals.Pending)[0]
		atOnce(all, func(h *history, i int) {
			s := h.sides[0]
			h.tx(s, "decides", func(tx node.Tx) (err error) {
				switch i {
				case 0:
					_, err = s.approvals.Decide(tx, ana.owner, approvals.Decision{ID: asked.ID, Hash: asked.Hash, Approve: true})
				case 1:
					_, err = s.coordination.AcceptConnection(tx, ana.owner, theirs.ID)
				case 2:
					_, err = s.coordination.RevokeConnection(tx, ana.owner, own.ID)
				}
				return err
			})
		})
		if c := p.connectionOf(ana); c.ID != theirs.ID || c.Status != coordination.ConnActive {
			t.Errorf("the contact's request is %s", c.Status)
		}
	}
	first.checkLogs()
	wantNoneAgain(t, all)
}

// TestLookupsAtOnce: an agent that asks everywhere at once makes the node look up
// no more hosts than one that takes its time.
func TestLookupsAtOnce(t *testing.T) {
	t.Parallel()
	storetest.RequirePostgres(t)
	all := replicas(t, 3)
	var lookedUp, limited atomic.Int64
	atOnce(all, func(h *history, i int) {
		s := h.sides[0]
		for n := range coordination.MaxNewHosts {
			request := coordination.ConnectRequest{Address: fmt.Sprintf("x@host%d-%d.test", i, n)}
			_, err := s.coordination.PrepareConnect(context.Background(), h.network, s.actor(), request)
			switch node.CodeOf(err) {
			case node.Unavailable: // nobody is there
				lookedUp.Add(1)
			case node.RateLimited:
				limited.Add(1)
			default:
				t.Errorf("looking up gives %v", err)
			}
		}
	})
	if lookedUp.Load() != coordination.MaxNewHosts || limited.Load() != 2*coordination.MaxNewHosts {
		t.Errorf("%d hosts were looked up, %d refused; want %d and the rest", lookedUp.Load(), limited.Load(), coordination.MaxNewHosts)
	}
	wantNoneAgain(t, all)
}
