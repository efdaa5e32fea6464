package durability

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync"
)

// tripwire stands between a store and its driver. It counts the calls that reach
// the database, makes one of them fail, and tells what is about to happen.
type tripwire struct {
	mu    sync.Mutex
	count int
	at    int // the call that fails; 0 for none
	late  bool
	fired bool
	// around sees each call: its statement, and whether it is over.
	around func(c *conn, statement string, over bool)
}

// errPlanted is what a call fails with.
var errPlanted = errors.New("planted: the database does not answer")

// arm makes the n-th call from now fail: before it is done, or late, when it was
// done and only its answer is lost.
func (w *tripwire) arm(n int, late bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count, w.at, w.late, w.fired = 0, n, late, false
}

// disarm says whether the planted failure happened.
func (w *tripwire) disarm() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at = 0
	return w.fired
}

func (w *tripwire) hit() (now, late bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count++
	if w.count != w.at {
		return false, false
	}
	w.fired = true
	return !w.late, w.late
}

// do is one call.
func (w *tripwire) do(c *conn, statement string, call func() error) error {
	if w.around != nil {
		w.around(c, statement, false)
	}
	now, late := w.hit()
	if now {
		return errPlanted
	}
	err := call()
	if err == nil && late {
		err = errPlanted
	}
	if err == nil && w.around != nil {
		w.around(c, statement, true)
	}
	return err
}

// wrap is the store.Wrap of this wire.
func (w *tripwire) wrap(connector driver.Connector) driver.Connector {
	return wired{connector, w}
}

type wired struct {
	driver.Connector
	wire *tripwire
}

// Connect implements driver.Connector.
func (w wired) Connect(ctx context.Context) (driver.Conn, error) {
	inner, err := w.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: inner, wire: w.wire}, nil
}

// conn passes everything on that database/sql asks of a connection of either driver.
type conn struct {
	driver.Conn
	wire *tripwire
	// seen are the statements of the transaction that runs.
	seen []string
}

func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	inner, err := c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return &stmt{Stmt: inner, conn: c, query: query}, nil
}

func (c *conn) BeginTx(ctx context.Context, options driver.TxOptions) (tx driver.Tx, err error) {
	err = c.wire.do(c, "BEGIN", func() error {
		tx, err = c.Conn.(driver.ConnBeginTx).BeginTx(ctx, options)
		return err
	})
	if err != nil {
		if tx != nil {
			_ = tx.Rollback()
		}
		return nil, err
	}
	return &transaction{tx, c}, nil
}

func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (result driver.Result, err error) {
	err = c.wire.do(c, query, func() error {
		result, err = c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
		return err
	})
	return result, err
}

func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return c.query(query, func() (driver.Rows, error) {
		return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
	})
}

func (c *conn) query(query string, call func() (driver.Rows, error)) (rows driver.Rows, err error) {
	err = c.wire.do(c, query, func() error {
		rows, err = call()
		return err
	})
	if err != nil && rows != nil {
		_ = rows.Close()
		rows = nil
	}
	return rows, err
}

func (c *conn) Ping(ctx context.Context) error {
	if p, ok := c.Conn.(driver.Pinger); ok {
		return p.Ping(ctx)
	}
	return nil
}

func (c *conn) ResetSession(ctx context.Context) error {
	if r, ok := c.Conn.(driver.SessionResetter); ok {
		return r.ResetSession(ctx)
	}
	return nil
}

func (c *conn) IsValid() bool {
	v, ok := c.Conn.(driver.Validator)
	return !ok || v.IsValid()
}

func (c *conn) CheckNamedValue(value *driver.NamedValue) error {
	if checker, ok := c.Conn.(driver.NamedValueChecker); ok {
		return checker.CheckNamedValue(value)
	}
	return driver.ErrSkip
}

type stmt struct {
	driver.Stmt
	conn  *conn
	query string
}

func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (result driver.Result, err error) {
	err = s.conn.wire.do(s.conn, s.query, func() error {
		result, err = s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
		return err
	})
	return result, err
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.conn.query(s.query, func() (driver.Rows, error) {
		return s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
	})
}

type transaction struct {
	driver.Tx
	conn *conn
}

func (t *transaction) Commit() error {
	return t.conn.wire.do(t.conn, "COMMIT", t.Tx.Commit)
}

// Rollback is what is left when a call has failed; on PostgreSQL it is done by the
// end of the connection where it cannot be asked for.
func (t *transaction) Rollback() error { return t.Tx.Rollback() }
