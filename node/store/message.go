package store

import (
	"strings"
	"time"

	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/seal"
)

const messageColumns = `id, owner_id, agent_id, connection_id, task_uid, direction, type, author, status, code, seq, ack,
	position, void, void_reason, replaces, content, envelope, sha256, approval_id, needs, decided_rev, tries,
	created_at, expires_at, attempted_at, settled_at`

// messagePlace binds a cell to its whole key: a peer chooses the ids of its own
// messages.
func messagePlace(column string, m coordination.Message) seal.Place {
	row := strings.Join([]string{m.AgentID, string(m.Direction), m.ConnectionID, m.ID}, "/")
	return seal.Place{Table: "messages", Column: column, Row: row, Owner: m.OwnerID}
}

// InsertMessage implements coordination.Store.
func (s *Store) InsertMessage(tx node.Tx, m coordination.Message) error {
	content := s.seal(messagePlace("content", m), m.Content)
	envelope := s.seal(messagePlace("envelope", m), m.Envelope)
	return changed(s.exec(tx, `INSERT INTO messages (`+messageColumns+`)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27)
		ON CONFLICT DO NOTHING`,
		m.ID, m.OwnerID, m.AgentID, m.ConnectionID, m.TaskUID, m.Direction, m.Type, m.Author, m.Status, m.Code, m.Seq, m.Ack,
		m.Position, m.Void, m.VoidReason, m.Replaces, content, envelope, m.Sha256, m.ApprovalID, strings.Join(m.Needs, " "),
		m.DecidedRev, m.Tries, micros(m.CreatedAt), micros(m.ExpiresAt), micros(m.AttemptedAt), micros(m.SettledAt)))
}

// Message implements coordination.Store. Of two messages with one id, which a
// peer can bring about, it gives ours.
func (s *Store) Message(tx node.Tx, agentID, id string) (coordination.Message, error) {
	w := (&where{}).and("id = ?", id)
	if agentID != "" {
		w.and("agent_id = ?", agentID)
	}
	w.write(" ORDER BY direction DESC LIMIT 1")
	return first(s.messages(tx, `SELECT `+messageColumns+` FROM messages`+w.String(), w.args...))
}

// SaveMessage implements coordination.Store.
func (s *Store) SaveMessage(tx node.Tx, m coordination.Message, from coordination.MessageStatus) error {
	content := s.seal(messagePlace("content", m), m.Content)
	envelope := s.seal(messagePlace("envelope", m), m.Envelope)
	return changed(s.exec(tx, `UPDATE messages SET status = $1, code = $2, seq = $3, ack = $4, position = $5, void = $6,
			void_reason = $7, content = $8, envelope = $9, sha256 = $10, decided_rev = $11, tries = $12, expires_at = $13,
			attempted_at = $14, settled_at = $15
		WHERE agent_id = $16 AND direction = ('' || $17) AND connection_id = $18 AND id = $19 AND status = ('' || $20)`,
		m.Status, m.Code, m.Seq, m.Ack, m.Position, m.Void, m.VoidReason, content, envelope, m.Sha256, m.DecidedRev, m.Tries,
		micros(m.ExpiresAt), micros(m.AttemptedAt), micros(m.SettledAt),
		m.AgentID, m.Direction, m.ConnectionID, m.ID, from))
}

// Chat implements coordination.Store.
func (s *Store) Chat(tx node.Tx, agentID, connectionID string, page coordination.Page) ([]coordination.Message, error) {
	w := (&where{}).and("type = 'message'")
	if agentID != "" {
		w.and("agent_id = ?", agentID)
	}
	if connectionID != "" {
		w.and("connection_id = ?", connectionID)
	}
	w.page(page, "id")
	return s.messages(tx, `SELECT `+messageColumns+` FROM messages`+w.String(), w.args...)
}

// Thread implements coordination.Store.
func (s *Store) Thread(tx node.Tx, connectionID string, page coordination.Page) ([]coordination.Message, error) {
	w := (&where{}).and("connection_id = ?", connectionID).page(page, "id")
	return s.messages(tx, `SELECT `+messageColumns+` FROM messages`+w.String(), w.args...)
}

// LatestChat implements coordination.Store. It looks at the end of each
// connection's messages, however many there are before it.
func (s *Store) LatestChat(tx node.Tx, page coordination.Page) ([]coordination.Message, error) {
	w := (&where{}).and("type = 'message'").and(`(agent_id, id) IN (SELECT c.agent_id, (SELECT m.id FROM messages m
		WHERE m.type = 'message' AND m.connection_id = c.id ORDER BY m.created_at DESC, m.id DESC LIMIT 1) FROM connections c)`).page(page, "id")
	return s.messages(tx, `SELECT `+messageColumns+` FROM messages`+w.String(), w.args...)
}

// Unsent implements coordination.Store.
func (s *Store) Unsent(tx node.Tx, status coordination.MessageStatus, page coordination.Page) ([]coordination.Message, error) {
	w := (&where{}).and("direction = 'out'").and("status IN ('pending_approval', 'rejected', 'failed')").and("status = ?", status).page(page, "id")
	return s.messages(tx, `SELECT `+messageColumns+` FROM messages`+w.String(), w.args...)
}

// TaskMessages implements coordination.Store.
func (s *Store) TaskMessages(tx node.Tx, agentID, uid string) ([]coordination.Message, error) {
	return s.messages(tx, `SELECT `+messageColumns+` FROM messages
		WHERE agent_id = $1 AND task_uid = $2 AND position > 0 ORDER BY position`, agentID, uid)
}

