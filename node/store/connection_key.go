package store

import (
	"time"

	"agentlink/coordination"
	"agentlink/node"
)

// FillKnownKey implements coordination.Store.
func (s *Store) FillKnownKey(tx node.Tx, fingerprint string) error {
	_, err := s.exec(tx, `UPDATE connections SET known_key = $1 WHERE known_key = ''`, fingerprint)
	return err
}

// KnowKey implements coordination.Store.
func (s *Store) KnowKey(tx node.Tx, fingerprint string, limit int) ([]coordination.Connection, error) {
	return s.connections(tx, `SELECT `+connectionColumns+` FROM connections WHERE known_key = $1 AND (status NOT IN ('rejected', 'revoked')
		OR EXISTS (SELECT 1 FROM messages WHERE messages.agent_id = connections.agent_id
			AND messages.connection_id = connections.id AND messages.status = 'queued')) LIMIT $2`, fingerprint, limit)
}

// TellKeyAgain implements coordination.Store.
func (s *Store) TellKeyAgain(tx node.Tx, before time.Time, limit int) ([]coordination.Connection, error) {
	return s.connections(tx, `SELECT `+connectionColumns+` FROM connections WHERE key_told_at > 0 AND key_told_at < $1
		ORDER BY key_told_at LIMIT $2`, micros(before), limit)
}

// ConnectionsByKey implements coordination.Store.
func (s *Store) ConnectionsByKey(tx node.Tx, fingerprint string) ([]coordination.Connection, error) {
	return s.connections(tx, `SELECT `+connectionColumns+` FROM connections WHERE fingerprint = $1
		AND status NOT IN ('rejected', 'revoked')`, fingerprint)
}

// KeyOffers implements coordination.Store.
func (s *Store) KeyOffers(tx node.Tx, page coordination.Page) ([]coordination.Connection, error) {
	w := (&where{}).and("key_offered = 1").page(page, "id")
	return s.connections(tx, `SELECT `+connectionColumns+` FROM connections`+w.String(), w.args...)
}

// CountKeyOffers implements coordination.Store.
func (s *Store) CountKeyOffers(tx node.Tx) (count int, err error) {
	err = s.one(tx, `SELECT COUNT(*) FROM connections WHERE key_offered = 1`, nil, &count)
	return count, err
}
