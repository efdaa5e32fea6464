// Package store keeps everything that the node remembers, in SQLite or in
// PostgreSQL, with one set of statements for both. It seals what is secret or
// personal on the way in and opens it on the way out.
//
// store.go, tx.go, sqlite*.go, postgres.go, errors*.go, migrate.go and wake.go
// are the core; every other file holds the statements of the domain that it is
// named after.
package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"
	"sync/atomic"
	"time"

	"agentlink/node"
	"agentlink/node/seal"
)

// Config is what a store needs.
type Config struct {
	// URL is "sqlite:PATH", "sqlite::memory:" or "postgres://…".
	URL   string
	Box   *seal.Box
	Clock node.Clock // the machine's clock where nil
	// Wrap stands between the store and its driver; nil for nothing. Tests make
	// calls fail there.
	Wrap Wrap
}

// Wrap puts something of its own in front of a driver.
type Wrap func(driver.Connector) driver.Connector

// over is a handle of the driver, with what is wrapped around it.
func (w Wrap) over(connector driver.Connector) *sql.DB {
	if w != nil {
		connector = w(connector)
	}
	return sql.OpenDB(connector)
}

// Store implements node.DB and the Store interface of every domain package.
type Store struct {
	box    *seal.Box
	clock  node.Clock
	engine engine
	wake   *wakeHub
	closed atomic.Bool
}

// engine is what the two databases do differently. What it returns of its own
// is a *fault; errors of run pass through untouched.
type engine interface {
	// write runs run in one transaction and returns when it is durable.
	write(ctx context.Context, run func(querier) error) error
	// read runs run on one unchanging snapshot, where nothing can be written.
	read(ctx context.Context, run func(querier) error) error
	// fault reads a driver's error.
	fault(err error) *fault
	ping(ctx context.Context) error
	schema() schema
	// announce tells other processes, within the transaction, what it concerns.
	announce(q querier, topics []string) error
	// listen feeds the hub with what other processes announce, until close.
	listen(hub *wakeHub)
	// sole is the statement that says whether no other process listens; then none can
	// begin to until the transaction ends.
	sole() string
	// rewrite writes tables anew, so that nothing of former values is left in their files.
	rewrite(ctx context.Context, tables []string) error
	close() error
}

// Open connects to the database. It does not migrate. Code: unavailable when it
// cannot be reached, bad_request when the URL names no database that is known.
func Open(ctx context.Context, c Config) (*Store, error) {
	clock := c.Clock
	if clock == nil {
		clock = node.SystemClock{}
	}
	engine, err := openEngine(ctx, c.URL, c.Wrap)
	if err != nil {
		return nil, err
	}
	return &Store{box: c.Box, clock: clock, engine: engine, wake: newWakeHub()}, nil
}

func openEngine(ctx context.Context, url string, wrap Wrap) (engine, error) {
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok && path != "" {
		if path == ":memory:" {
			return openMemory(ctx, wrap)
		}
		return openFile(ctx, path, wrap)
	}
	if strings.HasPrefix(url, "postgres://") || strings.HasPrefix(url, "postgresql://") {
		return openPostgres(ctx, url, wrap)
	}
	return nil, node.Errorf(node.BadRequest, "The database URL must be sqlite:PATH, sqlite::memory: or postgres://….")
}

// Ping says whether the database answers. Code: unavailable.
func (s *Store) Ping(ctx context.Context) error {
	if s.closed.Load() {
		return errClosed().err
	}
	return s.plain(s.engine.ping(ctx))
}

// Close lets running transactions end and closes the database.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	return s.engine.close()
}

// seal closes a value over its place; nil and empty stay nil.
func (s *Store) seal(place seal.Place, plaintext []byte) []byte {
	if len(plaintext) == 0 {
		return nil
	}
	return s.box.Seal(place, plaintext)
}

// open is the opposite of seal.
func (s *Store) open(place seal.Place, sealed []byte) ([]byte, error) {
	if len(sealed) == 0 {
		return nil, nil
	}
	plaintext, err := s.box.Open(place, sealed)
	return plaintext, node.Wrap(err, "open "+place.Table+"."+place.Column)
}

// micros is how times are stored: microseconds since 1970, 0 for the zero time.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// timeOf is the opposite of micros, in UTC.
func timeOf(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}
