package store

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"agentlink/node"
	"agentlink/node/audit"
)

// tries is how often a transaction is run that met a deadlock, a serialization
// failure or a busy database.
const tries = 3

// querier runs statements on the connection that a transaction holds.
type querier interface {
	exec(ctx context.Context, query string, args []any) (int64, error)
	query(ctx context.Context, query string, args []any) (*sql.Rows, error)
}

// txn is the one implementation of node.Tx.
type txn struct {
	store    *Store
	on       querier
	ctx      context.Context
	now      time.Time
	readOnly bool
	reading  bool        // rows of this transaction are being read
	ended    atomic.Bool // f has returned
	failed   *fault      // the first statement that failed; nothing runs after it
	hooks    []func()
	topics   []string
	audit    pending
}

// pending is what the transaction writes to the audit log at its end.
type pending struct {
	rows  []audit.Row
	write func([]audit.Row) error
	head  *audit.Head // once it is locked
}

// Now implements node.Tx.
func (t *txn) Now() time.Time { return t.now }

// Context implements node.Tx.
func (t *txn) Context() context.Context { return t.ctx }

// OnCommit implements node.Tx.
func (t *txn) OnCommit(f func()) { t.hooks = append(t.hooks, f) }

// InTx implements node.DB. After a deadlock, a serialization failure or a busy
// database f runs again, three times in all. Codes of its own: unavailable and
// internal; an ended context passes as it is.
func (s *Store) InTx(ctx context.Context, f func(node.Tx) error) error {
	return s.run(ctx, s.engine.write, false, f)
}

// View implements node.DB. All statements of f see one and the same state.
func (s *Store) View(ctx context.Context, f func(node.Tx) error) error {
	return s.run(ctx, s.engine.read, true, f)
}

type runner func(ctx context.Context, run func(querier) error) error

func (s *Store) run(ctx context.Context, within runner, readOnly bool, f func(node.Tx) error) error {
	if err := s.mayBegin(ctx); err != nil {
		return s.plain(err)
	}
	for try := 1; ; try++ {
		t, err := s.attempt(ctx, within, readOnly, f)
		if err == nil {
			t.committed()
			return nil
		}
		if try == tries || !isAgain(t, err) {
			return s.plain(err)
		}
		if err := pause(ctx, try); err != nil {
			return err
		}
	}
}

// mayBegin refuses what would wait for itself for ever.
func (s *Store) mayBegin(ctx context.Context) error {
	if s.closed.Load() {
		return errClosed()
	}
	if outer, ok := ctx.Value(inside{}).(*txn); ok && !outer.ended.Load() && outer.store == s {
		return broken(fmt.Errorf("a transaction was begun inside a transaction"))
	}
	return ctx.Err()
}

// inside is the context key under which a transaction finds itself.
type inside struct{}

func (s *Store) attempt(ctx context.Context, within runner, readOnly bool, f func(node.Tx) error) (*txn, error) {
	t := &txn{store: s, readOnly: readOnly}
	t.ctx = context.WithValue(ctx, inside{}, t)
	err := within(ctx, func(q querier) error {
		t.on, t.now = q, s.clock.Now()
		defer t.ended.Store(true)
		if err := f(t); err != nil {
			return err
		}
		return t.finish()
	})
	return t, err
}

// finish writes what comes last and decides whether a transaction whose f is
// content may commit: one in which a statement failed may not, whatever f made
// of the error.
func (t *txn) finish() error {
	if t.failed == nil && len(t.topics) > 0 && !t.readOnly {
		if err := t.store.engine.announce(t.on, t.topics); err != nil {
			return t.fail(err)
		}
	}
	// The log's head is locked last of all, since everybody waits for it.
	if t.failed == nil && len(t.audit.rows) > 0 {
		if err := t.audit.write(t.audit.rows); err != nil {
			return err
		}
	}
	if t.failed != nil {
		return t.failed
	}
	return nil
}

