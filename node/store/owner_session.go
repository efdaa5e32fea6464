package store

import (
	"encoding/json"
	"time"

	"agentlink/node"
	"agentlink/node/owner"
	"agentlink/node/seal"
)

// client is what a session's browser says of itself, in one sealed value.
type client struct {
	UserAgent string `json:"userAgent"`
	IP        string `json:"ip"`
}

func sessionPlace(id, ownerID string) seal.Place {
	return seal.Place{Table: "owner_sessions", Column: "client", Row: id, Owner: ownerID}
}

// InsertSession implements owner.AccessStore.
func (s *Store) InsertSession(tx node.Tx, x owner.Session, hash string) error {
	plain, err := json.Marshal(client{UserAgent: x.UserAgent, IP: x.IP})
	if err != nil {
		return node.Wrap(err, "write a session's client")
	}
	sealed := s.seal(sessionPlace(x.ID, x.OwnerID), plain)
	_, err = s.exec(tx, `INSERT INTO owner_sessions (id, owner_id, hash, how, client, created_at, last_seen_at, confirmed_at, previous_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`, x.ID, x.OwnerID, hash, string(x.How), sealed,
		micros(x.CreatedAt), micros(x.LastSeenAt), micros(x.ConfirmedAt), micros(x.PreviousAt))
	return err
}

const sessionColumns = `id, owner_id, how, client, created_at, last_seen_at, confirmed_at, previous_at`

// SessionByHash implements owner.AccessStore.
func (s *Store) SessionByHash(tx node.Tx, hash string) (owner.Session, error) {
	return s.session(tx, `SELECT `+sessionColumns+` FROM owner_sessions WHERE hash = $1`, hash)
}

// SessionByID implements owner.AccessStore.
func (s *Store) SessionByID(tx node.Tx, id string) (owner.Session, error) {
	return s.session(tx, `SELECT `+sessionColumns+` FROM owner_sessions WHERE id = $1`, id)
}

func (s *Store) session(tx node.Tx, query, key string) (owner.Session, error) {
	var row sessionRow
	err := s.one(tx, query, []any{key}, row.dest()...)
	return row.session(), err
}

type sessionRow struct {
	owner.Session
	client                             []byte
	created, seen, confirmed, previous int64
}

func (r *sessionRow) dest() []any {
	return []any{&r.ID, &r.OwnerID, &r.How, &r.client, &r.created, &r.seen, &r.confirmed, &r.previous}
}

func (r *sessionRow) session() owner.Session {
	r.CreatedAt, r.LastSeenAt, r.ConfirmedAt, r.PreviousAt = timeOf(r.created), timeOf(r.seen), timeOf(r.confirmed), timeOf(r.previous)
	return r.Session
}

// Sessions implements owner.AccessStore.
func (s *Store) Sessions(tx node.Tx) ([]owner.Session, error) {
	var all []owner.Session
	err := s.each(tx, `SELECT `+sessionColumns+` FROM owner_sessions ORDER BY last_seen_at DESC, id DESC LIMIT $1`,
		[]any{owner.MaxSessions}, func(scan func(dest ...any) error) error {
			var row sessionRow
			if err := scan(row.dest()...); err != nil {
				return err
			}
			x := row.session()
			plain, err := s.open(sessionPlace(x.ID, x.OwnerID), row.client)
			if err != nil {
				return err
			}
			var c client
			if err := json.Unmarshal(plain, &c); err != nil {
				return node.Wrap(err, "read a session's client")
			}
			x.UserAgent, x.IP = c.UserAgent, c.IP
			all = append(all, x)
			return nil
		})
	return all, err
}

// TouchSession implements owner.AccessStore.
func (s *Store) TouchSession(tx node.Tx, id string, at, previous time.Time) error {
	_, err := s.exec(tx, `UPDATE owner_sessions SET last_seen_at = $1, previous_at = $2 WHERE id = $3 AND last_seen_at < $4`,
		micros(at), micros(previous), id, micros(at))
	return err
}

// SeeOwner implements owner.AccessStore.
func (s *Store) SeeOwner(tx node.Tx, at time.Time) (time.Time, error) {
	var before int64
	if err := s.one(tx, `UPDATE owners SET rev = rev + 1 WHERE slot = 1 RETURNING seen_at`, nil, &before); err != nil {
		return time.Time{}, err
	}
	_, err := s.exec(tx, `UPDATE owners SET seen_at = $1 WHERE slot = 1 AND seen_at < $2`, micros(at), micros(at))
	return timeOf(before), err
}

// ConfirmSession implements owner.AccessStore.
func (s *Store) ConfirmSession(tx node.Tx, id string, at time.Time) error {
	rows, err := s.exec(tx, `UPDATE owner_sessions SET confirmed_at = $1 WHERE id = $2`, micros(at), id)
	if err == nil && rows != 1 {
		err = errNoRow()
	}
	return err
}

// DeleteSession implements owner.AccessStore.
func (s *Store) DeleteSession(tx node.Tx, id string) (bool, error) {
	rows, err := s.exec(tx, `DELETE FROM owner_sessions WHERE id = $1`, id)
	return rows == 1, err
}

// DeleteOverSessions implements owner.AccessStore.
func (s *Store) DeleteOverSessions(tx node.Tx, idle, opened time.Time) error {
	_, err := s.exec(tx, `DELETE FROM owner_sessions WHERE last_seen_at <= $1 OR created_at <= $2`, micros(idle), micros(opened))
	return err
}
