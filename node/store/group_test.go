package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agentlink/node"
	"agentlink/node/store"
	"agentlink/node/store/storetest"
)

// crowd starts transactions that wait behind an open one.
type crowd struct {
	started atomic.Int64
	arrived chan struct{}
	done    sync.WaitGroup
	// firstIsBack says whether the InTx of the first transaction has returned.
	firstIsBack atomic.Bool
}

// inTx runs a transaction in a goroutine.
func (c *crowd) inTx(s *store.Store, f func(node.Tx) error, result func(error)) {
	c.started.Add(1)
	ctx := &arriving{Context: context.Background(), arrived: c.arrived}
	c.done.Go(func() { result(s.InTx(ctx, f)) })
}

// arriving tells when InTx begins to wait, which is when it asks for Done.
type arriving struct {
	context.Context
	once    sync.Once
	arrived chan struct{}
}

func (a *arriving) Done() <-chan struct{} {
	a.once.Do(func() { a.arrived <- struct{}{} })
	return a.Context.Done()
}

// batch opens a transaction, calls start, and runs first in that transaction
// once all that start began waits behind it. It returns when all have ended.
func batch(t *testing.T, s *store.Store, first func(node.Tx) error, start func(*crowd)) (firstErr error) {
	t.Helper()
	c := &crowd{arrived: make(chan struct{}, 100)}
	entered, goOn, back := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		err := s.InTx(context.Background(), func(tx node.Tx) error {
			close(entered)
			<-goOn
			return first(tx)
		})
		c.firstIsBack.Store(true)
		back <- err
	}()
	<-entered
	start(c)
	for range c.started.Load() {
		<-c.arrived
	}
	time.Sleep(50 * time.Millisecond) // from asking for Done to waiting
	close(goOn)
	firstErr = <-back
	c.done.Wait()
	return firstErr
}

func set(s *store.Store, name string) func(node.Tx) error {
	return func(tx node.Tx) error { return s.SetSetting(tx, name, []byte("1")) }
}

func has(t *testing.T, s *store.Store, name string) bool {
	t.Helper()
	err := s.View(t.Context(), func(tx node.Tx) error { _, err := s.Setting(tx, name); return err })
	if err != nil && node.CodeOf(err) != node.NotFound {
		t.Fatal(err)
	}
	return err == nil
}

// TestGroupCommit: what waits is committed together, and yet each transaction
// is rolled back alone.
func TestGroupCommit(t *testing.T) {
	t.Parallel()
	s := storetest.OpenSQLite(t)
	no := errors.New("no")
	var together, hooks atomic.Int64
	hook := func() { hooks.Add(1) }
	err := batch(t, s, func(tx node.Tx) error {
		tx.OnCommit(hook)
		return set(s, "first")(tx)
	}, func(c *crowd) {
		for i := range 9 {
			c.inTx(s, func(tx node.Tx) error {
				if !c.firstIsBack.Load() && hooks.Load() == 0 {
					together.Add(1)
				}
				tx.OnCommit(hook)
				if err := set(s, fmt.Sprint(i))(tx); err != nil || i%3 != 0 {
					return err
				}
				return no
			}, func(err error) {
				if i%3 == 0 != errors.Is(err, no) {
					t.Errorf("transaction %d gives %v", i, err)
				}
			})
		}
	})
	if err != nil || together.Load() != 9 {
		t.Errorf("the first gives %v; %d of 9 ran before it was committed, want all", err, together.Load())
	}
	if hooks.Load() != 7 || !has(t, s, "first") {
		t.Errorf("%d hooks ran, want 7", hooks.Load())
	}
	for i := range 9 {
		if got := has(t, s, fmt.Sprint(i)); got != (i%3 != 0) {
			t.Errorf("the setting of transaction %d is there: %v", i, got)
		}
	}
}

// TestGroupCommitPanic: a panic is the caller's own, and takes nobody along.
func TestGroupCommitPanic(t *testing.T) {
	t.Parallel()
	s := storetest.OpenSQLite(t)
	var recovered atomic.Value
	err := batch(t, s, set(s, "first"), func(c *crowd) {
		c.done.Go(func() {
			defer func() { recovered.Store(recover()) }()
			_ = s.InTx(context.Background(), func(tx node.Tx) error {
				_ = set(s, "panicked")(tx)
				panic("boom")
			})
		})
		c.inTx(s, set(s, "other"), func(err error) {
			if err != nil {
				t.Error(err)
			}
		})
	})
	if err != nil || recovered.Load() != "boom" {
		t.Errorf("the first gives %v, recovered %v", err, recovered.Load())
	}
	if !has(t, s, "first") || !has(t, s, "other") || has(t, s, "panicked") {
		t.Error("want what the others wrote, and only that")
	}
}

