package store_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
	"agentlink/node/store"
	"agentlink/node/store/storetest"
)

type (
	word   string
	number int
	blob   []byte
)

// TestValues: what is stored comes back alike from both databases.
func TestValues(t *testing.T) {
	t.Parallel()
	type row struct {
		Holder word
		Until  number
	}
	storetest.Each(t, func(t *testing.T, open storetest.Opener) {
		s := open(t)
		for _, test := range []struct {
			holder, until any
			want          row
		}{
			{word("ä 'quoted' $1 ? \n"), number(-3), row{"ä 'quoted' $1 ? \n", -3}},
			{"plain", int64(1) << 62, row{"plain", 1 << 62}},
			{"", true, row{"", 1}},
			{"", false, row{"", 0}},
		} {
			var got row
			var flag bool
			inTx(t, s, func(tx node.Tx) error {
				if _, err := s.Exec(tx, `DELETE FROM leases`); err != nil {
					return err
				}
				err := s.One(tx, `INSERT INTO leases (name, holder, until) VALUES ('n', $1, $2) RETURNING holder, until`,
					[]any{test.holder, test.until}, &got.Holder, &got.Until)
				if want, ok := test.until.(bool); ok && err == nil {
					err = s.One(tx, `SELECT until FROM leases`, nil, &flag)
					if flag != want {
						t.Errorf("the flag is %v, want %v", flag, want)
					}
				}
				return err
			})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("row (-want +got):\n%s", diff)
			}
		}
	})
}

// TestBytes: bytes are bytes, and only nil is NULL. An empty value is read as
// nil from SQLite.
func TestBytes(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, open storetest.Opener) {
		s := open(t)
		for name, test := range map[string]struct {
			value any
			want  string
			null  bool
		}{
			"nil":       {nil, "", true},
			"nil slice": {[]byte(nil), "", true},
			"nil JSON":  {json.RawMessage(nil), "", true},
			"empty":     {[]byte{}, "", false},
			"bytes":     {[]byte{0, 1, 255}, "\x00\x01\xff", false},
			"named":     {blob("b"), "b", false},
			"JSON":      {json.RawMessage(`{"b": 1}`), `{"b": 1}`, false},
		} {
			var got []byte
			var null bool
			inTx(t, s, func(tx node.Tx) error {
				return s.One(tx, `INSERT INTO settings (name, value) VALUES ($1, $2) RETURNING value, value IS NULL`,
					[]any{name, test.value}, &got, &null)
			})
			if string(got) != test.want || null != test.null {
				t.Errorf("%s is %q, NULL %v; want %q, %v", name, got, null, test.want, test.null)
			}
		}
	})
}

// TestStatements covers the rules of statements in a transaction.
func TestStatements(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, open storetest.Opener) {
		for name, test := range map[string]func(*testing.T, *store.Store){
			"no row": noRow, "row counts": rowCounts, "in order": inOrder, "a failed statement is the last": failedIsLast,
			"reading is busy": readingIsBusy, "wrong place": wrongPlace, "failed scan": failedScan,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, open(t))
			})
		}
	})
}

