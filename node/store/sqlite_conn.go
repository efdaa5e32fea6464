package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
)

// sqliteConn is one connection with its prepared statements. It is used by one
// goroutine at a time.
//
// Statements get no context: interrupting one that writes would roll back the
// whole SQLite transaction, and so the work of others. A context is looked at
// before each statement instead; a statement takes milliseconds at most.
type sqliteConn struct {
	db         *sql.DB
	conn       *sql.Conn
	statements map[string]*sql.Stmt
}

// keptStatements bounds the prepared statements of a connection. The store has
// fewer texts than that; lists with IN (…) are the only ones that vary.
const keptStatements = 400

func newSQLiteConn(ctx context.Context, db *sql.DB) (*sqliteConn, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &sqliteConn{db: db, conn: conn, statements: map[string]*sql.Stmt{}}, nil
}

func (c *sqliteConn) prepared(query string) (*sql.Stmt, error) {
	if statement, ok := c.statements[query]; ok {
		return statement, nil
	}
	if len(c.statements) >= keptStatements {
		if err := c.forget(); err != nil {
			return nil, err
		}
	}
	statement, err := c.conn.PrepareContext(context.Background(), steady(query))
	if err == nil {
		c.statements[query] = statement
	}
	return statement, err
}

// steady keeps SQLite from planning a statement anew for each limit that is bound
// to it: it looks at the value of a bare parameter, not at an expression. For the
// same reason updates by id compare a status with an empty text before the
// parameter: with the bare one SQLite asks each time whether an index on some
// statuses will do.
func steady(query string) string { return strings.ReplaceAll(query, "LIMIT $", "LIMIT +$") }

func (c *sqliteConn) exec(_ context.Context, query string, args []any) (int64, error) {
	statement, err := c.prepared(query) //nolint:sqlclosecheck // kept for the next time
	if err != nil {
		return 0, err
	}
	result, err := statement.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (c *sqliteConn) query(_ context.Context, query string, args []any) (*sql.Rows, error) {
	statement, err := c.prepared(query) //nolint:sqlclosecheck // kept for the next time
	if err != nil {
		return nil, err
	}
	return statement.QueryContext(context.Background(), args...)
}

func (c *sqliteConn) do(query string) error {
	_, err := c.exec(context.Background(), query, nil)
	return err
}

// within runs run between two statements; the second is ROLLBACK wherever run
// does not return nil, panics included.
func (c *sqliteConn) within(begin, end string, run func(querier) error) error {
	if err := c.do(begin); err != nil {
		_ = c.do("ROLLBACK") // of what could not be ended before, so that the next one begins
		return sqliteFault(err)
	}
	closed := false
	defer func() {
		if !closed {
			_ = c.do("ROLLBACK") // fails only where SQLite has rolled back already
		}
	}()
	if err := run(c); err != nil {
		return err
	}
	if err := c.do(end); err != nil {
		return sqliteFault(err)
	}
	closed = true
	return nil
}

// replace takes a new connection, after an error that leaves it open what state
// this one is in. SQLite rolls back what a closed connection had begun.
func (c *sqliteConn) replace(ctx context.Context) error {
	_ = c.forget()
	_ = c.conn.Raw(func(any) error { return driver.ErrBadConn }) // makes database/sql close it
	_ = c.conn.Close()
	conn, err := c.db.Conn(ctx)
	if err == nil {
		c.conn = conn
	}
	return err
}

func (c *sqliteConn) forget() error {
	var errs []error
	for _, statement := range c.statements {
		errs = append(errs, statement.Close())
	}
	clear(c.statements)
	return errors.Join(errs...)
}

func (c *sqliteConn) close() error { return errors.Join(c.forget(), c.conn.Close()) }
