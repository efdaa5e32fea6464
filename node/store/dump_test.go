package store

import (
	"slices"
	"testing"

	"agentlink/node"
	"agentlink/node/seal"
)

// TestEveryTableIsDumpedOrNot: a new table has to be decided about.
func TestEveryTableIsDumpedOrNot(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Config{URL: "sqlite::memory:", Box: seal.NewBox(make([]byte, 32))})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	var tables, dumps []string
	err = s.View(t.Context(), func(tx node.Tx) (err error) {
		if dumps, err = s.DumpTables(tx); err != nil {
			return err
		}
		return s.each(tx, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'goose_db_version'`, nil,
			func(scan func(...any) error) error {
				var name string
				err := scan(&name)
				tables = append(tables, name)
				return err
			})
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(dumps) != len(dumped) {
		t.Errorf("%d of %d tables are in a backup of the newest schema", len(dumps), len(dumped))
	}
	for _, name := range tables {
		if _, left := notDumped[name]; left == slices.Contains(dumps, name) {
			t.Errorf("%s: is it in a backup, or not?", name)
		}
	}
	if len(tables) != len(dumps)+len(notDumped) {
		t.Errorf("%d tables, %d in a backup, %d left out", len(tables), len(dumps), len(notDumped))
	}
}
