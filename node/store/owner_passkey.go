package store

import (
	"encoding/json"

	"agentlink/node"
	"agentlink/node/owner"
	"agentlink/node/seal"
)

// passkeyRecord is what is sealed of a passkey.
type passkeyRecord struct {
	Name         string          `json:"name"`
	Party        string          `json:"party"`
	CredentialID []byte          `json:"credentialId"`
	Credential   json.RawMessage `json:"credential"`
}

func (s *Store) sealPasskey(p owner.Passkey) ([]byte, error) {
	plain, err := json.Marshal(passkeyRecord{Name: p.Name, Party: p.Party, CredentialID: p.CredentialID, Credential: p.Credential})
	if err != nil {
		return nil, node.Wrap(err, "write a passkey")
	}
	return s.seal(passkeyPlace(p), plain), nil
}

func passkeyPlace(p owner.Passkey) seal.Place {
	return seal.Place{Table: "passkeys", Column: "record", Row: p.ID, Owner: p.OwnerID}
}

func (s *Store) credentialKey(id []byte) string {
	return s.box.Lookup("passkeys.credential", string(id))
}

// InsertPasskey implements owner.AccessStore.
func (s *Store) InsertPasskey(tx node.Tx, p owner.Passkey) (bool, error) {
	sealed, err := s.sealPasskey(p)
	if err != nil {
		return false, err
	}
	rows, err := s.exec(tx, `INSERT INTO passkeys (id, owner_id, rev, credential_key, record, created_at, last_used_at)
		VALUES ($1, $2, 0, $3, $4, $5, $6) ON CONFLICT DO NOTHING`,
		p.ID, p.OwnerID, s.credentialKey(p.CredentialID), sealed, micros(p.CreatedAt), micros(p.LastUsedAt))
	return rows == 1, err
}

const passkeyColumns = `id, owner_id, record, created_at, last_used_at`

// Passkeys implements owner.AccessStore.
func (s *Store) Passkeys(tx node.Tx) ([]owner.Passkey, error) {
	return s.passkeys(tx, `SELECT `+passkeyColumns+` FROM passkeys ORDER BY created_at, id LIMIT $1`, owner.MaxPasskeys)
}

// LockPasskey implements owner.AccessStore.
func (s *Store) LockPasskey(tx node.Tx, credentialID []byte) (owner.Passkey, error) {
	found, err := s.passkeys(tx, `UPDATE passkeys SET rev = rev + 1 WHERE credential_key = $1 RETURNING `+passkeyColumns,
		s.credentialKey(credentialID))
	if err == nil && len(found) == 0 {
		err = errNoRow()
	}
	if err != nil {
		return owner.Passkey{}, err
	}
	return found[0], nil
}

func (s *Store) passkeys(tx node.Tx, query string, args ...any) ([]owner.Passkey, error) {
	var all []owner.Passkey
	err := s.each(tx, query, args, func(scan func(dest ...any) error) error {
		var p owner.Passkey
		var sealed []byte
		var created, used int64
		if err := scan(&p.ID, &p.OwnerID, &sealed, &created, &used); err != nil {
			return err
		}
		plain, err := s.open(passkeyPlace(p), sealed)
		if err != nil {
			return err
		}
		var record passkeyRecord
		if err := json.Unmarshal(plain, &record); err != nil {
			return node.Wrap(err, "read a passkey")
		}
		p.Name, p.Party, p.CredentialID, p.Credential = record.Name, record.Party, record.CredentialID, record.Credential
		p.CreatedAt, p.LastUsedAt = timeOf(created), timeOf(used)
		all = append(all, p)
		return nil
	})
	return all, err
}

// UsedPasskey implements owner.AccessStore.
func (s *Store) UsedPasskey(tx node.Tx, p owner.Passkey) error {
	sealed, err := s.sealPasskey(p)
	if err != nil {
		return err
	}
	rows, err := s.exec(tx, `UPDATE passkeys SET record = $1, last_used_at = $2 WHERE id = $3`, sealed, micros(p.LastUsedAt), p.ID)
	if err == nil && rows != 1 {
		err = errNoRow()
	}
	return err
}

// DeletePasskey implements owner.AccessStore.
func (s *Store) DeletePasskey(tx node.Tx, id string) (bool, error) {
	rows, err := s.exec(tx, `DELETE FROM passkeys WHERE id = $1`, id)
	return rows == 1, err
}