func inTx(t *testing.T, s *store.Store, f func(tx node.Tx) error) {
	t.Helper()
	if err := s.InTx(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

func wantCode(t *testing.T, err error, code node.Code) {
	t.Helper()
	if known, ok := node.AsError(err); !ok || known.Code != code {
		t.Errorf("got %v, want an error with code %s", err, code)
	}
}

func noRow(t *testing.T, s *store.Store) {
	inTx(t, s, func(tx node.Tx) error {
		var name string
		wantCode(t, s.One(tx, `SELECT name FROM settings WHERE name = $1`, []any{"a"}, &name), node.NotFound)
		return s.SetSetting(tx, "after", nil) // no row is no failure
	})
}

func rowCounts(t *testing.T, s *store.Store) {
	inTx(t, s, func(tx node.Tx) error {
		for _, step := range []struct {
			query string
			want  int64
		}{
			{`INSERT INTO leases (name, holder, until) VALUES ('a', '', 1), ('b', '', 2), ('c', '', 3)`, 3},
			{`INSERT INTO leases (name, holder, until) VALUES ('a', '', 1), ('d', '', 4) ON CONFLICT DO NOTHING`, 1},
			{`UPDATE leases SET until = until + 1 WHERE until > 1`, 3},
			{`UPDATE leases SET until = 0 WHERE until > 100`, 0},
			{`DELETE FROM leases WHERE name = 'a'`, 1},
		} {
			rows, err := s.Exec(tx, step.query)
			if err != nil {
				return err
			}
			if rows != step.want {
				t.Errorf("%s: %d rows, want %d", step.query, rows, step.want)
			}
		}
		return nil
	})
}

func inOrder(t *testing.T, s *store.Store) {
	stop := errors.New("enough")
	inTx(t, s, func(tx node.Tx) error {
		if _, err := s.Exec(tx, `INSERT INTO leases (name, holder, until) VALUES ('a', '', 3), ('b', '', 2), ('c', '', 1)`); err != nil {
			return err
		}
		var got []string
		err := s.Each(tx, `SELECT name FROM leases ORDER BY until`, nil, func(scan func(...any) error) error {
			var name string
			if err := scan(&name); err != nil {
				return err
			}
			if got = append(got, name); len(got) == 2 {
				return stop
			}
			return nil
		})
		if diff := cmp.Diff([]string{"c", "b"}, got); diff != "" || !errors.Is(err, stop) {
			t.Errorf("each gives %v (-want +got):\n%s", err, diff)
		}
		return s.SetSetting(tx, "after", nil) // the connection is free again
	})
}

func failedIsLast(t *testing.T, s *store.Store) {
	err := s.InTx(t.Context(), func(tx node.Tx) error {
		if err := s.SetSetting(tx, "before", nil); err != nil {
			return err
		}
		_, err := s.Exec(tx, `INSERT INTO settings (name, value) VALUES ('before', NULL)`)
		wantCode(t, err, node.Internal)
		wantCode(t, s.SetSetting(tx, "after", nil), node.Internal)
		return nil
	})
	wantCode(t, err, node.Internal)
	if n := count(t, s, "settings"); n != 0 {
		t.Errorf("%d settings were kept of a transaction in which a statement failed", n)
	}
}

func readingIsBusy(t *testing.T, s *store.Store) {
	inTx(t, s, func(tx node.Tx) error {
		if err := s.SetSetting(tx, "a", nil); err != nil {
			return err
		}
		return s.Each(tx, `SELECT name FROM settings`, nil, func(func(...any) error) error {
			wantCode(t, s.SetSetting(tx, "b", nil), node.Internal)
			return nil
		})
	})
}

// foreign is a transaction that the store did not open.
type foreign struct{ node.Tx }

func wrongPlace(t *testing.T, s *store.Store) {
	other := storetest.OpenMemory(t)
	inTx(t, s, func(tx node.Tx) error {
		wantCode(t, other.SetSetting(tx, "a", nil), node.Internal)
		wantCode(t, s.SetSetting(foreign{tx}, "a", nil), node.Internal)
		return nil
	})
	if n := count(t, s, "settings") + count(t, other, "settings"); n != 0 {
		t.Errorf("%d settings were written", n)
	}
}

func failedScan(t *testing.T, s *store.Store) {
	inTx(t, s, func(tx node.Tx) error {
		if err := s.SetSetting(tx, "text", nil); err != nil {
			return err
		}
		var n int
		err := s.One(tx, `SELECT name FROM settings`, nil, &n)
		wantCode(t, err, node.Internal)
		return nil
	})
}

// TestNow: a transaction's time is the clock's.
func TestNow(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, fresh func(*testing.T) storetest.Database) {
		clock := node.NewFakeClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
		database := fresh(t)
		database.Clock = clock
		s := database.Open(t)
		for range 2 {
			clock.Advance(time.Hour)
			for _, begin := range []func(tx func(node.Tx) error) error{
				func(f func(node.Tx) error) error { return s.InTx(t.Context(), f) },
				func(f func(node.Tx) error) error { return s.View(t.Context(), f) },
			} {
				err := begin(func(tx node.Tx) error {
					if !tx.Now().Equal(clock.Now()) {
						t.Errorf("Now is %v, want %v", tx.Now(), clock.Now())
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		}
	})
}
