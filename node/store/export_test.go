package store

import (
	"maps"
	"slices"

	"agentlink/node"
	"agentlink/node/seal"
)

// Exec, One and Each run the statements of tests.
func (s *Store) Exec(tx node.Tx, query string, args ...any) (int64, error) {
	return s.exec(tx, query, args...)
}

// One is one.
func (s *Store) One(tx node.Tx, query string, args []any, dest ...any) error {
	return s.one(tx, query, args, dest...)
}

// Each is each.
func (s *Store) Each(tx node.Tx, query string, args []any, row func(scan func(dest ...any) error) error) error {
	return s.each(tx, query, args, row)
}

// Statements lists the statements that a store in memory has run.
func (s *Store) Statements() []string {
	e := s.engine.(*sqliteMemory)
	conn := <-e.free
	defer func() { e.free <- conn }()
	return slices.Sorted(maps.Keys(conn.statements))
}

// SetBox gives the store another box, as a restart with another master key does.
func (s *Store) SetBox(box *seal.Box) { s.box = box }