// QueuedMessages implements coordination.Store.
func (s *Store) QueuedMessages(tx node.Tx, agentID, connectionID string) ([]coordination.Message, error) {
	return s.messages(tx, `SELECT `+messageColumns+` FROM messages
		WHERE agent_id = $1 AND connection_id = $2 AND status = 'queued' ORDER BY position, created_at, id`, agentID, connectionID)
}

// NumberedMessage implements coordination.Store.
func (s *Store) NumberedMessage(tx node.Tx, agentID, uid string, direction coordination.Direction, seq int64) (coordination.Message, error) {
	return first(s.messages(tx, `SELECT `+messageColumns+` FROM messages
		WHERE agent_id = $1 AND task_uid = $2 AND direction = $3 AND seq = $4 AND seq > 0
			AND connection_id = (SELECT connection_id FROM tasks WHERE agent_id = $1 AND uid = $2)
		ORDER BY CASE WHEN type = 'task.void' THEN 0 ELSE 1 END, created_at LIMIT 1`, agentID, uid, direction, seq))
}

// OverdueMessages implements coordination.Store.
func (s *Store) OverdueMessages(tx node.Tx, limit int) ([]coordination.Message, error) {
	return s.messages(tx, `SELECT `+messageColumns+` FROM messages
		WHERE status = 'queued' AND code = '' AND expires_at <= $1 ORDER BY expires_at LIMIT $2`, micros(tx.Now()), limit)
}

// CountUndelivered implements coordination.Store.
func (s *Store) CountUndelivered(tx node.Tx, before time.Time, limit int) (count int, err error) {
	err = s.one(tx, `SELECT COUNT(*) FROM (SELECT 1 FROM messages
		WHERE status = 'queued' AND attempted_at > 0 AND attempted_at < $1 LIMIT $2) AS waiting`, []any{micros(before), limit}, &count)
	return count, err
}

// CountRejected implements coordination.Store.
func (s *Store) CountRejected(tx node.Tx, agentID, connectionID string) (count int, err error) {
	err = s.one(tx, `SELECT COUNT(*) FROM messages
		WHERE agent_id = $1 AND connection_id = $2 AND status = 'rejected' AND direction = 'in'`,
		[]any{agentID, connectionID}, &count)
	return count, err
}

func (s *Store) messages(tx node.Tx, query string, args ...any) ([]coordination.Message, error) {
	var list []coordination.Message
	err := s.each(tx, query, args, func(scan func(...any) error) error {
		m, err := s.scanMessage(scan)
		list = append(list, m)
		return err
	})
	return list, err
}

func (s *Store) scanMessage(scan func(...any) error) (m coordination.Message, err error) {
	var content, envelope []byte
	var needs string
	var created, expires, attempted, settled int64
	err = scan(&m.ID, &m.OwnerID, &m.AgentID, &m.ConnectionID, &m.TaskUID, &m.Direction, &m.Type, &m.Author, &m.Status, &m.Code,
		&m.Seq, &m.Ack, &m.Position, &m.Void, &m.VoidReason, &m.Replaces, &content, &envelope, &m.Sha256, &m.ApprovalID,
		&needs, &m.DecidedRev, &m.Tries, &created, &expires, &attempted, &settled)
	if err != nil {
		return m, err
	}
	m.Needs = strings.Fields(needs)
	m.CreatedAt, m.ExpiresAt, m.AttemptedAt, m.SettledAt = timeOf(created), timeOf(expires), timeOf(attempted), timeOf(settled)
	if m.Content, err = s.open(messagePlace("content", m), content); err != nil {
		return m, err
	}
	m.Envelope, err = s.open(messagePlace("envelope", m), envelope)
	return m, err
}

// KeepAck implements coordination.Store.
func (s *Store) KeepAck(tx node.Tx, agentID, jti, contact string, signed []byte, until time.Time) error {
	key := s.ContactKey(contact)
	sealed := s.seal(ackPlace(agentID, key, jti), signed)
	_, err := s.exec(tx, `INSERT INTO answers (agent_id, contact_key, jti, signed, until) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (agent_id, contact_key, jti) DO UPDATE SET signed = excluded.signed, until = excluded.until`,
		agentID, key, jti, sealed, micros(until))
	return err
}

// KeptAck implements coordination.Store.
func (s *Store) KeptAck(tx node.Tx, agentID, jti, contact string) (signed []byte, ok bool, err error) {
	key, sealed := s.ContactKey(contact), []byte(nil)
	err = s.one(tx, `SELECT signed FROM answers WHERE agent_id = $1 AND contact_key = $2 AND jti = $3`, []any{agentID, key, jti}, &sealed)
	if node.CodeOf(err) == node.NotFound {
		return nil, false, nil
	}
	if err == nil {
		signed, err = s.open(ackPlace(agentID, key, jti), sealed)
	}
	return signed, err == nil, err
}

// ackPlace is the cell of a signed answer, which names the contact.
func ackPlace(agentID, contactKey, jti string) seal.Place {
	return seal.Place{Table: "answers", Column: "signed", Row: contactKey + " " + jti, Owner: agentID}
}

// SweepAcks implements coordination.Store.
func (s *Store) SweepAcks(tx node.Tx, limit int) (int64, error) {
	return s.exec(tx, `DELETE FROM answers WHERE (agent_id, contact_key, jti) IN
		(SELECT agent_id, contact_key, jti FROM answers WHERE until <= $1 LIMIT $2)`, micros(tx.Now()), limit)
}
