package storetest

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
)

// Tap reads a database in memory as it is stored, over the one connection that its
// store has. Nothing else may use the store meanwhile.
type Tap struct {
	conn    driver.Conn
	changes driver.Stmt
}

// Wrap is for store.Config.
func (t *Tap) Wrap(c driver.Connector) driver.Connector { return tapped{c, t} }

type tapped struct {
	driver.Connector
	tap *Tap
}

// Connect implements driver.Connector.
func (c tapped) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	c.tap.conn, c.tap.changes = conn, nil
	return conn, err
}

// Do runs statements that are not the store's, one after the other.
func (t *Tap) Do(ctx context.Context, statements string) error {
	doing, ok := t.conn.(driver.ExecerContext)
	if !ok {
		return errors.New("the driver takes no statement without preparing it")
	}
	_, err := doing.ExecContext(ctx, statements, nil)
	return err
}

// Changes counts the rows that were ever changed over the connection, also by
// transactions that did not commit. Where it stays the same nothing was.
func (t *Tap) Changes(ctx context.Context) (count int64, err error) {
	if t.changes == nil {
		if t.changes, err = t.conn.Prepare("SELECT total_changes()"); err != nil {
			return 0, err
		}
	}
	asked, ok := t.changes.(driver.StmtQueryContext)
	if !ok {
		return 0, errors.New("the driver's statements take no context")
	}
	rows, err := asked.QueryContext(ctx, nil)
	if err != nil {
		return 0, err
	}
	value := make([]driver.Value, 1)
	err = rows.Next(value)
	count, _ = value[0].(int64)
	return count, errors.Join(err, rows.Close())
}

// Cells gives all texts and bytes that a query finds.
func (t *Tap) Cells(ctx context.Context, query string) (all []string, err error) {
	asked, ok := t.conn.(driver.QueryerContext)
	if !ok {
		return nil, errors.New("the driver takes no query without preparing it")
	}
	rows, err := asked.QueryContext(ctx, query, nil)
	if err != nil {
		return nil, err
	}
	values := make([]driver.Value, len(rows.Columns()))
	for err = rows.Next(values); err == nil; err = rows.Next(values) {
		for _, v := range values {
			switch v := v.(type) {
			case string:
				all = append(all, v)
			case []byte:
				all = append(all, string(v))
			}
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, rows.Close())
	}
	return all, rows.Close()
}
