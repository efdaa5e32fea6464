package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pressly/goose/v3"

	"agentlink/node"
)

// dumped are the tables of a backup, each after those that it refers to, with the
// migration that makes it.
var dumped = []struct {
	name  string
	since int64
}{
	{"audit_log", 1}, {"audit_head", 1}, {"owners", 1}, {"node_keys", 1}, {"retired_keys", 14}, {"settings", 1}, {"idempotency", 1},
	{"agents", 2}, {"grants", 2}, {"decisions", 2}, {"overlays", 13}, {"approvals", 3}, {"approval_queues", 3},
	{"connections", 4}, {"lookups", 4}, {"messages", 4}, {"tasks", 4}, {"answers", 4}, {"outbox", 1}, {"strangers", 6},
	{"peer_heads", 15}, {"disclosures", 8}, {"runs", 5}, {"passkeys", 7}, {"spent_challenges", 7}, {"oauth_clients", 11},
}

// notDumped says why a table is not in a backup: what can be used once, and was
// used after the backup, must not come back unused.
var notDumped = map[string]string{
	"owner_sessions":       "a session that was ended must not open again",
	"one_time_links":       "a link that was used must not open again",
	"recovery_codes":       "a code that was used must not open again",
	"invitations":          "an invitation that was used must not open again",
	"oauth_authorizations": "a program that was disconnected must not come back",
	"oauth_secrets":        "a token that was exchanged or revoked must not open again",
	"guesses":              "counts the last minutes",
	"leases":               "belongs to processes that are gone",
}

// DumpTables names the tables of a backup that the schema has, in the order in
// which they are to be loaded.
func (s *Store) DumpTables(tx node.Tx) ([]string, error) {
	version, err := s.SchemaVersion(tx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, table := range dumped {
		if table.since <= version {
			names = append(names, table.name)
		}
	}
	return names, nil
}

// SchemaVersion is the number of the last migration.
func (s *Store) SchemaVersion(tx node.Tx) (version int64, err error) {
	err = s.one(tx, `SELECT MAX(version_id) FROM goose_db_version`, nil, &version)
	return version, err
}

// MigrateTo is Migrate up to a version that this program knows.
func (s *Store) MigrateTo(ctx context.Context, version int64) error {
	return s.migrate(ctx, func(provider *goose.Provider) error {
		if _, target, err := provider.GetVersions(ctx); err != nil {
			return err
		} else if version > target {
			return node.Errorf(node.Conflict, "A newer AgentLink wrote this (schema %d; this one knows %d). Use that version.", version, target)
		}
		_, err := provider.UpTo(ctx, version)
		return err
	})
}

// Columns names a table's columns, sorted.
func (s *Store) Columns(tx node.Tx, table string) ([]string, error) {
	names, err := s.DumpTables(tx)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(names, table) {
		return nil, node.Errorf(node.BadRequest, "A backup has no such table.")
	}
	query := `SELECT * FROM ` + table + ` WHERE 1 = 0`
	t, err := s.use(tx, query)
	if err != nil {
		return nil, err
	}
	rows, err := t.on.query(t.ctx, query, nil)
	if err != nil {
		return nil, t.fail(err).err
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return nil, broken(err)
	}
	slices.Sort(columns)
	return columns, rows.Err()
}

// Dump calls row for each row of a table. Values are nil, int64, string or []byte;
// sealed ones stay sealed. The slice is used again for the next row.
func (s *Store) Dump(tx node.Tx, table string, columns []string, row func([]any) error) error {
	values := make([]any, len(columns))
	into := make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	return s.each(tx, `SELECT `+strings.Join(columns, ", ")+` FROM `+table, nil, func(scan func(...any) error) error {
		if err := scan(into...); err != nil {
			return err
		}
		return row(values)
	})
}

// Load inserts one row as Dump gave it.
func (s *Store) Load(tx node.Tx, table string, columns []string, row []any) error {
	marks := make([]string, len(columns))
	for i := range marks {
		marks[i] = fmt.Sprintf("$%d", i+1)
	}
	_, err := s.exec(tx, `INSERT INTO `+table+` (`+strings.Join(columns, ", ")+`) VALUES (`+strings.Join(marks, ", ")+`)`, row...)
	return err
}

// ClearForLoad makes a database ready to be loaded. Code: conflict where a node
// lives in it already.
func (s *Store) ClearForLoad(tx node.Tx) error {
	names, err := s.DumpTables(tx)
	if err != nil {
		return err
	}
	for _, table := range names {
		var rows int64
		if table == "audit_head" { // it has a row from the beginning
			continue
		}
		if err := s.one(tx, `SELECT COUNT(*) FROM (SELECT 1 FROM `+table+` LIMIT 1) AS found`, nil, &rows); err != nil {
			return err
		}
		if rows > 0 {
			return node.Errorf(node.Conflict, "The database is not empty: a restore needs a new one.")
		}
	}
	_, err = s.exec(tx, `DELETE FROM audit_head`)
	return err
}
