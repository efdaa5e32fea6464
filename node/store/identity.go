package store

import (
	"agentlink/node"
	"agentlink/node/identity"
	"agentlink/node/seal"
)

// InsertNodeKeys implements identity.Store.
func (s *Store) InsertNodeKeys(tx node.Tx, keys identity.Keys) error {
	seed := s.seal(keyPlace("seed", keys.ID), keys.Seed)
	opening := s.seal(keyPlace("age_identity", keys.ID), []byte(keys.AgeIdentity))
	_, err := s.exec(tx, `INSERT INTO node_keys (slot, id, seed, age_identity, created_at)
		VALUES (1, $1, $2, $3, $4) ON CONFLICT DO NOTHING`, keys.ID, seed, opening, micros(keys.CreatedAt))
	return err
}

// NodeKeys implements identity.Store.
func (s *Store) NodeKeys(tx node.Tx) (identity.Keys, error) {
	return s.nodeKeys(tx, `SELECT id, seed, age_identity, created_at FROM node_keys WHERE slot = 1`)
}

// LockNodeKeys implements identity.Store.
func (s *Store) LockNodeKeys(tx node.Tx) (identity.Keys, error) {
	return s.nodeKeys(tx, `UPDATE node_keys SET slot = 1 WHERE slot = 1 RETURNING id, seed, age_identity, created_at`)
}

func (s *Store) nodeKeys(tx node.Tx, query string) (keys identity.Keys, err error) {
	var seed, opening []byte
	var created int64
	err = s.one(tx, query, nil, &keys.ID, &seed, &opening, &created)
	if err != nil {
		return identity.Keys{}, err
	}
	if keys.Seed, err = s.open(keyPlace("seed", keys.ID), seed); err != nil {
		return identity.Keys{}, err
	}
	if opening, err = s.open(keyPlace("age_identity", keys.ID), opening); err != nil {
		return identity.Keys{}, err
	}
	keys.AgeIdentity, keys.CreatedAt = string(opening), timeOf(created)
	return keys, nil
}

func keyPlace(column, id string) seal.Place {
	return seal.Place{Table: "node_keys", Column: column, Row: id}
}
