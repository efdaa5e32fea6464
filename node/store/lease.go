package store

import (
	"time"

	"agentlink/node"
)

// Lease takes or renews a lease for a time, and says whether the holder has it:
// of several replicas one does the work that it names. Where two take it at once
// the later one waits for the other's transaction.
func (s *Store) Lease(tx node.Tx, name, holder string, life time.Duration) (bool, error) {
	until := micros(tx.Now().Add(life))
	held, err := s.exec(tx, `INSERT INTO leases (name, holder, until) VALUES ($1, $2, $3)
		ON CONFLICT (name) DO UPDATE SET holder = $4, until = $5 WHERE leases.holder = $6 OR leases.until <= $7`,
		name, holder, until, holder, until, holder, micros(tx.Now()))
	return held == 1, err
}

// EndLease gives a lease back before its time.
func (s *Store) EndLease(tx node.Tx, name, holder string) error {
	_, err := s.exec(tx, `DELETE FROM leases WHERE name = $1 AND holder = $2`, name, holder)
	return err
}
