package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"agentlink/node"
	"agentlink/node/seal"
)

// sealedCells are the columns whose values are sealed: how their rows are told apart,
// and the row and owner of their seal.Place as SQL. A test holds it to the schema.
var sealedCells = []struct {
	table, columns, key string // lists, with commas
	row, owner          string
}{
	{"owners", "name, password_hash", "id", "id", "id"},
	{"owner_sessions", "client", "id", "id", "owner_id"},
	{"passkeys", "record", "id", "id", "owner_id"},
	{"node_keys", "seed, age_identity", "id", "id", "''"},
	{"retired_keys", "detail, seed, age_identity", "fingerprint", "fingerprint", "''"},
	{"settings", "value", "name", "name", "''"},
	{"agents", "name", "id", "id", "owner_id"},
	{"grants", "contact, constraints", "id", "id", "owner_id"},
	{"overlays", "source", "id", "id", "owner_id"},
	{"decisions", "facts", "id", "id", "owner_id"},
	{"approvals", "content, note", "id", "id", "owner_id"},
	{"connections", "detail", "id", "id", "owner_id"},
	{"messages", "content, envelope", "agent_id, direction, connection_id, id", "agent_id || '/' || direction || '/' || connection_id || '/' || id", "owner_id"},
	{"tasks", "copy", "agent_id, uid", "agent_id || '/' || uid", "owner_id"},
	{"answers", "signed", "agent_id, contact_key, jti", "contact_key || ' ' || jti", "agent_id"},
	{"strangers", "envelope, answer", "id", "id", "''"},
	{"disclosures", "value", "id", "id", "owner_id"},
	{"runs", "request, answer", "id", "id", "owner_id"},
	{"oauth_clients", "record", "id", "id", "''"},
	{"oauth_authorizations", "resource", "id", "id", "owner_id"},
	{"oauth_secrets", "record", "hash", "hash", "''"},
	{"idempotency", "answer", "caller, key", "key", "caller"},
	{"audit_log", "data", "position", "CAST(position AS TEXT)", "owner_id"},
}

// resealAtOnce is how many rows are in memory together.
const resealAtOnce = 200

// Resealed counts what Reseal did.
type Resealed struct {
	Values int64 `json:"values"`
	// Damaged are those that did not open. They stay as they are, and do not open
	// with the next box either.
	Damaged int64 `json:"damaged"`
}

// Reseal seals every value with the next box, whose lookups are the same. What the
// transaction seals after it has to come from a store with that box.
func (s *Store) Reseal(tx node.Tx, next *seal.Box) (done Resealed, err error) {
	for _, cells := range sealedCells {
		for _, column := range strings.Split(cells.columns, ", ") {
			r := resealing{
				store: s, tx: tx, next: next, done: &done, place: seal.Place{Table: cells.table, Column: column}, key: cells.key,
				query: fmt.Sprintf(`SELECT %s, %s AS place_row, %s AS place_owner, %s FROM %s`, column, cells.row, cells.owner, cells.key, cells.table),
			}
			if err := r.all(); err != nil {
				return done, err
			}
		}
	}
	return done, nil
}

// Sole refuses where another process uses the database, and keeps others from beginning
// to until the transaction ends. Of a file, the lock of the data folder says so.
// Code: conflict.
func (s *Store) Sole(tx node.Tx) error {
	var alone bool
	if err := s.one(tx, s.engine.sole(), nil, &alone); err != nil {
		return err
	}
	if !alone {
		return node.Errorf(node.Conflict, "Another process of this node uses the database: stop it first.")
	}
	return nil
}

// Rewrite takes what values were before Reseal out of the database's files.
func (s *Store) Rewrite(ctx context.Context) error {
	tables := make([]string, len(sealedCells))
	for i, cells := range sealedCells {
		tables[i] = cells.table
	}
	return s.plain(s.engine.rewrite(ctx, tables))
}

// resealing is one column under way.
type resealing struct {
	store *Store
	tx    node.Tx
	next  *seal.Box
	done  *Resealed
	place seal.Place // without row and owner
	key   string     // columns, with commas
	query string     // of the value, row and owner of its place, and the key
}

type sealedCell struct {
	value []byte
	place seal.Place
	key   []any
}

// all goes through the rows in the order of their key, a page at a time: nothing can
// be written while rows are being read.
func (r *resealing) all() error {
	var last []any
	for {
		cells, err := r.page(last)
		if err != nil {
			return err
		}
		for _, cell := range cells {
			if err := r.one(cell); err != nil {
				return err
			}
			last = cell.key
		}
		if len(cells) < resealAtOnce {
			return nil
		}
	}
}

func (r *resealing) page(last []any) (cells []sealedCell, err error) {
	w := (&where{}).and(r.place.Column + " IS NOT NULL")
	if last != nil {
		w.and("("+r.key+") > "+r.marks(), last...)
	}
	w.write(" ORDER BY "+r.key+" LIMIT ?", resealAtOnce)
	err = r.store.each(r.tx, r.query+w.String(), w.args, func(scan func(...any) error) error {
		cell := sealedCell{place: r.place, key: make([]any, strings.Count(r.key, ",")+1)}
		into := []any{&cell.value, &cell.place.Row, &cell.place.Owner}
		for i := range cell.key {
			into = append(into, &cell.key[i])
		}
		err := scan(into...)
		cells = append(cells, cell)
		return err
	})
	return cells, err
}

func (r *resealing) one(cell sealedCell) error {
	plain, err := r.store.open(cell.place, cell.value)
	if errors.Is(err, seal.ErrNotOpened) {
		r.done.Damaged++
		return nil
	}
	if err != nil {
		return err
	}
	r.done.Values++
	w := (&where{}).write("UPDATE "+r.place.Table+" SET "+r.place.Column+" = ?", r.next.Seal(cell.place, plain))
	w.write(" WHERE ("+r.key+") = "+r.marks(), cell.key...)
	return changed(r.store.exec(r.tx, w.String(), w.args...))
}

// marks are a row of ?, one for each column of the key.
func (r *resealing) marks() string {
	return "(" + strings.Repeat("?, ", strings.Count(r.key, ",")) + "?)"
}
