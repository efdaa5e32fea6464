package store

import (
	"encoding/json"

	"agentlink/node"
	"agentlink/node/identity"
	"agentlink/node/seal"
	"agentlink/node/token"
)

// retiredDetail is what everybody may know of a retired key; sealed, so that
// nobody puts another one there.
type retiredDetail struct {
	PublicKey []byte          `json:"publicKey"`
	Statement token.Statement `json:"statement"`
}

// ReplaceNodeKeys implements identity.Store.
func (s *Store) ReplaceNodeKeys(tx node.Tx, keys identity.Keys, retired identity.Retired) error {
	if err := s.retire(tx, retired); err != nil {
		return err
	}
	seed := s.seal(keyPlace("seed", keys.ID), keys.Seed)
	opening := s.seal(keyPlace("age_identity", keys.ID), []byte(keys.AgeIdentity))
	return changed(s.exec(tx, `UPDATE node_keys SET id = $1, seed = $2, age_identity = $3, created_at = $4 WHERE slot = 1`,
		keys.ID, seed, opening, micros(keys.CreatedAt)))
}

func (s *Store) retire(tx node.Tx, r identity.Retired) error {
	raw, err := json.Marshal(retiredDetail{PublicKey: r.PublicKey, Statement: r.Statement})
	if err != nil {
		return broken(err)
	}
	detail := s.seal(retiredPlace("detail", r.Fingerprint), raw)
	seed := s.seal(retiredPlace("seed", r.Fingerprint), r.Seed)
	opening := s.seal(retiredPlace("age_identity", r.Fingerprint), []byte(r.AgeIdentity))
	return changed(s.exec(tx, `INSERT INTO retired_keys (fingerprint, owner_id, number, detail, seed, age_identity, created_at, retired_at, erased_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING`,
		r.Fingerprint, r.OwnerID, r.Number, detail, seed, opening, micros(r.CreatedAt), micros(r.RetiredAt), micros(r.ErasedAt)))
}

// RetiredKeys implements identity.Store.
func (s *Store) RetiredKeys(tx node.Tx) (list []identity.Retired, err error) {
	err = s.each(tx, `SELECT fingerprint, owner_id, number, detail, seed, age_identity, created_at, retired_at, erased_at
		FROM retired_keys ORDER BY number`, nil, func(scan func(...any) error) error {
		r, err := s.retired(scan)
		list = append(list, r)
		return err
	})
	return list, err
}

func (s *Store) retired(scan func(...any) error) (r identity.Retired, err error) {
	var sealed, seed, opening []byte
	var created, gone, erased int64
	if err := scan(&r.Fingerprint, &r.OwnerID, &r.Number, &sealed, &seed, &opening, &created, &gone, &erased); err != nil {
		return r, err
	}
	r.CreatedAt, r.RetiredAt, r.ErasedAt = timeOf(created), timeOf(gone), timeOf(erased)
	var detail retiredDetail
	if err := s.openJSON(retiredPlace("detail", r.Fingerprint), sealed, &detail); err != nil {
		return r, err
	}
	r.PublicKey, r.Statement = detail.PublicKey, detail.Statement
	if r.Seed, err = s.open(retiredPlace("seed", r.Fingerprint), seed); err != nil {
		return r, err
	}
	opening, err = s.open(retiredPlace("age_identity", r.Fingerprint), opening)
	r.AgeIdentity = string(opening)
	return r, err
}

// EraseSeed implements identity.Store.
func (s *Store) EraseSeed(tx node.Tx, fingerprint string) error {
	_, err := s.exec(tx, `UPDATE retired_keys SET seed = NULL, erased_at = $1 WHERE fingerprint = $2 AND erased_at = 0`,
		micros(tx.Now()), fingerprint)
	return err
}

// EraseAgeIdentity implements identity.Store.
func (s *Store) EraseAgeIdentity(tx node.Tx, fingerprint string) error {
	_, err := s.exec(tx, `UPDATE retired_keys SET age_identity = NULL WHERE fingerprint = $1`, fingerprint)
	return err
}

func retiredPlace(column, fingerprint string) seal.Place {
	return seal.Place{Table: "retired_keys", Column: column, Row: fingerprint}
}