// TestGroupCommitFails: when the commit fails nobody was promised anything, and
// the store goes on.
func TestGroupCommitFails(t *testing.T) {
	t.Parallel()
	s := storetest.OpenSQLite(t)
	// A deferred foreign key is checked at the commit alone. The schema has none.
	write(t, s, `CREATE TABLE trap (id INTEGER PRIMARY KEY, other INTEGER REFERENCES trap (id) DEFERRABLE INITIALLY DEFERRED) STRICT`)
	var hooks, failed atomic.Int64
	err := batch(t, s, set(s, "first"), func(c *crowd) {
		for i := range 3 {
			c.inTx(s, func(tx node.Tx) error {
				tx.OnCommit(func() { hooks.Add(1) })
				if i > 0 {
					return set(s, fmt.Sprint(i))(tx)
				}
				_, err := s.Exec(tx, `INSERT INTO trap (id, other) VALUES (1, 2)`)
				return err
			}, func(err error) {
				if err != nil && node.CodeOf(err) == node.Internal {
					failed.Add(1)
				}
			})
		}
	})
	if node.CodeOf(err) != node.Internal || failed.Load() != 3 || hooks.Load() != 0 {
		t.Errorf("the first gives %v; %d of 3 others failed, %d hooks ran", err, failed.Load(), hooks.Load())
	}
	if err := s.InTx(t.Context(), set(s, "after")); err != nil || !has(t, s, "after") || has(t, s, "first") || has(t, s, "1") {
		t.Errorf("afterwards: %v; want only what was committed afterwards", err)
	}
}

// TestDiskFull: SQLite may end the whole transaction when the disk is full.
// Nobody's half is kept then, and what comes when there is room again works.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	s := storetest.OpenSQLite(t)
	write(t, s, `CREATE TABLE big (data BLOB) STRICT`)
	var kept [4]atomic.Bool
	fill := func(tx node.Tx) error {
		var pages int
		if err := s.One(tx, `PRAGMA page_count`, nil, &pages); err != nil {
			return err
		}
		var limit int
		if err := s.One(tx, fmt.Sprintf(`PRAGMA max_page_count = %d`, pages+2), nil, &limit); err != nil {
			return err
		}
		_, err := s.Exec(tx, `INSERT INTO big (data) VALUES (zeroblob(1000000))`)
		if node.CodeOf(err) != node.Unavailable {
			t.Errorf("a full disk gives %v", err)
		}
		_, again := s.Exec(tx, `INSERT INTO big (data) VALUES (zeroblob(1))`)
		if again == nil {
			t.Error("a statement after the failed one ran, perhaps outside any transaction")
		}
		return nil // whatever f says
	}
	_ = batch(t, s, set(s, "first"), func(c *crowd) {
		for i := range kept {
			f := set(s, fmt.Sprint(i))
			if i == 1 {
				f = fill
			}
			c.inTx(s, f, func(err error) { kept[i].Store(err == nil) })
		}
	})
	if kept[1].Load() {
		t.Error("the transaction that met a full disk was committed")
	}
	for i := range kept {
		if got := has(t, s, fmt.Sprint(i)); got != kept[i].Load() {
			t.Errorf("transaction %d: promised %v, kept %v", i, kept[i].Load(), got)
		}
	}
	var limit int
	err := s.InTx(t.Context(), func(tx node.Tx) error { return s.One(tx, `PRAGMA max_page_count = 1000000`, nil, &limit) })
	if err != nil {
		t.Fatal(err)
	}
	write(t, s, `INSERT INTO big (data) VALUES (zeroblob(1000000))`)
	if rows := count(t, s, "big"); rows != 1 {
		t.Errorf("%d rows in the table, want the one written when there was room", rows)
	}
}

// TestWaitingEnds: a caller that gives up while waiting leaves the queue.
func TestWaitingEnds(t *testing.T) {
	t.Parallel()
	s := storetest.OpenSQLite(t)
	err := batch(t, s, set(s, "first"), func(*crowd) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if err := s.InTx(ctx, set(s, "second")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waiting ended with %v, want the context's error", err)
		}
	})
	if err != nil || !has(t, s, "first") || has(t, s, "second") {
		t.Errorf("the first gives %v; want only its setting", err)
	}
}

// TestCloseWaits: closing waits for the running transaction and refuses the next.
func TestCloseWaits(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, fresh func(*testing.T) storetest.Database) {
		database := fresh(t)
		s := database.Open(t)
		closed := make(chan error, 1)
		err := batch(t, s, set(s, "running"), func(*crowd) {
			go func() { closed <- s.Close() }()
		})
		if err := errors.Join(err, <-closed); err != nil {
			t.Error(err)
		}
		if again := database.Open(t); !has(t, again, "running") {
			t.Error("the running transaction was not committed")
		}
	})
}

func write(t *testing.T, s *store.Store, statement string, args ...any) {
	t.Helper()
	if err := s.InTx(t.Context(), func(tx node.Tx) error { _, err := s.Exec(tx, statement, args...); return err }); err != nil {
		t.Fatal(err)
	}
}

func count(t *testing.T, s *store.Store, table string) (rows int) {
	t.Helper()
	err := s.View(t.Context(), func(tx node.Tx) error { return s.One(tx, `SELECT COUNT(*) FROM `+table, nil, &rows) })
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
