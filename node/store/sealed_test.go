package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/identity"
	"agentlink/node/owner"
	"agentlink/node/store"
	"agentlink/node/store/storetest"
)

// TestSealed: nothing of what the core stores for people lies open in the
// database.
func TestSealed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, open storetest.Opener) {
		s := open(t)
		inTx(t, s, func(tx node.Tx) error {
			_, err := s.InsertOwner(tx, owner.Owner{ID: "o1", Name: "canary name", CreatedAt: tx.Now()}, "canary password hash")
			err2 := audit.New(s, []byte("key")).Append(tx, audit.Event{
				Type: audit.GrantSet, Actor: node.Actor{Kind: node.ActorOwner}, Data: map[string]any{"text": "canary data"},
			})
			_, _, _, err3 := s.ClaimIdempotency(tx, "a1", "canary key", "canary body hash")
			return errors.Join(err, err2, err3,
				s.InsertNodeKeys(tx, identity.Keys{ID: "k1", Seed: []byte("canary seed"), AgeIdentity: "canary identity", CreatedAt: tx.Now()}),
				s.KeepAnswer(tx, "a1", "canary key", []byte("canary answer")),
				s.SetSetting(tx, "name", []byte("canary setting")))
		})
		dump := dump(t, s)
		for _, known := range []string{"grant.set", "o1", "k1", "name"} {
			if !strings.Contains(dump, known) {
				t.Errorf("the dump lacks %q, so it says nothing:\n%s", known, dump)
			}
		}
		if at := strings.Index(dump, "canary"); at >= 0 {
			t.Errorf("in the clear: %q", dump[at:at+24])
		}
	})
}

// dump is everything in the tables of the core.
func dump(t *testing.T, s *store.Store) string {
	t.Helper()
	var all bytes.Buffer
	columns := describeColumns(t, s)
	for _, table := range slices.Sorted(maps.Keys(columns)) {
		inTx(t, s, func(tx node.Tx) error {
			return s.Each(tx, "SELECT "+strings.Join(columns[table], ", ")+" FROM "+table, nil, func(scan func(...any) error) error {
				values := make([]any, len(columns[table]))
				for i := range values {
					values[i] = new(any)
				}
				err := scan(values...)
				for _, value := range values {
					fmt.Fprintf(&all, "%s ", text(*value.(*any)))
				}
				return err
			})
		})
	}
	return all.String()
}

func text(value any) string {
	if b, ok := value.([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(value)
}

// describeColumns lists the columns of each table; both databases have the same.
func describeColumns(t *testing.T, s *store.Store) map[string][]string {
	t.Helper()
	columns := map[string][]string{}
	for name := range describe(t, storetest.OpenMemory(t), sqliteColumns, sqliteIndexes).Columns {
		table, column, _ := strings.Cut(name, ".")
		columns[table] = append(columns[table], column)
	}
	return columns
}

// TestSealedInPlace: a value that is moved to another row does not open.
func TestSealedInPlace(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, open storetest.Opener) {
		s := open(t)
		inTx(t, s, func(tx node.Tx) error {
			return errors.Join(s.SetSetting(tx, "a", []byte("1")), s.SetSetting(tx, "b", []byte("2")))
		})
		write(t, s, `UPDATE settings SET value = (SELECT o.value FROM settings o WHERE o.name = 'b') WHERE name = 'a'`)
		err := s.View(t.Context(), func(tx node.Tx) error { _, err := s.Setting(tx, "a"); return err })
		wantCode(t, err, node.Internal)
	})
}
