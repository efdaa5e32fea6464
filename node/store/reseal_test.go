package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/seal"
	"agentlink/node/store"
	"agentlink/node/store/storetest"
)

// TestReseal: after it each sealed column that the schema has opens with the next key,
// at its place, and with the one before no more. A value that was damaged stays so.
func TestReseal(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, open storetest.Opener) {
		s, master := open(t), seal.NewMaster()
		s.SetBox(master.Box())
		cells := storetest.Cells(t, s)
		complete(t, cells)
		at := slices.IndexFunc(cells, func(c storetest.Cell) bool { return c.Table == "settings" })
		broken, readable := cells[at], slices.Delete(slices.Clone(cells), at, at+1)
		inTx(t, s, func(tx node.Tx) error { return put(s, tx, broken, []byte("\x01 no sealed value of this node")) })
		next := master.Next()
		reseal(t, s, next, store.Resealed{Values: countSealed(t, s) - 1, Damaged: 1})
		for _, c := range readable {
			if damaged, err := read(t, s, c); !damaged && !errors.Is(err, seal.ErrNotOpened) {
				t.Errorf("%s where %s opens with the key from before: %v", nameOf(c), c.Where, err)
			}
		}
		s.SetBox(next.Box())
		for _, c := range readable {
			if damaged, err := read(t, s, c); damaged || err != nil {
				t.Errorf("%s where %s: damaged %v, %v", nameOf(c), c.Where, damaged, err)
			}
		}
		if _, err := read(t, s, broken); !errors.Is(err, seal.ErrNotOpened) {
			t.Errorf("what was damaged: %v", err)
		}
	})
}

// TestResealManyRows: more rows than are in memory together, by a key of one column
// and of several.
func TestResealManyRows(t *testing.T) {
	t.Parallel()
	const rows = 450
	storetest.Each(t, func(t *testing.T, open storetest.Opener) {
		s, master := open(t), seal.NewMaster()
		s.SetBox(master.Box())
		inTx(t, s, func(tx node.Tx) error {
			log := audit.New(s, []byte("key"))
			for i := range rows {
				name := fmt.Sprint(i)
				if err := errors.Join(s.SetSetting(tx, name, []byte(name)),
					s.KeepAck(tx, fmt.Sprint("agent ", i%7), name, "c1@ben.test", []byte(name), tx.Now()),
					log.Append(tx, audit.Event{Type: audit.GrantSet, Actor: node.Actor{Kind: node.ActorOwner}, Data: map[string]any{"n": i}})); err != nil {
					return err
				}
			}
			return nil
		})
		next := master.Next()
		reseal(t, s, next, store.Resealed{Values: 3 * rows})
		s.SetBox(next.Box())
		inTx(t, s, func(tx node.Tx) error {
			for i := range rows {
				name := fmt.Sprint(i)
				value, err := s.Setting(tx, name)
				signed, _, err2 := s.KeptAck(tx, fmt.Sprint("agent ", i%7), name, "c1@ben.test")
				if err := errors.Join(err, err2); err != nil || string(value) != name || string(signed) != name {
					return fmt.Errorf("row %d is %q and %q: %w", i, value, signed, err)
				}
			}
			report, err := audit.New(s, []byte("key")).Verify(tx, true)
			if !report.OK() {
				t.Error(report.Problem)
			}
			return err
		})
	})
}

func reseal(t *testing.T, s *store.Store, next seal.Master, want store.Resealed) {
	t.Helper()
	inTx(t, s, func(tx node.Tx) error {
		done, err := s.Reseal(tx, next.Box())
		if done != want {
			t.Errorf("got %+v, want %+v", done, want)
		}
		return err
	})
}

func read(t *testing.T, s *store.Store, c storetest.Cell) (damaged bool, err error) {
	t.Helper()
	_ = s.InTx(t.Context(), func(tx node.Tx) error {
		damaged, err = c.Read(tx)
		return errPutBack
	})
	return damaged, err
}

// countSealed counts the values in the columns of bytes that are sealed.
func countSealed(t *testing.T, s *store.Store) (count int64) {
	t.Helper()
	columns := describe(t, storetest.OpenMemory(t), sqliteColumns, sqliteIndexes).Columns
	inTx(t, s, func(tx node.Tx) error {
		for name, kind := range columns {
			table, column, _ := strings.Cut(name, ".")
			if !strings.HasPrefix(kind, "BLOB") || unsealed[name] {
				continue
			}
			var here int64
			if err := s.One(tx, "SELECT COUNT("+column+") FROM "+table, nil, &here); err != nil {
				return err
			}
			count += here
		}
		return nil
	})
	return count
}

// TestRewrite: a former value, which a plain update leaves in the file's free pages, is
// gone from every file of the database.
func TestRewrite(t *testing.T) {
	t.Parallel()
	database := storetest.SQLite(t)
	s, next := database.Open(t), seal.NewMaster()
	var former [][]byte
	inTx(t, s, func(tx node.Tx) error {
		for i := range 500 {
			if err := s.SetSetting(tx, fmt.Sprint(i), bytes.Repeat([]byte("value "), 50)); err != nil {
				return err
			}
		}
		return nil
	})
	inTx(t, s, func(tx node.Tx) error {
		return s.Each(tx, `SELECT value FROM settings`, nil, func(scan func(...any) error) error {
			var value []byte
			err := scan(&value)
			former = append(former, value)
			return err
		})
	})
	inTx(t, s, func(tx node.Tx) error { _, err := s.Reseal(tx, next.Box()); return err })
	if inFiles(t, database, former) == 0 {
		t.Error("nothing former is left even without Rewrite: this test says nothing")
	}
	if err := s.Rewrite(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := inFiles(t, database, former); left > 0 {
		t.Errorf("%d of %d former values are still there", left, len(former))
	}
}

// inFiles counts the values that the files of a database hold.
func inFiles(t *testing.T, database storetest.Database, values [][]byte) (count int) {
	t.Helper()
	files, err := filepath.Glob(strings.TrimPrefix(database.URL, "sqlite:") + "*")
	if err != nil || len(files) == 0 {
		t.Fatalf("files %v, %v", files, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range values {
			count += bytes.Count(content, value)
		}
	}
	return count
}
