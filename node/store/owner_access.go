package store

import (
	"time"

	"agentlink/node"
	"agentlink/node/owner"
)

var _ owner.AccessStore = (*Store)(nil)

// InsertLink implements owner.AccessStore.
func (s *Store) InsertLink(tx node.Tx, link owner.Link, hash string, forget time.Time) error {
	if _, err := s.exec(tx, `DELETE FROM one_time_links WHERE expires_at <= $1`, micros(forget)); err != nil {
		return err
	}
	_, err := s.exec(tx, `INSERT INTO one_time_links (hash, purpose, created_at, expires_at, used_at) VALUES ($1, $2, $3, $4, 0)`,
		hash, string(link.Purpose), micros(link.CreatedAt), micros(link.ExpiresAt))
	return err
}

// UseLink implements owner.AccessStore.
func (s *Store) UseLink(tx node.Tx, hash string, purpose owner.Purpose) (bool, error) {
	now := micros(tx.Now())
	rows, err := s.exec(tx, `UPDATE one_time_links SET used_at = $1 WHERE hash = $2 AND purpose = $3 AND used_at = 0 AND expires_at > $4`,
		now, hash, string(purpose), now)
	return rows == 1, err
}

// LinkByHash implements owner.AccessStore.
func (s *Store) LinkByHash(tx node.Tx, hash string) (link owner.Link, err error) {
	var created, expires, used int64
	err = s.one(tx, `SELECT purpose, created_at, expires_at, used_at FROM one_time_links WHERE hash = $1`, []any{hash},
		&link.Purpose, &created, &expires, &used)
	link.CreatedAt, link.ExpiresAt, link.UsedAt = timeOf(created), timeOf(expires), timeOf(used)
	return link, err
}

// DeleteLinks implements owner.AccessStore.
func (s *Store) DeleteLinks(tx node.Tx, purpose owner.Purpose) error {
	_, err := s.exec(tx, `DELETE FROM one_time_links WHERE purpose = $1`, string(purpose))
	return err
}

// SpendChallenge implements owner.AccessStore.
func (s *Store) SpendChallenge(tx node.Tx, hash string, over time.Time) (bool, error) {
	if _, err := s.exec(tx, `DELETE FROM spent_challenges WHERE over_at <= $1`, micros(tx.Now())); err != nil {
		return false, err
	}
	rows, err := s.exec(tx, `INSERT INTO spent_challenges (hash, over_at) VALUES ($1, $2) ON CONFLICT DO NOTHING`, hash, micros(over))
	return rows == 1, err
}

// ReplaceRecoveryCodes implements owner.AccessStore.
func (s *Store) ReplaceRecoveryCodes(tx node.Tx, ownerID string, hashes []string) error {
	if _, err := s.exec(tx, `DELETE FROM recovery_codes`); err != nil {
		return err
	}
	for _, hash := range hashes {
		_, err := s.exec(tx, `INSERT INTO recovery_codes (hash, owner_id, made_at, used_at) VALUES ($1, $2, $3, 0)`,
			hash, ownerID, micros(tx.Now()))
		if err != nil {
			return err
		}
	}
	return nil
}

// UseRecoveryCode implements owner.AccessStore.
func (s *Store) UseRecoveryCode(tx node.Tx, hash string) (bool, error) {
	rows, err := s.exec(tx, `UPDATE recovery_codes SET used_at = $1 WHERE hash = $2 AND used_at = 0`, micros(tx.Now()), hash)
	return rows == 1, err
}

// RecoveryCodes implements owner.AccessStore.
func (s *Store) RecoveryCodes(tx node.Tx) (left int, madeAt time.Time, err error) {
	var made int64
	err = s.one(tx, `SELECT COALESCE(SUM(CASE WHEN used_at = 0 THEN 1 ELSE 0 END), 0), COALESCE(MAX(made_at), 0) FROM recovery_codes`,
		nil, &left, &made)
	return left, timeOf(made), err
}
