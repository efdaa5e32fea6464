package store

import (
	"errors"
	"slices"
	"strconv"

	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/seal"
)

const auditColumns = `position, at, owner_id, type, actor_kind, via, agent_id, connection_id, task_uid, subject,
	data, data_hash, previous, hash`

// auditAtOnce is how many rows one statement writes: most changes have one to three.
const auditAtOnce = 4

// KeepAudit implements audit.Store. It announces TopicFeed, and FeedOf the agent
// that the row is about.
func (s *Store) KeepAudit(tx node.Tx, row audit.Row, write func([]audit.Row) error) (waiting int64, err error) {
	t, err := s.use(tx, "append to the audit log")
	if err != nil {
		return 0, err
	}
	if t.readOnly {
		return 0, broken(errors.New("a view cannot append to the audit log"))
	}
	t.audit.rows, t.audit.write = append(t.audit.rows, row), write
	return int64(len(t.audit.rows)), errors.Join(s.Notify(tx, FeedOf(row.AgentID)), s.Notify(tx, TopicFeed))
}

// LockHead implements audit.Store. A second call in a transaction costs nothing.
func (s *Store) LockHead(tx node.Tx) (audit.Head, error) {
	t, err := s.use(tx, "lock the audit head")
	if err != nil {
		return audit.Head{}, err
	}
	if t.audit.head != nil {
		return *t.audit.head, nil
	}
	var head audit.Head
	err = s.one(tx, `UPDATE audit_head SET rev = rev + 1 WHERE id = 1 RETURNING position, hash, mac`, nil,
		&head.Position, &head.Hash, &head.MAC)
	if node.CodeOf(err) == node.NotFound {
		err = broken(errors.New("the head of the audit log is gone"))
	}
	if err == nil {
		t.audit.head = &head
	}
	return head, err
}

// AppendAudit implements audit.Store.
func (s *Store) AppendAudit(tx node.Tx, rows []audit.Row, head audit.Head) error {
	t, err := s.use(tx, "append to the audit log")
	if err != nil {
		return err
	}
	for group := range slices.Chunk(rows, auditAtOnce) {
		if err := s.insertAudit(tx, group); err != nil {
			return err
		}
	}
	moved, err := s.exec(tx, `UPDATE audit_head SET position = $1, hash = $2, mac = $3 WHERE id = 1 AND position = $4`,
		head.Position, head.Hash, head.MAC, head.Position-int64(len(rows)))
	if err == nil && moved != 1 {
		err = t.fail(errors.New("the head of the audit log is elsewhere")).err
	}
	if err != nil {
		return err
	}
	t.audit.head = &head
	return nil
}

func (s *Store) insertAudit(tx node.Tx, rows []audit.Row) error {
	w := &where{}
	for _, row := range rows {
		w.values(row.Position, micros(row.At), row.OwnerID, string(row.Type), string(row.ActorKind), row.Via, row.AgentID,
			row.ConnectionID, row.TaskUID, row.Subject, s.sealAudit(row), row.DataHash, row.Previous, row.Hash)
	}
	_, err := s.exec(tx, `INSERT INTO audit_log (`+auditColumns+`)`+w.String(), w.args...)
	return err
}

// noData is what most events carry; it is stored as NULL, which costs no sealing.
const noData = "{}"

func (s *Store) sealAudit(row audit.Row) []byte {
	if string(row.Data) == noData {
		return nil
	}
	return s.seal(auditPlace(row), row.Data)
}

func auditPlace(row audit.Row) seal.Place {
	return seal.Place{Table: "audit_log", Column: "data", Row: strconv.FormatInt(row.Position, 10), Owner: row.OwnerID}
}

// AuditHead implements audit.Store.
func (s *Store) AuditHead(tx node.Tx) (audit.Head, error) {
	var head audit.Head
	err := s.one(tx, `SELECT position, hash, mac FROM audit_head WHERE id = 1`, nil, &head.Position, &head.Hash, &head.MAC)
	return head, err
}

// AuditRows implements audit.Store. A row whose data does not open gives an
// *audit.UnopenedError.
func (s *Store) AuditRows(tx node.Tx, filter audit.Filter) ([]audit.Row, error) {
	query, args := auditQuery(filter)
	var rows []audit.Row
	err := s.each(tx, query, args, func(scan func(...any) error) error {
		row, err := s.scanAudit(scan, filter.Hashes)
		rows = append(rows, row)
		return err
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

func (s *Store) scanAudit(scan func(...any) error, hashes bool) (row audit.Row, err error) {
	var at int64
	var sealed []byte
	err = scan(&row.Position, &at, &row.OwnerID, &row.Type, &row.ActorKind, &row.Via, &row.AgentID, &row.ConnectionID,
		&row.TaskUID, &row.Subject, &sealed, &row.DataHash, &row.Previous, &row.Hash)
	if row.At = timeOf(at); err != nil || hashes {
		return row, err
	}
	if row.Data = []byte(noData); sealed == nil {
		return row, nil
	}
	if row.Data, err = s.open(auditPlace(row), sealed); err != nil {
		return row, broken(&audit.UnopenedError{Position: row.Position, Err: err})
	}
	return row, nil
}
