package store

import (
	"encoding/json"
	"time"

	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/seal"
)

var _ coordination.Store = (*Store)(nil)

// connectionDetail is what the sealed cell of a connection holds.
type connectionDetail struct {
	Contact string            `json:"contact"`
	Peer    coordination.Peer `json:"peer"`
	Note    string            `json:"note,omitempty"`
	Secret  string            `json:"secret,omitempty"`

	Offer   *coordination.KeyOffer `json:"offer,omitempty"`
	Refused []string               `json:"refused,omitempty"`
}

const connectionColumns = `id, owner_id, agent_id, status, initiated, request_id, approval_id, invited, accept_unacked,
	structured_only, key_changed, known_key, key_told_at, key_declined, sent, detail, rev, created_at, updated_at`

func connectionPlace(c coordination.Connection) seal.Place {
	return seal.Place{Table: "connections", Column: "detail", Row: c.ID, Owner: c.OwnerID}
}

func (s *Store) sealConnection(c coordination.Connection) ([]byte, error) {
	detail, err := json.Marshal(connectionDetail{
		Contact: c.Contact, Peer: c.Peer, Note: c.Note, Secret: c.Secret, Offer: c.Offer, Refused: c.RefusedKeys,
	})
	if err != nil {
		return nil, broken(err)
	}
	return s.seal(connectionPlace(c), detail), nil
}

// InsertConnection implements coordination.Store.
func (s *Store) InsertConnection(tx node.Tx, c coordination.Connection) error {
	detail, err := s.sealConnection(c)
	if err != nil {
		return err
	}
	rows, err := s.exec(tx, `INSERT INTO connections (id, owner_id, agent_id, contact_key, status, fingerprint, initiated,
			request_id, approval_id, invited, accept_unacked, structured_only, key_changed, sent, detail, rev, created_at, updated_at,
			known_key, key_told_at, key_declined, key_offered)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, 1, $16, $17, $18, $19, $20, $21) ON CONFLICT DO NOTHING`,
		c.ID, c.OwnerID, c.AgentID, s.ContactKey(c.Contact), c.Status, c.Peer.Fingerprint, c.Initiated,
		c.RequestID, c.ApprovalID, c.Invited, c.AcceptUnacked, c.StructuredOnly, c.KeyChanged, c.Sent, detail,
		micros(c.CreatedAt), micros(c.UpdatedAt), c.KnownKey, micros(c.KeyToldAt), c.KeyDeclined, c.Offer != nil)
	return changed(rows, err)
}

// changed makes a conflict of a write that met no row, or a row that was there.
func changed(rows int64, err error) error {
	if err == nil && rows == 0 {
		return node.ConflictFor(node.ReasonBadState, "It has changed meanwhile. Read it again.")
	}
	return err
}

// Connection implements coordination.Store.
func (s *Store) Connection(tx node.Tx, id string) (coordination.Connection, error) {
	return first(s.connections(tx, `SELECT `+connectionColumns+` FROM connections WHERE id = $1`, id))
}

// LockConnection implements coordination.Store.
func (s *Store) LockConnection(tx node.Tx, id string) (coordination.Connection, error) {
	return first(s.connections(tx, `UPDATE connections SET rev = rev + 1 WHERE id = $1 RETURNING `+connectionColumns, id))
}

// SaveConnection implements coordination.Store.
func (s *Store) SaveConnection(tx node.Tx, c coordination.Connection, from coordination.ConnectionStatus) error {
	detail, err := s.sealConnection(c)
	if err != nil {
		return err
	}
	return changed(s.exec(tx, `UPDATE connections SET status = $1, request_id = $2, approval_id = $3, invited = $4,
			accept_unacked = $5, structured_only = $6, key_changed = $7, sent = $8, detail = $9, updated_at = $10,
			fingerprint = $11, known_key = $12, key_told_at = $13, key_declined = $14, key_offered = $15
		WHERE id = $16 AND status = ('' || $17)`,
		c.Status, c.RequestID, c.ApprovalID, c.Invited, c.AcceptUnacked, c.StructuredOnly, c.KeyChanged, c.Sent, detail,
		micros(c.UpdatedAt), c.Peer.Fingerprint, c.KnownKey, micros(c.KeyToldAt), c.KeyDeclined, c.Offer != nil, c.ID, from))
}

// ConnectionsWith implements coordination.Store.
func (s *Store) ConnectionsWith(tx node.Tx, agentID, contact string) ([]coordination.Connection, error) {
	return s.connections(tx, `SELECT `+connectionColumns+` FROM connections WHERE agent_id = $1 AND contact_key = $2
		ORDER BY created_at DESC, id DESC LIMIT 20`, agentID, s.ContactKey(contact))
}

// Connections implements coordination.Store.
func (s *Store) Connections(tx node.Tx, agentID string, page coordination.Page) ([]coordination.Connection, error) {
	w := &where{}
	if agentID != "" {
		w.and("agent_id = ?", agentID)
	}
	w.page(page, "id")
	return s.connections(tx, `SELECT `+connectionColumns+` FROM connections`+w.String(), w.args...)
}

