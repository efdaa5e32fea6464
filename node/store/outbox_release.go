package store

import "agentlink/node"

// ReleaseOutbox ends every lease, so that what a killed process was sending is
// sent again at once and not when its lease lapses. Only for a caller that knows
// itself alone with the database.
func (s *Store) ReleaseOutbox(tx node.Tx) error {
	return s.wakeLane(tx, `UPDATE outbox SET lease_until = 0, lease_token = '', due_at = next_at WHERE lease_until > $1`, micros(tx.Now()))
}
