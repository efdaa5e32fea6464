package store

import (
	"encoding/json"
	"time"

	"agentlink/node"
	"agentlink/node/oauth"
	"agentlink/node/seal"
)

// codeRecord is what is sealed of a code.
type codeRecord struct {
	RedirectURI string `json:"redirectUri"`
	Challenge   string `json:"challenge"`
}

func codePlace(hash string) seal.Place {
	return seal.Place{Table: "oauth_secrets", Column: "record", Row: hash}
}

// InsertSecret implements oauth.Store.
func (s *Store) InsertSecret(tx node.Tx, x oauth.Secret) error {
	var sealed []byte
	if x.Kind == oauth.KindCode {
		plain, err := json.Marshal(codeRecord{RedirectURI: x.RedirectURI, Challenge: x.Challenge})
		if err != nil {
			return node.Wrap(err, "write a code")
		}
		sealed = s.seal(codePlace(x.Hash), plain)
	}
	_, err := s.exec(tx, `INSERT INTO oauth_secrets (hash, kind, authorization_id, rev, created_at, expires_at, used_at, record)
		VALUES ($1, $2, $3, 0, $4, $5, $6, $7)`,
		x.Hash, string(x.Kind), x.AuthorizationID, micros(x.CreatedAt), micros(x.ExpiresAt), micros(x.UsedAt), sealed)
	return err
}

// LockSecret implements oauth.Store.
func (s *Store) LockSecret(tx node.Tx, hash string) (oauth.Secret, error) {
	x := oauth.Secret{Hash: hash}
	var created, expires, used int64
	var sealed []byte
	err := s.one(tx, `UPDATE oauth_secrets SET rev = rev + 1 WHERE hash = $1
		RETURNING kind, authorization_id, created_at, expires_at, used_at, record`,
		[]any{hash}, &x.Kind, &x.AuthorizationID, &created, &expires, &used, &sealed)
	if err != nil {
		return oauth.Secret{}, err
	}
	x.CreatedAt, x.ExpiresAt, x.UsedAt = timeOf(created), timeOf(expires), timeOf(used)
	if x.Kind != oauth.KindCode {
		return x, nil
	}
	plain, err := s.open(codePlace(hash), sealed)
	if err != nil {
		return oauth.Secret{}, err
	}
	var record codeRecord
	if err := json.Unmarshal(plain, &record); err != nil {
		return oauth.Secret{}, node.Wrap(err, "read a code")
	}
	x.RedirectURI, x.Challenge = record.RedirectURI, record.Challenge
	return x, nil
}

// SpendSecret implements oauth.Store.
func (s *Store) SpendSecret(tx node.Tx, hash string, at time.Time) (bool, error) {
	rows, err := s.exec(tx, `UPDATE oauth_secrets SET used_at = $1 WHERE hash = $2 AND used_at = 0`, micros(at), hash)
	return rows == 1, err
}

// ForgetSecrets implements oauth.Store.
func (s *Store) ForgetSecrets(tx node.Tx, authorizationID string, before time.Time) error {
	_, err := s.exec(tx, `DELETE FROM oauth_secrets WHERE authorization_id = $1 AND expires_at < $2`, authorizationID, micros(before))
	return err
}

// OAuthAccess implements oauth.Store.
func (s *Store) OAuthAccess(tx node.Tx, hash string, at time.Time) (oauth.Access, error) {
	var access oauth.Access
	var c oauth.Client
	var expires int64
	var sealed []byte
	err := s.one(tx, `SELECT a.agent_id, s.expires_at, c.id, c.record
		FROM oauth_secrets s JOIN oauth_authorizations a ON a.id = s.authorization_id JOIN agents g ON g.id = a.agent_id JOIN oauth_clients c ON c.id = a.client_id
		WHERE s.hash = $1 AND s.kind = 'access' AND s.expires_at > $2 AND a.status = 'active' AND g.status = 'active'`,
		[]any{hash, micros(at)}, &access.AgentID, &expires, &c.ID, &sealed)
	if err != nil {
		return oauth.Access{}, err
	}
	if err := s.openClient(&c, sealed); err != nil {
		return oauth.Access{}, err
	}
	access.ClientID, access.ClientName, access.Expires = c.ClientID, c.Name, timeOf(expires)
	return access, nil
}