// Contacts implements coordination.Store.
func (s *Store) Contacts(tx node.Tx, page coordination.Page) ([]coordination.Connection, error) {
	w := (&where{}).and(`(status NOT IN ('rejected', 'revoked') OR NOT EXISTS (SELECT 1 FROM connections n
		WHERE n.agent_id = connections.agent_id AND n.contact_key = connections.contact_key
		AND (n.created_at, n.id) > (connections.created_at, connections.id)))`).page(page, "id")
	return s.connections(tx, `SELECT `+connectionColumns+` FROM connections`+w.String(), w.args...)
}

// IncomingConnections implements coordination.Store.
func (s *Store) IncomingConnections(tx node.Tx, page coordination.Page) ([]coordination.Connection, error) {
	w := (&where{}).and("status = 'pending_incoming'").page(page, "id")
	return s.connections(tx, `SELECT `+connectionColumns+` FROM connections`+w.String(), w.args...)
}

// CountIncoming implements coordination.Store.
func (s *Store) CountIncoming(tx node.Tx) (count int, err error) {
	err = s.one(tx, `SELECT COUNT(*) FROM connections WHERE status = 'pending_incoming'`, nil, &count)
	return count, err
}

func (s *Store) connections(tx node.Tx, query string, args ...any) ([]coordination.Connection, error) {
	var list []coordination.Connection
	err := s.each(tx, query, args, func(scan func(...any) error) error {
		var c coordination.Connection
		var sealed []byte
		var told, created, updated int64
		err := scan(&c.ID, &c.OwnerID, &c.AgentID, &c.Status, &c.Initiated, &c.RequestID, &c.ApprovalID, &c.Invited, &c.AcceptUnacked,
			&c.StructuredOnly, &c.KeyChanged, &c.KnownKey, &told, &c.KeyDeclined, &c.Sent, &sealed, &c.Rev, &created, &updated)
		if err != nil {
			return err
		}
		c.KeyToldAt, c.CreatedAt, c.UpdatedAt = timeOf(told), timeOf(created), timeOf(updated)
		var detail connectionDetail
		if err := s.openJSON(connectionPlace(c), sealed, &detail); err != nil {
			return err
		}
		c.Contact, c.Peer, c.Note, c.Secret = detail.Contact, detail.Peer, detail.Note, detail.Secret
		c.Offer, c.RefusedKeys = detail.Offer, detail.Refused
		list = append(list, c)
		return nil
	})
	return list, err
}

func (s *Store) openJSON(place seal.Place, sealed []byte, into any) error {
	plaintext, err := s.open(place, sealed)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(plaintext, into); err != nil {
		return broken(err)
	}
	return nil
}

// first is the one row of a list, or not_found.
func first[T any](list []T, err error) (T, error) {
	var none T
	switch {
	case err != nil:
		return none, err
	case len(list) == 0:
		return none, errNoRow()
	}
	return list[0], nil
}

// InsertInvitation implements coordination.Store.
func (s *Store) InsertInvitation(tx node.Tx, i coordination.Invitation) error {
	_, err := s.exec(tx, `INSERT INTO invitations (id, owner_id, agent_id, secret_hash, expires_at, used_at, created_at)
		VALUES ($1, $2, $3, $4, $5, 0, $6)`,
		i.ID, i.OwnerID, i.AgentID, i.SecretHash, micros(i.ExpiresAt), micros(i.CreatedAt))
	return err
}

// UseInvitation implements coordination.Store.
func (s *Store) UseInvitation(tx node.Tx, agentID, secretHash string) (bool, error) {
	now := micros(tx.Now())
	rows, err := s.exec(tx, `UPDATE invitations SET used_at = $1
		WHERE agent_id = $2 AND secret_hash = $3 AND used_at = 0 AND expires_at > $4`, now, agentID, secretHash, now)
	return rows == 1, err
}

// RecordLookup implements coordination.Store.
func (s *Store) RecordLookup(tx node.Tx, agentID, host string) error {
	_, err := s.exec(tx, `INSERT INTO lookups (agent_id, host_key, at) VALUES ($1, $2, $3)
		ON CONFLICT (agent_id, host_key) DO UPDATE SET at = excluded.at`,
		agentID, s.box.Lookup("host", host), micros(tx.Now()))
	return err
}

// CountLookups implements coordination.Store.
func (s *Store) CountLookups(tx node.Tx, agentID, host string, since time.Time) (others int, err error) {
	if err := s.LockRequests(tx, agentID); err != nil {
		return 0, err
	}
	err = s.one(tx, `SELECT COUNT(*) FROM lookups WHERE agent_id = $1 AND at > $2 AND host_key <> $3`,
		[]any{agentID, micros(since), s.box.Lookup("host", host)}, &others)
	return others, err
}
