package nodetest_test

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"agentlink/node/nodetest"
)

// thief has the database of a node, to read and to write, and none of its keys.
type thief struct {
	t      *testing.T
	db     *sql.DB
	sqlite bool
}

// rob gets at the database of a node; url is "" for the one in its folder.
func rob(t *testing.T, n *nodetest.Node, url string) thief {
	t.Helper()
	var db *sql.DB
	var err error
	path, sqlite := strings.CutPrefix(url, "sqlite:")
	if sqlite = sqlite || url == ""; sqlite {
		if url == "" {
			path = filepath.Join(n.DataDir(), "node.db")
		}
		db, err = sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)")
	} else {
		db, err = sql.Open("pgx", url)
	}
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return thief{t, db, sqlite}
}

// run runs a statement, which has to change something.
func (x thief) run(statement string, args ...any) {
	x.t.Helper()
	result, err := x.db.ExecContext(x.t.Context(), statement, args...)
	if err != nil {
		x.t.Fatalf("%s: %v", statement, err)
	}
	if rows, err := result.RowsAffected(); err == nil && rows == 0 && !strings.HasPrefix(statement, "CREATE") {
		x.t.Fatalf("%s changed nothing", statement)
	}
}

// count counts rows.
func (x thief) count(query string, args ...any) (rows int) {
	x.t.Helper()
	if err := x.db.QueryRowContext(x.t.Context(), query, args...).Scan(&rows); err != nil {
		x.t.Fatalf("%s: %v", query, err)
	}
	return rows
}

// keep takes a copy of a row of approvals under a name.
func (x thief) keep(name, id string) {
	x.t.Helper()
	x.run(`CREATE TABLE ` + name + ` AS SELECT * FROM approvals WHERE id = '` + id + `'`)
}

// putBack puts the copy in the place of the row.
func (x thief) putBack(name, id string) {
	x.t.Helper()
	x.run(`DELETE FROM approvals WHERE id = $1`, id)
	x.run(`INSERT INTO approvals SELECT * FROM ` + name)
}

// swap exchanges a column of two approvals.
func (x thief) swap(column, a, b string) {
	x.t.Helper()
	read := func(id string) (value any) {
		if err := x.db.QueryRowContext(x.t.Context(), `SELECT `+column+` FROM approvals WHERE id = $1`, id).Scan(&value); err != nil {
			x.t.Fatal(err)
		}
		return value
	}
	ofA, ofB, write := read(a), read(b), `UPDATE approvals SET `+column+` = $1 WHERE id = $2`
	if _, text := ofA.(string); text { // two rows may not say the same meanwhile
		x.run(write, strings.Repeat("0", 64), a)
	}
	x.run(write, ofA, b)
	x.run(write, ofB, a)
}

// dump is every value of every table.
func (x thief) dump() (all []byte) {
	x.t.Helper()
	tables := `SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()`
	if x.sqlite {
		tables = `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`
	}
	for _, row := range x.rows(tables) {
		for _, values := range x.rows("SELECT * FROM " + fmt.Sprint(row[0])) {
			for _, value := range values {
				if raw, ok := value.([]byte); ok {
					all = append(all, raw...)
				} else {
					all = fmt.Append(all, value)
				}
				all = append(all, '\n')
			}
		}
	}
	if len(all) < 10<<10 {
		x.t.Errorf("the database has only %d bytes", len(all))
	}
	return all
}

func (x thief) rows(query string) (all [][]any) {
	x.t.Helper()
	rows, err := x.db.QueryContext(x.t.Context(), query)
	if err != nil {
		x.t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	for err == nil && rows.Next() {
		values := make([]any, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		err = rows.Scan(into...)
		all = append(all, values)
	}
	if err := errors.Join(err, rows.Err()); err != nil {
		x.t.Fatalf("%s: %v", query, err)
	}
	return all
}
