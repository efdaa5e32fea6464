package store

import (
	"encoding/json"
	"time"

	"agentlink/node"
	"agentlink/node/oauth"
	"agentlink/node/seal"
)

var _ oauth.Store = (*Store)(nil)

// clientRecord is what is sealed of a client.
type clientRecord struct {
	ClientID     string   `json:"clientId"`
	Name         string   `json:"name"`
	RedirectURIs []string `json:"redirectUris"`
}

func clientPlace(id string) seal.Place {
	return seal.Place{Table: "oauth_clients", Column: "record", Row: id}
}

func (s *Store) clientKey(clientID string) string {
	return s.box.Lookup("oauth_clients.client", clientID)
}

func (s *Store) sealClient(id string, c oauth.Client) ([]byte, error) {
	plain, err := json.Marshal(clientRecord{ClientID: c.ClientID, Name: c.Name, RedirectURIs: c.RedirectURIs})
	if err != nil {
		return nil, node.Wrap(err, "write a client")
	}
	return s.seal(clientPlace(id), plain), nil
}

func (s *Store) openClient(c *oauth.Client, sealed []byte) error {
	plain, err := s.open(clientPlace(c.ID), sealed)
	if err != nil {
		return err
	}
	var record clientRecord
	if err := json.Unmarshal(plain, &record); err != nil {
		return node.Wrap(err, "read a client")
	}
	c.ClientID, c.Name, c.RedirectURIs = record.ClientID, record.Name, record.RedirectURIs
	return nil
}

// InsertOAuthClient implements oauth.Store.
func (s *Store) InsertOAuthClient(tx node.Tx, c oauth.Client) (bool, error) {
	sealed, err := s.sealClient(c.ID, c)
	if err != nil {
		return false, err
	}
	rows, err := s.exec(tx, `INSERT INTO oauth_clients (id, client_key, method, secret_hash, record, created_at, fetched_at, approved_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (client_key) DO NOTHING`,
		c.ID, s.clientKey(c.ClientID), string(c.Method), c.SecretHash, sealed, micros(c.CreatedAt), micros(c.FetchedAt), micros(c.ApprovedAt))
	return rows == 1, err
}

// OAuthClient implements oauth.Store.
func (s *Store) OAuthClient(tx node.Tx, clientID string) (oauth.Client, error) {
	var c oauth.Client
	var sealed []byte
	var created, fetched, approved int64
	err := s.one(tx, `SELECT id, method, secret_hash, record, created_at, fetched_at, approved_at FROM oauth_clients WHERE client_key = $1`,
		[]any{s.clientKey(clientID)}, &c.ID, &c.Method, &c.SecretHash, &sealed, &created, &fetched, &approved)
	if err != nil {
		return oauth.Client{}, err
	}
	c.CreatedAt, c.FetchedAt, c.ApprovedAt = timeOf(created), timeOf(fetched), timeOf(approved)
	return c, s.openClient(&c, sealed)
}

// SetOAuthClient implements oauth.Store.
func (s *Store) SetOAuthClient(tx node.Tx, c oauth.Client) error {
	known, err := s.OAuthClient(tx, c.ClientID)
	if err != nil {
		return err
	}
	sealed, err := s.sealClient(known.ID, c)
	if err != nil {
		return err
	}
	return s.mustChange(tx, `UPDATE oauth_clients SET record = $1, fetched_at = $2 WHERE id = $3`, sealed, micros(c.FetchedAt), known.ID)
}

// mustChange is exec for a statement that changes one row. Code: not_found.
func (s *Store) mustChange(tx node.Tx, query string, args ...any) error {
	rows, err := s.exec(tx, query, args...)
	if err == nil && rows != 1 {
		err = errNoRow()
	}
	return err
}

// ApproveOAuthClient implements oauth.Store.
func (s *Store) ApproveOAuthClient(tx node.Tx, id string, at time.Time) error {
	return s.mustChange(tx, `UPDATE oauth_clients SET approved_at = CASE WHEN approved_at = 0 THEN $1 ELSE approved_at END WHERE id = $2`, micros(at), id)
}

// TrimOAuthClients implements oauth.Store. A client that is being approved has an
// authorization already.
func (s *Store) TrimOAuthClients(tx node.Tx, before time.Time, most int) error {
	if _, err := s.exec(tx, `DELETE FROM oauth_clients WHERE approved_at = 0 AND created_at < $1`, micros(before)); err != nil {
		return err
	}
	_, err := s.exec(tx, `DELETE FROM oauth_clients WHERE approved_at = 0 AND id IN
		(SELECT id FROM oauth_clients WHERE approved_at = 0 ORDER BY created_at DESC, id DESC LIMIT 1000 OFFSET $1)`, most)
	return err
}

