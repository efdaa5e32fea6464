package storetest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"agentlink/node"
	"agentlink/node/seal"
	"agentlink/node/store"
)

// Database is a fresh database, whose tables Open makes.
type Database struct {
	URL   string
	Box   *seal.Box
	Clock node.Clock // the machine's where nil
}

// Open opens the database and brings its tables up to date. Opening it twice
// gives two replicas of a node. The store is closed when the test ends.
func (d Database) Open(t testing.TB) *store.Store {
	t.Helper()
	s := d.OpenBare(t)
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatalf("migrate: %v", err)
	}
	return s
}

// OpenBare is Open without making tables.
func (d Database) OpenBare(t testing.TB) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{URL: d.URL, Box: d.Box, Clock: d.Clock})
	if err != nil {
		t.Fatalf("open a store: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return s
}

// SQLite is a fresh file.
func SQLite(t *testing.T) Database {
	t.Helper()
	return sqliteDatabase(t)
}

func sqliteDatabase(t testing.TB) Database {
	return Database{URL: "sqlite:" + filepath.Join(t.TempDir(), "node.db"), Box: newBox()}
}

// Memory is a database that ends with its store.
func Memory(t *testing.T) Database {
	t.Helper()
	return memoryDatabase(t)
}

func memoryDatabase(testing.TB) Database {
	return Database{URL: "sqlite::memory:", Box: newBox()}
}

func newBox() *seal.Box {
	key := make([]byte, 32)
	rand.Read(key)
	return seal.NewBox(key)
}

// RequirePostgres skips the test where no server is given, or fails it where
// AGENTLINK_REQUIRE_POSTGRES=1 says that there has to be one.
func RequirePostgres(t testing.TB) {
	t.Helper()
	if os.Getenv("AGENTLINK_TEST_DATABASE_URL") != "" {
		return
	}
	if os.Getenv("AGENTLINK_REQUIRE_POSTGRES") == "1" {
		t.Fatal("AGENTLINK_TEST_DATABASE_URL is not set, and AGENTLINK_REQUIRE_POSTGRES=1 asks for it")
	}
	t.Skip(`needs PostgreSQL: eval "$(.ci/postgres start)" sets AGENTLINK_TEST_DATABASE_URL`)
}

// Postgres is a fresh schema, dropped when the test ends.
func Postgres(t *testing.T) Database {
	t.Helper()
	return postgresDatabase(t)
}

func postgresDatabase(t testing.TB) Database {
	t.Helper()
	RequirePostgres(t)
	server := os.Getenv("AGENTLINK_TEST_DATABASE_URL")
	name := make([]byte, 8)
	rand.Read(name)
	schema := "test_" + hex.EncodeToString(name)
	onServer(t, server, "CREATE SCHEMA "+schema)
	t.Cleanup(func() { onServer(t, server, "DROP SCHEMA "+schema+" CASCADE") })
	return Database{URL: withSchema(t, server, schema), Box: newBox()}
}

func onServer(t testing.TB, server, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		t.Fatalf("connect to the server of AGENTLINK_TEST_DATABASE_URL: %v", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func withSchema(t testing.TB, server, schema string) string {
	t.Helper()
	address, err := url.Parse(server)
	if err != nil {
		t.Fatal("AGENTLINK_TEST_DATABASE_URL is not a URL")
	}
	options := address.Query()
	options.Set("search_path", schema)
	address.RawQuery = options.Encode()
	return address.String()
}

// Benchmarked lists fresh databases of all kinds for benchmarks.
var Benchmarked = map[string]func(testing.TB) Database{
	"sqlite": sqliteDatabase, "postgres": postgresDatabase, "memory": memoryDatabase,
}
