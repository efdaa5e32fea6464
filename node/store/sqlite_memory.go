package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/pressly/goose/v3"
)

// sqliteMemory is a database that ends with the process: one connection, one
// transaction at a time, no goroutine, so that a simulation is repeatable.
type sqliteMemory struct {
	db   *sql.DB
	free chan *sqliteConn // holds the connection while nobody uses it
	stop chan struct{}
}

func openMemory(ctx context.Context, wrap Wrap) (engine, error) {
	db, err := openPool(wrap, ":memory:", 1, "immediate", "foreign_keys(1)")
	if err != nil {
		return nil, sqliteFault(err).err
	}
	conn, err := newSQLiteConn(ctx, db)
	if err != nil {
		return nil, sqliteFault(err).err
	}
	e := &sqliteMemory{db: db, free: make(chan *sqliteConn, 1), stop: make(chan struct{})}
	e.free <- conn
	return e, nil
}

func (e *sqliteMemory) write(ctx context.Context, run func(querier) error) error {
	return e.use(ctx, "COMMIT", run)
}

func (e *sqliteMemory) read(ctx context.Context, run func(querier) error) error {
	return e.use(ctx, "ROLLBACK", run)
}

func (e *sqliteMemory) use(ctx context.Context, end string, run func(querier) error) error {
	var conn *sqliteConn
	select {
	case conn = <-e.free:
	case <-ctx.Done():
		return ctx.Err()
	case <-e.stop:
		return errClosed()
	}
	defer func() { e.free <- conn }()
	return conn.within("BEGIN", end, run)
}

func (e *sqliteMemory) fault(err error) *fault { return sqliteFault(err) }

func (e *sqliteMemory) ping(ctx context.Context) error { return e.read(ctx, pingStatement) }

func (e *sqliteMemory) announce(querier, []string) error { return nil }

func (e *sqliteMemory) listen(*wakeHub) {}

func (e *sqliteMemory) sole() string { return "SELECT 1" }

// rewrite has no file whose former content could be read.
func (e *sqliteMemory) rewrite(context.Context, []string) error { return nil }

func (e *sqliteMemory) close() error {
	close(e.stop)
	conn := <-e.free
	_ = conn.close()
	return e.db.Close()
}

func (e *sqliteMemory) schema() schema {
	return schema{folder: "sqlite", dialect: goose.DialectSQLite3, alone: e.alone}
}

// alone lends the one connection there is: the pool keeps it, and with it the
// data, while nobody holds it.
func (e *sqliteMemory) alone(ctx context.Context, use func(*sql.DB) error) error {
	conn := <-e.free
	defer func() { e.free <- conn }()
	if err := conn.close(); err != nil {
		return err
	}
	err := use(e.db)
	again, openErr := newSQLiteConn(ctx, e.db)
	if openErr == nil {
		conn = again
	}
	return errors.Join(err, openErr)
}
