package storetest

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
)

// Tap reads a database in memory as it is stored, over the one connection that its
// store has. Nothing else may use the store meanwhile.
type Tap struct{ conn driver.Conn }

// Wrap is for store.Config.
func (t *Tap) Wrap(c driver.Connector) driver.Connector { return tapped{c, t} }

type tapped struct {
	driver.Connector
	tap *Tap
}

// Connect implements driver.Connector.
func (c tapped) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	c.tap.conn = conn
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
