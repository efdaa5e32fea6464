package store_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
	"agentlink/node/store"
	"agentlink/node/store/storetest"
)

// What a schema is made of, as both databases tell it. Goose's own table is no
// part of it.
const (
	sqliteColumns = `SELECT m.name || '.' || c.name, c.type || CASE WHEN c."notnull" = 1 THEN ' NOT NULL' ELSE '' END
		FROM sqlite_schema m JOIN pragma_table_info(m.name) c
		WHERE m.type = 'table' AND m.name NOT LIKE 'goose%' AND m.name NOT LIKE 'sqlite%'`
	sqliteIndexes = `SELECT tbl_name || ': ' || name, sql FROM sqlite_schema
		WHERE type = 'index' AND sql IS NOT NULL`
	postgresColumns = `SELECT table_name || '.' || column_name,
			CASE data_type WHEN 'bigint' THEN 'INTEGER' WHEN 'text' THEN 'TEXT' WHEN 'bytea' THEN 'BLOB' ELSE data_type END
			|| CASE WHEN is_nullable = 'NO' THEN ' NOT NULL' ELSE '' END
		FROM information_schema.columns WHERE table_schema = current_schema() AND table_name NOT LIKE 'goose%'`
	postgresIndexes = `SELECT tablename || ': ' || indexname, indexdef FROM pg_indexes i
		WHERE schemaname = current_schema() AND tablename NOT LIKE 'goose%'
		AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conname = i.indexname AND c.connamespace = current_schema()::regnamespace)`
)

type description struct {
	Columns, Indexes map[string]string
}

func describe(t *testing.T, s *store.Store, columns, indexes string) description {
	t.Helper()
	read := func(tx node.Tx, query string) (map[string]string, error) {
		found := map[string]string{}
		err := s.Each(tx, query, nil, func(scan func(...any) error) error {
			var name, what string
			err := scan(&name, &what)
			found[name] = what
			return err
		})
		return found, err
	}
	var d description
	err := s.View(t.Context(), func(tx node.Tx) (err error) {
		if d.Columns, err = read(tx, columns); err != nil {
			return err
		}
		d.Indexes, err = read(tx, indexes)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestUpDownUp: down takes away all that up made, and up makes it again.
func TestUpDownUp(t *testing.T) {
	t.Parallel()
	for name, engine := range map[string]struct {
		open             func(*testing.T) *store.Store
		columns, indexes string
	}{
		"sqlite":   {storetest.OpenSQLite, sqliteColumns, sqliteIndexes},
		"memory":   {storetest.OpenMemory, sqliteColumns, sqliteIndexes},
		"postgres": {storetest.OpenPostgres, postgresColumns, postgresIndexes},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := engine.open(t)
			inTx(t, s, set(s, "before"))
			up := describe(t, s, engine.columns, engine.indexes)
			if len(up.Columns) < 50 || up.Indexes["outbox: outbox_due"] == "" {
				t.Errorf("the schema is %v", up)
			}
			if err := s.MigrateDown(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			if down := describe(t, s, engine.columns, engine.indexes); len(down.Columns)+len(down.Indexes) != 0 {
				t.Errorf("left by down: %v", down)
			}
			for range 2 { // the second finds nothing to do
				if err := s.Migrate(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(up, describe(t, s, engine.columns, engine.indexes)); diff != "" {
				t.Errorf("up again (-first +second):\n%s", diff)
			}
			if has(t, s, "before") {
				t.Error("down kept what was stored")
			}
			inTx(t, s, set(s, "after"))
		})
	}
}

// TestOneSchema: both databases have the same tables, columns and indexes, and
// SQLite is as strict about types as PostgreSQL.
func TestOneSchema(t *testing.T) {
	t.Parallel()
	postgres := describe(t, storetest.OpenPostgres(t), postgresColumns, postgresIndexes)
	s := storetest.OpenMemory(t)
	sqlite := describe(t, s, sqliteColumns, sqliteIndexes)
	if diff := cmp.Diff(sqlite.Columns, postgres.Columns); diff != "" {
		t.Errorf("columns (-sqlite +postgres):\n%s", diff)
	}
	for _, indexes := range []map[string]string{sqlite.Indexes, postgres.Indexes} {
		for name := range indexes {
			indexes[name] = ""
		}
	}
	if diff := cmp.Diff(sqlite.Indexes, postgres.Indexes); diff != "" {
		t.Errorf("indexes (-sqlite +postgres):\n%s", diff)
	}
	inTx(t, s, func(tx node.Tx) error {
		return s.Each(tx, `SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND strict = 0
			AND name NOT LIKE 'goose%' AND name NOT LIKE 'sqlite%'`, nil, func(scan func(...any) error) error {
			var name string
			err := scan(&name)
			t.Errorf("table %s is not STRICT", name)
			return err
		})
	})
	inTx(t, s, func(tx node.Tx) error { // a check at the commit would fail others of the same batch
		var deferred int
		err := s.One(tx, `SELECT COUNT(*) FROM sqlite_schema WHERE sql LIKE '%DEFERR%'`, nil, &deferred)
		if deferred != 0 {
			t.Errorf("%d tables have deferred constraints", deferred)
		}
		return err
	})
}

// TestMigrateAtOnce: replicas that start together make one schema.
func TestMigrateAtOnce(t *testing.T) {
	t.Parallel()
	database := storetest.Postgres(t)
	var done sync.WaitGroup
	for i := range 5 {
		s := database.OpenBare(t)
		done.Go(func() {
			if err := s.Migrate(t.Context()); err != nil {
				t.Errorf("replica %d: %v", i, err)
				return
			}
			if err := s.InTx(t.Context(), set(s, fmt.Sprint(i))); err != nil {
				t.Errorf("replica %d: %v", i, err)
			}
		})
	}
	done.Wait()
	if n := count(t, database.OpenBare(t), "settings"); n != 5 {
		t.Errorf("%d settings, want 5", n)
	}
}

// TestNewerSchema: a database that a newer program has changed is left alone.
func TestNewerSchema(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, open storetest.Opener) {
		s := open(t)
		write(t, s, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, CAST($1 AS BOOLEAN))`, "1")
		wantCode(t, s.Migrate(t.Context()), node.Conflict)
		wantCode(t, s.MigrateDown(t.Context(), 0), node.Conflict)
		if n := count(t, s, "audit_head"); n != 1 {
			t.Errorf("the schema was touched")
		}
	})
}
