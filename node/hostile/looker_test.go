package hostile

import (
	"crypto/sha256"
	"database/sql"
	"fmt"
	"slices"
	"testing"

	_ "modernc.org/sqlite"
)

// looker reads a node's database beside the node.
type looker struct{ db *sql.DB }

func newLooker(t testing.TB, path string) looker {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
	must(t, err)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return looker{db}
}

func (l looker) names(t testing.TB) (names []string) {
	t.Helper()
	rows, err := l.db.Query(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name`) //nolint:noctx // a test's
	must(t, err)
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		must(t, rows.Scan(&name))
		names = append(names, name)
	}
	must(t, rows.Err())
	return names
}

// count is the number of rows of a table that a condition holds for.
func (l looker) count(t testing.TB, table, condition string, args ...any) (rows int) {
	t.Helper()
	must(t, l.db.QueryRow("SELECT count(*) FROM "+table+" WHERE "+condition, args...).Scan(&rows)) //nolint:noctx // a test's
	return rows
}

// state is a hash of every row of every table: where it is the same, nothing has
// happened. Some tables may be left out.
func (l looker) state(t testing.TB, without ...string) string {
	t.Helper()
	sum := sha256.New()
	for _, table := range l.names(t) {
		if slices.Contains(without, table) {
			continue
		}
		for _, row := range l.rows(t, table) {
			_, _ = fmt.Fprintf(sum, "%s %s\n", table, row)
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

func (l looker) rows(t testing.TB, table string) (all []string) {
	t.Helper()
	rows, err := l.db.Query("SELECT * FROM " + table) //nolint:noctx // a test's
	must(t, err)
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	must(t, err)
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		must(t, rows.Scan(into...))
		all = append(all, fmt.Sprint(values...))
	}
	must(t, rows.Err())
	slices.Sort(all)
	return all
}

// sizes is the number of rows of each table.
func (l looker) sizes(t testing.TB) map[string]int {
	t.Helper()
	sizes := map[string]int{}
	for _, table := range l.names(t) {
		sizes[table] = l.count(t, table, "1 = 1")
	}
	return sizes
}
