package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"agentlink/node"
)

// postgres is a database on a server, which replicas of the node may share.
type postgres struct {
	db     *sql.DB
	config *pgx.ConnConfig
	// self marks our own announcements among those that we hear.
	self string

	// full is when a write last met a server without room, in nanoseconds.
	full atomic.Int64

	once   sync.Once
	cancel context.CancelFunc
	heard  sync.WaitGroup
	ctx    context.Context
}

// remembersFull is how long after a write that found no room the database counts
// as one that cannot be used.
const remembersFull = 2 * time.Second

var errNoRoom = errors.New("the server of the database has no room: free some of its disk or memory")

// maxConns leaves room for four replicas and their listeners under the
// server's default of 100 connections.
const maxConns = 20

func openPostgres(ctx context.Context, url string, wrap Wrap) (engine, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil { // its text may hold the password
		return nil, node.Errorf(node.BadRequest, "The database URL is not one that PostgreSQL understands.")
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "agentlink"
	}
	// A frozen process must not keep others off its rows for ever.
	config.RuntimeParams["idle_in_transaction_session_timeout"] = "60000"
	e := &postgres{db: wrap.over(stdlib.GetConnector(*config)), config: config, self: rand.Text()}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.db.SetMaxOpenConns(maxConns)
	e.db.SetMaxIdleConns(maxConns)
	e.db.SetConnMaxIdleTime(5 * time.Minute)
	if err := e.ping(ctx); err != nil {
		_ = e.close()
		return nil, postgresFault(err).err
	}
	return e, nil
}

func (e *postgres) write(ctx context.Context, run func(querier) error) error {
	err := e.within(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted}, run)
	if noRoom(err) {
		e.full.Store(node.SystemClock{}.Now().UnixNano())
	}
	return err
}

// read sees one snapshot, as a reader of SQLite does; a page of the audit log and
// its head belong together.
func (e *postgres) read(ctx context.Context, run func(querier) error) error {
	return e.within(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}, run)
}

// within waits for a connection as long as the context allows. The transaction
// itself does not end with the context, so that a commit is never left open;
// its statements do.
func (e *postgres) within(ctx context.Context, options *sql.TxOptions, run func(querier) error) error {
	conn, err := e.db.Conn(ctx)
	if err != nil {
		return postgresFault(err)
	}
	defer func() { _ = conn.Close() }()
	tx, err := conn.BeginTx(context.WithoutCancel(ctx), options)
	if err != nil {
		return postgresFault(err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after a commit
	if err := run(postgresTx{tx}); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return postgresFault(err)
	}
	return nil
}

type postgresTx struct{ tx *sql.Tx }

func (t postgresTx) exec(ctx context.Context, query string, args []any) (int64, error) {
	result, err := t.tx.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (t postgresTx) query(ctx context.Context, query string, args []any) (*sql.Rows, error) {
	return t.tx.QueryContext(ctx, query, args...)
}

func (e *postgres) fault(err error) *fault { return postgresFault(err) }

// ping asks the server for an answer, and remembers for a while that there was no
// room: a disk that is full still takes a small write here and there, so that a
// write of its own would tell nothing.
func (e *postgres) ping(ctx context.Context) error {
	if err := e.db.PingContext(ctx); err != nil {
		return postgresFault(err)
	}
	if ago := (node.SystemClock{}).Now().UnixNano() - e.full.Load(); ago < int64(remembersFull) {
		return &fault{err: unavailable(errNoRoom)}
	}
	return nil
}

// longestPayload is what PostgreSQL announces at once: less than 8,000 bytes.
const longestPayload = 7000

// announce sends the topics with the commit. The channel is shared by all
// stores of a schema.
func (e *postgres) announce(q querier, topics []string) error {
	text := strings.Join(topics, " ")
	if len(text) > longestPayload {
		text = everything
	}
	_, err := q.exec(e.ctx, "SELECT pg_notify("+channel+", $1)", []any{e.self + " " + text})
	return err
}

func (e *postgres) sole() string { return "SELECT pg_try_advisory_xact_lock(" + listening + ")" }

func (e *postgres) rewrite(ctx context.Context, tables []string) error {
	for _, table := range tables {
		if _, err := e.db.ExecContext(ctx, "VACUUM FULL "+table); err != nil {
			return err
		}
	}
	return nil
}

func (e *postgres) close() error {
	e.cancel()
	e.heard.Wait()
	return e.db.Close()
}

func (e *postgres) schema() schema {
	return schema{folder: "postgres", dialect: goose.DialectPostgres, alone: e.alone}
}

// migrationLock is an advisory lock for each schema.
const migrationLock = "hashtextextended('agentlink migration of ' || current_schema(), 0)"

// alone holds an advisory lock, which ends with its connection at the latest.
func (e *postgres) alone(ctx context.Context, use func(*sql.DB) error) error {
	conn, err := e.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock("+migrationLock+")"); err != nil {
		return err
	}
	err = use(e.db)
	_, unlockErr := conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock("+migrationLock+")")
	return errors.Join(err, unlockErr)
}