func (t *txn) committed() {
	for _, hook := range t.hooks {
		hook()
	}
	t.store.wake.wake(t.topics...)
}

func isAgain(t *txn, err error) bool {
	if t.failed != nil {
		return t.failed.again
	}
	f, ok := err.(*fault) //nolint:errorlint // only the engine's own, never one that f wrapped
	return ok && f.again
}

// pause lets whoever was in the way finish.
func pause(ctx context.Context, try int) error {
	wait := time.NewTimer(time.Duration(try) * time.Duration(1+rand.IntN(10)) * time.Millisecond) //nolint:gosec // only keeps two apart
	defer wait.Stop()
	select {
	case <-wait.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// exec runs a statement and tells how many rows it changed.
func (s *Store) exec(tx node.Tx, query string, args ...any) (rows int64, err error) {
	t, err := s.use(tx, query)
	if err != nil {
		return 0, err
	}
	if t.readOnly {
		return 0, broken(fmt.Errorf("a view cannot write: %s", query))
	}
	rows, err = t.on.exec(t.ctx, query, portable(args))
	if err != nil {
		return 0, t.fail(fmt.Errorf("%s: %w", query, err)).err
	}
	return rows, nil
}

// one reads one row. Code: not_found when there is none.
func (s *Store) one(tx node.Tx, query string, args []any, dest ...any) error {
	found := false
	err := s.each(tx, query, args, func(scan func(dest ...any) error) error {
		if found {
			return nil
		}
		found = true
		return scan(dest...)
	})
	if err == nil && !found {
		return errNoRow()
	}
	return err
}

// each calls row for every row, in order. row may not run statements: the
// connection is busy reading. It ends at row's first error.
func (s *Store) each(tx node.Tx, query string, args []any, row func(scan func(dest ...any) error) error) error {
	t, err := s.use(tx, query)
	if err != nil {
		return err
	}
	rows, err := t.on.query(t.ctx, query, portable(args))
	if err != nil {
		return t.fail(fmt.Errorf("%s: %w", query, err)).err
	}
	t.reading = true
	defer func() { t.reading = false; _ = rows.Close() }()
	for rows.Next() {
		if err := row(scanner(rows, query)); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return t.fail(fmt.Errorf("%s: %w", query, err)).err
	}
	return nil
}

func scanner(rows *sql.Rows, query string) func(dest ...any) error {
	return func(dest ...any) error {
		if err := rows.Scan(dest...); err != nil {
			return broken(fmt.Errorf("%s: %w", query, err))
		}
		return nil
	}
}

// use finds the transaction and says whether it can take a statement.
func (s *Store) use(tx node.Tx, query string) (*txn, error) {
	t, ok := tx.(*txn)
	switch {
	case !ok || t.store != s:
		return nil, broken(fmt.Errorf("a transaction of another store: %s", query))
	case t.ended.Load():
		return nil, broken(fmt.Errorf("the transaction has ended: %s", query))
	case t.reading:
		return nil, broken(fmt.Errorf("rows are still being read: %s", query))
	case t.failed != nil:
		return nil, t.failed.err
	}
	if err := t.ctx.Err(); err != nil {
		return nil, t.fail(err).err
	}
	return t, nil
}

// fail remembers the first failed statement. PostgreSQL refuses everything
// after one; SQLite would go on, and after some errors outside any transaction.
func (t *txn) fail(err error) *fault {
	f := t.store.engine.fault(err)
	if t.failed == nil {
		t.failed = f
	}
	return f
}

// portable turns arguments into what both drivers store alike.
func portable(args []any) []any {
	if !slices.ContainsFunc(args, isBool) {
		return args
	}
	args = slices.Clone(args)
	for i, arg := range args {
		if yes, ok := arg.(bool); ok {
			args[i] = int64(0)
			if yes {
				args[i] = int64(1)
			}
		}
	}
	return args
}

func isBool(arg any) bool {
	_, ok := arg.(bool)
	return ok
}
