package durability

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"
)

// looker reads a database beside the node, by a connection of its own.
type looker struct {
	db     *sql.DB
	tables string
}

func newLooker(t testing.TB, url string) looker {
	t.Helper()
	l := looker{tables: `SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()`}
	var err error
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
		l.tables = `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`
		l.db, err = sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
	} else {
		l.db, err = sql.Open("pgx", url)
	}
	must(t, err)
	l.db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = l.db.Close() })
	return l
}

// dump is all rows of all tables, as they are; shape is the same without what
// differs between two courses of the same events.
type dump struct{ rows, shape string }

func (l looker) dump(t testing.TB) dump {
	t.Helper()
	var rows, shape []string
	for _, table := range l.names(t) {
		l.each(t, "SELECT * FROM "+table, func(columns []string, values []any) {
			full, short := table, table
			for i, value := range values {
				full += fmt.Sprintf(" %s=%v", columns[i], value)
				short += " " + shapeOf(columns[i], value)
			}
			rows, shape = append(rows, full), append(shape, short)
		})
	}
	slices.Sort(rows)
	slices.Sort(shape)
	return dump{strings.Join(rows, "\n"), strings.Join(shape, "\n")}
}

func (l looker) names(t testing.TB) (names []string) {
	l.each(t, l.tables, func(_ []string, values []any) { names = append(names, fmt.Sprint(values[0])) })
	slices.Sort(names)
	return names
}

func (l looker) each(t testing.TB, query string, see func(columns []string, values []any)) {
	t.Helper()
	rows, err := l.db.QueryContext(context.Background(), query)
	must(t, err)
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	must(t, err)
	for rows.Next() {
		values, places := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			places[i] = &values[i]
		}
		must(t, rows.Scan(places...))
		see(columns, values)
	}
	must(t, rows.Err())
}

// word is a status, a type, a name of ours.
var word = regexp.MustCompile(`^[a-z_.]*$`)

// counters differ with the number of tries.
var counters = []string{"rev", "attempts", "tries", "rules_rev", "next_at", "lease_token", "lease_until"}

// shapeOf keeps what does not differ: words and small numbers. Ids, times and
// sealed values do.
func shapeOf(column string, value any) string {
	text := fmt.Sprint(value)
	if bytes, ok := value.([]byte); ok {
		text = fmt.Sprintf("%d bytes", min(len(bytes), 1))
	}
	if n, ok := value.(int64); slices.Contains(counters, column) || (ok && n > 100_000) || (!ok && !word.MatchString(text)) {
		text = "·"
	}
	return column + "=" + text
}

// difference shows the first lines in which two dumps differ.
func difference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	var text []string
	for _, line := range a {
		if !slices.Contains(b, line) {
			text = append(text, "- "+line)
		}
	}
	for _, line := range b {
		if !slices.Contains(a, line) {
			text = append(text, "+ "+line)
		}
	}
	return strings.Join(text[:min(len(text), 30)], "\n")
}
