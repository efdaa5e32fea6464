package simulation

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"agentlink/node"
	"agentlink/node/identity"
	"agentlink/node/seal"
	"agentlink/node/store"
	"agentlink/node/store/storetest"
	"agentlink/policy"
)

// TestMain lets garbage grow: a history makes much of it and keeps little.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	os.Exit(m.Run())
}

// world is two disks and their clock.
type world struct {
	clock *node.FakeClock
	disks [2]*disk
	fault *fault    // planted on both
	met   time.Time // when the agents on the disks had become contacts; zero: there are none
}

func newWorld(t testing.TB) *world {
	t.Helper()
	clock := newClock()
	return &world{clock: clock, disks: [2]*disk{newDisk(t, "ana.test", clock), newDisk(t, "ben.test", clock)}}
}

// newClock stands at the time at which every history begins.
func newClock() *node.FakeClock {
	return node.NewFakeClock(time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC))
}

func (w *world) close() {
	for _, d := range w.disks {
		_ = d.store.Close()
	}
}

// Worlds that nobody uses. To make the tables and two contacts costs as much as a
// history.
var worlds struct {
	sync.Mutex
	free []*world
}

// borrowWorld gives a world in which two agents have become contacts, and nothing
// else has happened.
func borrowWorld(t testing.TB) *world {
	t.Helper()
	w := freeWorld()
	if w == nil {
		return newContacts(t)
	}
	w.clock = node.NewFakeClock(w.met)
	for _, d := range w.disks {
		must(t, d.raw.Do(context.Background(), d.empty))
		d.clock.world = w.clock
	}
	return w
}

// freeWorld is one that nobody uses, nil where there is none.
func freeWorld() (w *world) {
	worlds.Lock()
	defer worlds.Unlock()
	if n := len(worlds.free); n > 0 {
		w, worlds.free = worlds.free[n-1], worlds.free[:n-1]
	}
	return w
}

// newContacts makes such a world.
func newContacts(t testing.TB) *world {
	t.Helper()
	w := newWorld(t)
	h := w.history(t, 0)
	h.connect()
	for i, d := range w.disks {
		d.agent = h.sides[i].agent
		d.remember(t)
	}
	w.met = w.clock.Now()
	return w
}

// giveBack lets another history have the world, after one that came to its end.
func (w *world) giveBack() {
	w.fault = nil
	worlds.Lock()
	defer worlds.Unlock()
	worlds.free = append(worlds.free, w)
}

// disk is what of a node survives its process.
type disk struct {
	host     string
	store    *store.Store
	master   seal.Master
	identity *identity.Identity
	clock    *skewed
	// raw reads what is stored as it is stored; nil on PostgreSQL.
	raw *storetest.Tap
	// empty are the statements that take it back to how it was remembered, and agent
	// is who was there then.
	empty string
	agent policy.Agent
}

// skewed is a node's clock: the world's, off by a constant.
type skewed struct {
	world *node.FakeClock
	off   time.Duration
}

func (c *skewed) Now() time.Time { return c.world.Now().Add(c.off).Truncate(time.Microsecond) }

func newDisk(t testing.TB, host string, world *node.FakeClock) *disk {
	t.Helper()
	ctx := context.Background()
	d := &disk{raw: &storetest.Tap{}, host: host, master: seal.NewMaster(), clock: &skewed{world: world}}
	var err error
	d.store, err = store.Open(ctx, store.Config{URL: "sqlite::memory:", Box: seal.NewBox(d.master.Key(seal.UseRows)), Clock: d.clock, Wrap: d.raw.Wrap})
	must(t, err)
	must(t, d.store.Migrate(ctx))
	d.identity, err = identity.LoadOrCreate(ctx, d.store, d.store, node.RandomIDs{})
	must(t, err)
	return d
}

// remember keeps every row that the disk has now, in a second database beside it.
func (d *disk) remember(t testing.TB) {
	t.Helper()
	ctx := context.Background()
	must(t, d.raw.Do(ctx, "ATTACH ':memory:' AS kept"))
	tables, err := d.raw.Cells(ctx, "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'goose_db_version' ORDER BY rowid")
	must(t, err)
	// A table comes after those that it refers to.
	var deletes, inserts string
	for _, table := range tables {
		must(t, d.raw.Do(ctx, fmt.Sprintf("CREATE TABLE kept.%[1]s AS SELECT * FROM main.%[1]s", table)))
		deletes = fmt.Sprintf("DELETE FROM main.%s;", table) + deletes
		inserts += fmt.Sprintf("INSERT INTO main.%[1]s SELECT * FROM kept.%[1]s;", table)
	}
	d.empty = "BEGIN;" + deletes + inserts + "COMMIT"
}
