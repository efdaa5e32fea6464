package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentlink/node"
	"agentlink/node/store"
	"agentlink/node/store/storetest"
)

// TestFileIsPrivate: the data file and its journals are the owner's alone,
// whatever the path looks like.
func TestFileIsPrivate(t *testing.T) {
	t.Parallel()
	database := storetest.SQLite(t)
	folder := t.TempDir()
	path := filepath.Join(folder, "a b?c#d%41&e=f.db")
	database.URL = "sqlite:" + path
	s := database.Open(t)
	inTx(t, s, set(s, "a"))
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
		info, err := entry.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, want 0600", entry.Name(), info.Mode().Perm())
		}
	}
	if base := filepath.Base(path); strings.Join(names, "|") != base+"|"+base+"-shm|"+base+"-wal" {
		t.Errorf("the folder holds %q", names)
	}
}

// TestPragmas: a commit is on the disk, foreign keys hold, and readers only read.
func TestPragmas(t *testing.T) {
	t.Parallel()
	s := storetest.OpenSQLite(t)
	read := func(begin func(func(node.Tx) error) error, pragma string) (value string) {
		t.Helper()
		if err := begin(func(tx node.Tx) error { return s.One(tx, `PRAGMA `+pragma, nil, &value) }); err != nil {
			t.Fatal(err)
		}
		return value
	}
	writer := func(f func(node.Tx) error) error { return s.InTx(t.Context(), f) }
	reader := func(f func(node.Tx) error) error { return s.View(t.Context(), f) }
	for _, test := range []struct {
		begin        func(func(node.Tx) error) error
		pragma, want string
	}{
		{writer, "journal_mode", "wal"}, {writer, "synchronous", "2"}, {writer, "foreign_keys", "1"},
		{writer, "busy_timeout", "5000"}, {reader, "query_only", "1"}, {reader, "busy_timeout", "5000"},
	} {
		if got := read(test.begin, test.pragma); got != test.want {
			t.Errorf("%s is %s, want %s", test.pragma, got, test.want)
		}
	}
	err := reader(func(tx node.Tx) error { _, err := s.LockHead(tx); return err }) // an UPDATE … RETURNING
	wantCode(t, err, node.Internal)
}

// TestMemoryViewWrites: in memory a view's writes are rolled back.
func TestMemoryViewWrites(t *testing.T) {
	t.Parallel()
	s := storetest.OpenMemory(t)
	var rev int
	for range 2 {
		err := s.View(t.Context(), func(tx node.Tx) error {
			return s.One(tx, `UPDATE audit_head SET rev = rev + 1 RETURNING rev`, nil, &rev)
		})
		if err != nil || rev != 1 {
			t.Errorf("the head has revision %d (%v), want 1 each time", rev, err)
		}
	}
}

// TestReopen: what was committed is there after a restart, and memory begins anew.
func TestReopen(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		database func(*testing.T) storetest.Database
		want     bool
	}{"sqlite": {storetest.SQLite, true}, "postgres": {storetest.Postgres, true}, "memory": {storetest.Memory, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := test.database(t)
			s := database.Open(t)
			inTx(t, s, set(s, "a"))
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if got := has(t, database.Open(t), "a"); got != test.want {
				t.Errorf("the setting is there: %v, want %v", got, test.want)
			}
		})
	}
}

// TestCannotOpen: what cannot be opened says so, and no password with it.
func TestCannotOpen(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	garbage := filepath.Join(folder, "garbage.db")
	if err := os.WriteFile(garbage, []byte(strings.Repeat("not a database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for url, code := range map[string]node.Code{
		"":                                       node.BadRequest,
		"sqlite:":                                node.BadRequest,
		"mysql://root:s3cret@localhost/x":        node.BadRequest,
		"postgres://ada:s3cret@localhost:port/x": node.BadRequest,
		"postgres://ada:s3cret@127.0.0.1:1/x?sslmode=disable":           node.Unavailable,
		"postgres://ada:s3cret@127.0.0.1:1/x?sslmode=disable&min_read=": node.Unavailable,
		"sqlite:" + filepath.Join(folder, "missing", "node.db"):         node.Unavailable,
		"sqlite:" + folder:  node.Unavailable,
		"sqlite:" + garbage: node.Internal,
	} {
		s, err := store.Open(t.Context(), store.Config{URL: url})
		if s != nil {
			t.Errorf("%s was opened", url)
		}
		wantCode(t, err, code)
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the error holds the password: %v", err)
		}
	}
}