func resourcePlace(id, ownerID string) seal.Place {
	return seal.Place{Table: "oauth_authorizations", Column: "resource", Row: id, Owner: ownerID}
}

// InsertAuthorization implements oauth.Store.
func (s *Store) InsertAuthorization(tx node.Tx, a oauth.Authorization) (bool, error) {
	sealed := s.seal(resourcePlace(a.ID, a.OwnerID), []byte(a.Resource))
	rows, err := s.exec(tx, `INSERT INTO oauth_authorizations (id, owner_id, agent_id, client_id, resource, status, created_at, last_used_at, expires_at)
		SELECT $1, owner_id, id, $2, $3, $4, $5, $6, $7 FROM agents WHERE id = $8 AND owner_id = $9 AND status = 'active'`,
		a.ID, a.ClientID, sealed, string(a.Status), micros(a.CreatedAt), micros(a.LastUsedAt), micros(a.ExpiresAt), a.AgentID, a.OwnerID)
	return rows == 1, err
}

const authorizationColumns = `a.id, a.owner_id, a.agent_id, a.client_id, a.resource, a.status, a.created_at, a.last_used_at, a.expires_at`

// authorizationRow is a row as it is read.
type authorizationRow struct {
	oauth.Authorization
	resource               []byte
	created, used, expires int64
}

func (r *authorizationRow) dest() []any {
	return []any{&r.ID, &r.OwnerID, &r.AgentID, &r.ClientID, &r.resource, &r.Status, &r.created, &r.used, &r.expires}
}

func (s *Store) authorization(r *authorizationRow) (oauth.Authorization, error) {
	plain, err := s.open(resourcePlace(r.ID, r.OwnerID), r.resource)
	r.Resource, r.CreatedAt, r.LastUsedAt, r.ExpiresAt = string(plain), timeOf(r.created), timeOf(r.used), timeOf(r.expires)
	return r.Authorization, err
}

// Authorization implements oauth.Store.
func (s *Store) Authorization(tx node.Tx, id string) (oauth.Authorization, error) {
	var row authorizationRow
	var agent string
	err := s.one(tx, `SELECT `+authorizationColumns+`, g.status FROM oauth_authorizations a JOIN agents g ON g.id = a.agent_id WHERE a.id = $1`,
		[]any{id}, append(row.dest(), &agent)...)
	if err != nil {
		return oauth.Authorization{}, err
	}
	row.AgentActive = agent == "active"
	return s.authorization(&row)
}

// Authorizations implements oauth.Store.
func (s *Store) Authorizations(tx node.Tx, agentID string) ([]oauth.Connected, error) {
	var all []oauth.Connected
	err := s.each(tx, `SELECT `+authorizationColumns+`, c.id, c.method, c.record FROM oauth_authorizations a JOIN oauth_clients c ON c.id = a.client_id
		WHERE a.agent_id = $1 AND a.status = 'active' AND a.expires_at > $2 ORDER BY a.created_at DESC, a.id DESC LIMIT $3`,
		[]any{agentID, micros(tx.Now()), oauth.MaxConnected}, func(scan func(dest ...any) error) error {
			var row authorizationRow
			var found oauth.Connected
			var sealed []byte
			if err := scan(append(row.dest(), &found.Client.ID, &found.Client.Method, &sealed)...); err != nil {
				return err
			}
			if err := s.openClient(&found.Client, sealed); err != nil {
				return err
			}
			var err error
			found.Authorization, err = s.authorization(&row)
			all = append(all, found)
			return err
		})
	return all, err
}

// UseAuthorization implements oauth.Store.
func (s *Store) UseAuthorization(tx node.Tx, id string, at, expires time.Time) (bool, error) {
	rows, err := s.exec(tx, `UPDATE oauth_authorizations SET status = 'active', last_used_at = $1, expires_at = $2 WHERE id = $3 AND status <> 'revoked'`,
		micros(at), micros(expires), id)
	return rows == 1, err
}

// EndAuthorization implements oauth.Store.
func (s *Store) EndAuthorization(tx node.Tx, id string, at time.Time) (bool, error) {
	rows, err := s.exec(tx, `UPDATE oauth_authorizations SET status = 'revoked', expires_at = $1 WHERE id = $2 AND status <> 'revoked'`, micros(at), id)
	return rows == 1, err
}
