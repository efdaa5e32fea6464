package store_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agentlink/node"
	"agentlink/node/store/storetest"
)

// TestBusyIsRetried: while another process writes to the file, transactions
// wait, then run again, three times in all.
func TestBusyIsRetried(t *testing.T) {
	t.Parallel()
	database := storetest.SQLite(t)
	s := database.Open(t)
	var ms int
	inTx(t, s, func(tx node.Tx) error { return s.One(tx, `PRAGMA busy_timeout = 400`, nil, &ms) })
	other, err := sql.Open("sqlite", strings.TrimPrefix(database.URL, "sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	other.SetMaxOpenConns(1)
	hold := func() {
		t.Helper()
		if _, err := other.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
			t.Fatal(err)
		}
	}
	release := func() { _, _ = other.ExecContext(context.Background(), "ROLLBACK") }

	hold()
	time.AfterFunc(500*time.Millisecond, release) // after the first try, and before the third ends
	if err := s.InTx(t.Context(), set(s, "a")); err != nil {
		t.Errorf("a short wait gives %v", err)
	}
	hold()
	calls := 0
	err = s.InTx(t.Context(), func(node.Tx) error { calls++; return nil })
	wantCode(t, err, node.Unavailable)
	if calls != 0 {
		t.Errorf("the function ran %d times without a transaction", calls)
	}
	release()
	if err := s.InTx(t.Context(), set(s, "b")); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestDeadlockIsRetried: of two that lock two rows the other way round both
// succeed, and hooks of the try that failed are dropped.
func TestDeadlockIsRetried(t *testing.T) {
	t.Parallel()
	s := storetest.OpenPostgres(t)
	inTx(t, s, func(tx node.Tx) error { return errors.Join(set(s, "a")(tx), set(s, "b")(tx)) })
	var runs, hooks atomic.Int64
	var bothLocked sync.WaitGroup
	bothLocked.Add(2)
	lock := func(first, second string) error {
		var once sync.Once
		return s.InTx(context.Background(), func(tx node.Tx) error {
			runs.Add(1)
			tx.OnCommit(func() { hooks.Add(1) })
			if err := set(s, first)(tx); err != nil {
				return err
			}
			once.Do(func() { bothLocked.Done(); bothLocked.Wait() })
			return set(s, second)(tx)
		})
	}
	var done sync.WaitGroup
	done.Go(func() {
		if err := lock("a", "b"); err != nil {
			t.Error(err)
		}
	})
	if err := lock("b", "a"); err != nil {
		t.Error(err)
	}
	done.Wait()
	if runs.Load() != 3 || hooks.Load() != 2 {
		t.Errorf("%d runs and %d hooks, want 3 and 2", runs.Load(), hooks.Load())
	}
}

// TestSerializationFailure: f runs three times and then gives up, also where it
// hides the driver's error.
func TestSerializationFailure(t *testing.T) {
	t.Parallel()
	s := storetest.OpenPostgres(t)
	for _, hidden := range []bool{false, true} {
		runs := 0
		err := s.InTx(t.Context(), func(tx node.Tx) error {
			runs++
			_, err := s.Exec(tx, `DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END $$`)
			if hidden {
				return nil
			}
			return err
		})
		wantCode(t, err, node.Unavailable)
		if runs != 3 {
			t.Errorf("hidden %v: %d runs, want 3", hidden, runs)
		}
	}
	runs := 0
	err := s.InTx(t.Context(), func(tx node.Tx) error {
		runs++
		_, err := s.Exec(tx, `DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '23505'; END $$`)
		return err
	})
	wantCode(t, err, node.Internal)
	if runs != 1 {
		t.Errorf("%d runs of what fails for another reason, want 1", runs)
	}
}

// TestLostConnection: a connection that the server ends is unavailable, and the
// next transaction has a new one.
func TestLostConnection(t *testing.T) {
	t.Parallel()
	s := storetest.OpenPostgres(t)
	other := storetest.OpenPostgres(t)
	err := s.InTx(t.Context(), func(tx node.Tx) error {
		var pid int
		if err := s.One(tx, `SELECT pg_backend_pid()`, nil, &pid); err != nil {
			return err
		}
		var gone bool
		inTx(t, other, func(tx node.Tx) error { return other.One(tx, `SELECT pg_terminate_backend($1)`, []any{pid}, &gone) })
		time.Sleep(50 * time.Millisecond)
		return set(s, "a")(tx)
	})
	wantCode(t, err, node.Unavailable)
	if err := s.InTx(t.Context(), set(s, "b")); err != nil || has(t, s, "a") || !has(t, s, "b") {
		t.Errorf("afterwards: %v; want only what came afterwards", err)
	}
}

// TestStatementIsCancelled: a context that ends stops what PostgreSQL is doing.
func TestStatementIsCancelled(t *testing.T) {
	t.Parallel()
	s := storetest.OpenPostgres(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := s.InTx(ctx, func(tx node.Tx) error {
		var nothing any
		return s.One(tx, `SELECT pg_sleep(60)`, nil, &nothing)
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("InTx gives %v, want the context's error", err)
	}
	if err := s.InTx(t.Context(), set(s, "a")); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
