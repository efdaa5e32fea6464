package store

import (
	"time"

	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/seal"
)

var _ coordination.StrangerStore = (*Store)(nil)

const strangerColumns = `id, sha256, host_key, ip_key, envelope, received_at, next_at, attempts, expires_at, settled, answer`

func strangerPlace(column, id string) seal.Place {
	return seal.Place{Table: "strangers", Column: column, Row: id}
}

// StrangerBySHA256 implements coordination.StrangerStore.
func (s *Store) StrangerBySHA256(tx node.Tx, sha256 string) (coordination.Stranger, error) {
	stranger, found, err := s.stranger(tx, `SELECT `+strangerColumns+` FROM strangers WHERE sha256 = $1`, sha256)
	if err == nil && !found {
		err = errNoRow()
	}
	return stranger, err
}

// CountStrangers implements coordination.StrangerStore.
func (s *Store) CountStrangers(tx node.Tx, host, ip string) (all, ofHost, ofIP int, err error) {
	err = s.one(tx, `SELECT
		(SELECT COUNT(*) FROM strangers),
		(SELECT COUNT(*) FROM strangers WHERE host_key = $1),
		(SELECT COUNT(*) FROM strangers WHERE ip_key = $2 AND settled = 0)`,
		[]any{s.hostKey(host), s.ipKey(ip)}, &all, &ofHost, &ofIP)
	return all, ofHost, ofIP, err
}

// InsertStranger implements coordination.StrangerStore.
func (s *Store) InsertStranger(tx node.Tx, x coordination.Stranger) error {
	envelope := s.seal(strangerPlace("envelope", x.ID), x.Envelope)
	answer := s.seal(strangerPlace("answer", x.ID), x.Answer)
	_, err := s.exec(tx, `INSERT INTO strangers (`+strangerColumns+`)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT (sha256) DO NOTHING`,
		x.ID, x.SHA256, s.hostKey(x.Host), s.ipKey(x.IP), envelope, micros(x.ReceivedAt), micros(x.NextAt),
		x.Attempts, micros(x.ExpiresAt), x.Settled, answer)
	return err
}

// ClaimStranger implements coordination.StrangerStore.
func (s *Store) ClaimStranger(tx node.Tx, next time.Time) (coordination.Stranger, bool, error) {
	now := micros(tx.Now())
	return s.stranger(tx, `UPDATE strangers SET next_at = $1, attempts = attempts + 1
		WHERE id = (SELECT id FROM strangers WHERE settled = 0 AND next_at <= $2 ORDER BY next_at, id LIMIT 1)
		AND settled = 0 AND next_at <= $3
		RETURNING `+strangerColumns, micros(next), now, now)
}

// RescheduleStranger implements coordination.StrangerStore.
func (s *Store) RescheduleStranger(tx node.Tx, id string, next time.Time, attempts int) error {
	_, err := s.exec(tx, `UPDATE strangers SET next_at = $1, attempts = $2 WHERE id = $3 AND settled = 0`,
		micros(next), attempts, id)
	return err
}

// SettleStranger implements coordination.StrangerStore.
func (s *Store) SettleStranger(tx node.Tx, id string, answer []byte) error {
	sealed := s.seal(strangerPlace("answer", id), answer)
	_, err := s.exec(tx, `UPDATE strangers SET settled = 1, answer = $1 WHERE id = $2`, sealed, id)
	return err
}

// DeleteStranger implements coordination.StrangerStore.
func (s *Store) DeleteStranger(tx node.Tx, id string) error {
	_, err := s.exec(tx, `DELETE FROM strangers WHERE id = $1`, id)
	return err
}

// DeleteExpiredStrangers implements coordination.StrangerStore.
func (s *Store) DeleteExpiredStrangers(tx node.Tx) error {
	_, err := s.exec(tx, `DELETE FROM strangers WHERE expires_at <= $1`, micros(tx.Now()))
	return err
}

// DeleteSettledStranger implements coordination.StrangerStore.
func (s *Store) DeleteSettledStranger(tx node.Tx) (bool, error) {
	rows, err := s.exec(tx, `DELETE FROM strangers
		WHERE id = (SELECT id FROM strangers WHERE settled = 1 ORDER BY next_at, id LIMIT 1)`)
	return rows > 0, err
}

func (s *Store) hostKey(host string) string { return s.box.Lookup("strangers.host", host) }

// ipKey keeps "" as it is: it stands for this node itself.
func (s *Store) ipKey(ip string) string {
	if ip == "" {
		return ""
	}
	return s.box.Lookup("strangers.ip", ip)
}

// stranger reads at most one row.
func (s *Store) stranger(tx node.Tx, query string, args ...any) (x coordination.Stranger, found bool, err error) {
	var received, next, expires, settled int64
	var envelope, answer []byte
	err = s.one(tx, query, args, &x.ID, &x.SHA256, &x.Host, &x.IP, &envelope, &received, &next, &x.Attempts, &expires, &settled, &answer)
	if node.CodeOf(err) == node.NotFound {
		return coordination.Stranger{}, false, nil
	}
	if err != nil {
		return coordination.Stranger{}, false, err
	}
	x.ReceivedAt, x.NextAt, x.ExpiresAt, x.Settled = timeOf(received), timeOf(next), timeOf(expires), settled == 1
	if x.Envelope, err = s.open(strangerPlace("envelope", x.ID), envelope); err != nil {
		return coordination.Stranger{}, false, err
	}
	x.Answer, err = s.open(strangerPlace("answer", x.ID), answer)
	return x, err == nil, err
}
