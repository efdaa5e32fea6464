package store

import (
	"time"

	"agentlink/node"
	"agentlink/node/owner"
	"agentlink/node/seal"
)

// InsertOwner implements owner.Store.
func (s *Store) InsertOwner(tx node.Tx, o owner.Owner, passwordHash string) (bool, error) {
	name := s.seal(ownerPlace("name", o.ID), []byte(o.Name))
	hash := s.seal(ownerPlace("password_hash", o.ID), []byte(passwordHash))
	inserted, err := s.exec(tx, `INSERT INTO owners (slot, id, rev, name, password_hash, created_at)
		VALUES (1, $1, 0, $2, $3, $4) ON CONFLICT DO NOTHING`, o.ID, name, hash, micros(o.CreatedAt))
	return inserted == 1, err
}

// Owner implements owner.Store.
func (s *Store) Owner(tx node.Tx) (owner.Owner, error) {
	o, _, err := s.readOwner(tx, `SELECT id, name, password_hash, created_at FROM owners WHERE slot = 1`)
	return o, err
}

// LockOwner implements owner.Store.
func (s *Store) LockOwner(tx node.Tx) (o owner.Owner, passwordHash string, err error) {
	o, sealed, err := s.readOwner(tx, `UPDATE owners SET rev = rev + 1 WHERE slot = 1 RETURNING id, name, password_hash, created_at`)
	if err != nil {
		return owner.Owner{}, "", err
	}
	hash, err := s.open(ownerPlace("password_hash", o.ID), sealed)
	return o, string(hash), err
}

func (s *Store) readOwner(tx node.Tx, query string) (o owner.Owner, sealedHash []byte, err error) {
	var name []byte
	var created int64
	if err := s.one(tx, query, nil, &o.ID, &name, &sealedHash, &created); err != nil {
		return owner.Owner{}, nil, err
	}
	name, err = s.open(ownerPlace("name", o.ID), name)
	o.Name, o.CreatedAt = string(name), timeOf(created)
	return o, sealedHash, err
}

func ownerPlace(column, id string) seal.Place {
	return seal.Place{Table: "owners", Column: column, Row: id, Owner: id}
}

// SetOwnerPassword implements owner.Store.
func (s *Store) SetOwnerPassword(tx node.Tx, ownerID, passwordHash string) error {
	hash := s.seal(ownerPlace("password_hash", ownerID), []byte(passwordHash))
	set, err := s.exec(tx, `UPDATE owners SET rev = rev + 1, password_hash = $1 WHERE id = $2`, hash, ownerID)
	if err == nil && set != 1 {
		err = errNoRow()
	}
	return err
}

// OwnerPassword implements owner.Store.
func (s *Store) OwnerPassword(tx node.Tx) (passwordHash string, err error) {
	o, sealed, err := s.readOwner(tx, `SELECT id, name, password_hash, created_at FROM owners WHERE slot = 1`)
	if err != nil {
		return "", err
	}
	hash, err := s.open(ownerPlace("password_hash", o.ID), sealed)
	return string(hash), err
}

// InsertGuess implements owner.Store.
func (s *Store) InsertGuess(tx node.Tx, bucket, id string, at time.Time) error {
	_, err := s.exec(tx, `INSERT INTO guesses (id, bucket, at) VALUES ($1, $2, $3)`, id, bucket, micros(at))
	return err
}

// DeleteGuess implements owner.Store.
func (s *Store) DeleteGuess(tx node.Tx, id string) error {
	_, err := s.exec(tx, `DELETE FROM guesses WHERE id = $1`, id)
	return err
}

// Guesses implements owner.Store.
func (s *Store) Guesses(tx node.Tx, bucket string, since time.Time) (count int, oldest time.Time, err error) {
	if _, err := s.exec(tx, `DELETE FROM guesses WHERE at <= $1`, micros(since)); err != nil {
		return 0, time.Time{}, err
	}
	var first int64
	err = s.one(tx, `SELECT COUNT(*), COALESCE(MIN(at), 0) FROM guesses WHERE bucket = $1`, []any{bucket}, &count, &first)
	return count, timeOf(first), err
}
