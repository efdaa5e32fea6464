package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"agentlink/node"
)

// sqliteFile is a database in a file: one connection that writes, some that
// read. Readers never wait for the writer, since the journal is a WAL.
type sqliteFile struct {
	path    string
	wrap    Wrap
	db      *sql.DB // of the writer
	writer  *writer
	readDB  *sql.DB
	readers chan *sqliteConn
	count   int
}

const busyMillis = 5000

func openFile(ctx context.Context, path string, wrap Wrap) (engine, error) {
	if err := createPrivate(path); err != nil {
		return nil, &node.Error{Code: node.Unavailable, Message: "The database file cannot be opened.", Err: err}
	}
	e := &sqliteFile{path: path, wrap: wrap, count: max(4, runtime.NumCPU())}
	var err error
	if e.db, err = openPool(wrap, path, 1, "immediate", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)", "temp_store(MEMORY)"); err != nil {
		return nil, sqliteFault(err).err
	}
	if e.writer, err = newWriter(ctx, e.db); err != nil {
		return nil, errors.Join(sqliteFault(err).err, e.db.Close())
	}
	if err := e.openReaders(ctx); err != nil {
		return nil, errors.Join(sqliteFault(err).err, e.close())
	}
	return e, nil
}

// createPrivate makes the file before SQLite does, which would let others read
// it. SQLite gives its journals the mode of the file.
func createPrivate(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// openPool opens up to n connections with the same pragmas. The busy time-out
// comes first, so that the other pragmas already wait.
func openPool(wrap Wrap, path string, n int, lock string, pragmas ...string) (*sql.DB, error) {
	options := url.Values{"_txlock": {lock}, "_pragma": {fmt.Sprintf("busy_timeout(%d)", busyMillis)}}
	for _, pragma := range pragmas {
		options.Add("_pragma", pragma)
	}
	name := "file:" + (&url.URL{Path: filepath.Clean(path)}).EscapedPath() + "?" + options.Encode()
	plain, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, err
	}
	db := wrap.over(sqliteConnector{name, plain.Driver()})
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db, nil
}

// sqliteConnector opens connections to one database.
type sqliteConnector struct {
	name   string
	driver driver.Driver
}

// Connect implements driver.Connector.
func (c sqliteConnector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.name) }

// Driver implements driver.Connector.
func (c sqliteConnector) Driver() driver.Driver { return c.driver }

func (e *sqliteFile) openReaders(ctx context.Context) (err error) {
	if e.readDB, err = openPool(e.wrap, e.path, e.count, "deferred", "query_only(1)"); err != nil {
		return err
	}
	e.readers = make(chan *sqliteConn, e.count)
	for range e.count {
		conn, err := newSQLiteConn(ctx, e.readDB)
		if err != nil {
			return err
		}
		e.readers <- conn
	}
	return nil
}

func (e *sqliteFile) write(ctx context.Context, run func(querier) error) error {
	return e.writer.write(ctx, run)
}

func (e *sqliteFile) read(ctx context.Context, run func(querier) error) error {
	var conn *sqliteConn
	select {
	case conn = <-e.readers:
	case <-ctx.Done():
		return ctx.Err()
	case <-e.writer.stop:
		return errClosed()
	}
	defer func() { e.readers <- conn }()
	return conn.within("BEGIN", "ROLLBACK", run)
}

func (e *sqliteFile) fault(err error) *fault { return sqliteFault(err) }

// ping reads; where the last write failed, it writes too, as it does for a disk
// that was full.
func (e *sqliteFile) ping(ctx context.Context) error {
	if e.writer.failing.Load() {
		return e.write(ctx, func(q querier) error {
			_, err := q.exec(ctx, "UPDATE audit_head SET rev = rev + 1 WHERE id = 1", nil)
			if err != nil {
				return sqliteFault(err)
			}
			return nil
		})
	}
	return e.read(ctx, pingStatement)
}

// pingStatement reads a page of the file, which "SELECT 1" would not.
func pingStatement(q querier) error {
	rows, err := q.query(context.Background(), "SELECT COUNT(*) FROM sqlite_schema", nil)
	if err != nil {
		return sqliteFault(err)
	}
	defer func() { _ = rows.Close() }()
	return rows.Err()
}

// announce has nobody to tell: a file has one process.
func (e *sqliteFile) announce(querier, []string) error { return nil }

func (e *sqliteFile) listen(*wakeHub) {}

func (e *sqliteFile) sole() string { return "SELECT 1" }

// rewrite writes the whole file anew, and empties its log of writes.
func (e *sqliteFile) rewrite(ctx context.Context, _ []string) error {
	return e.alone(ctx, func(db *sql.DB) error {
		_, err := db.ExecContext(ctx, "VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")
		return err
	})
}

// close waits for running readers and for the writer.
func (e *sqliteFile) close() error {
	e.writer.close()
	errs := []error{e.db.Close()}
	for range cap(e.readers) {
		errs = append(errs, (<-e.readers).close())
	}
	if e.readDB != nil {
		errs = append(errs, e.readDB.Close())
	}
	return errors.Join(errs...)
}

func (e *sqliteFile) schema() schema {
	return schema{folder: "sqlite", dialect: goose.DialectSQLite3, alone: e.alone}
}

// alone opens a connection of its own: the writer keeps its one.
func (e *sqliteFile) alone(_ context.Context, use func(*sql.DB) error) error {
	db, err := openPool(e.wrap, e.path, 1, "immediate", "foreign_keys(1)", "synchronous(FULL)")
	if err != nil {
		return err
	}
	return errors.Join(use(db), db.Close())
}
