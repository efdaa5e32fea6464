package store

import (
	"encoding/json"
	"errors"

	"agentlink/approvals"
	"agentlink/node"
	"agentlink/node/seal"
)

var _ approvals.Store = (*Store)(nil)

// approvalContent is what the sealed cell of an approval holds, written as
// canonical JSON: what was canonical within comes back byte by byte.
type approvalContent struct {
	Contact    string            `json:"contact,omitempty"`
	Parameters json.RawMessage   `json:"parameters"`
	Held       map[string]string `json:"held"`
	Salt       string            `json:"salt"`
}

const approvalColumns = `id, owner_id, agent_id, kind, action, connection_id, task_uid, subject, hash, accepted_digest,
	on_approval, status, override, repeat, automatic, epoch, content, note, mac, created_at, expires_at, decided_at`

// stillOpen is written out wherever the partial indexes are to be used.
const stillOpen = `status IN ('pending', 'approved')`

func approvalPlace(a approvals.Approval, column string) seal.Place {
	return seal.Place{Table: "approvals", Column: column, Row: a.ID, Owner: a.OwnerID}
}

// InsertApproval implements approvals.Store.
func (s *Store) InsertApproval(tx node.Tx, a approvals.Approval) (fresh bool, err error) {
	content, err := node.Canonical(approvalContent{Contact: a.Contact, Parameters: a.Parameters, Held: a.Held, Salt: a.Salt})
	if err != nil {
		return false, broken(err)
	}
	sealed := s.seal(approvalPlace(a, "content"), content)
	rows, err := s.exec(tx, `INSERT INTO approvals (id, owner_id, agent_id, kind, action, connection_id, task_uid, subject, hash,
			accepted_digest, on_approval, status, override, repeat, automatic, epoch, content, mac, rev, created_at, expires_at, decided_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, 1, $19, $20, $21) ON CONFLICT DO NOTHING`,
		a.ID, a.OwnerID, a.AgentID, a.Kind, a.Action, a.ConnectionID, a.TaskUID, a.Subject, a.Hash, a.AcceptedDigest,
		a.OnApproval, a.Status, a.Override, a.Repeat, a.Automatic, a.Epoch, sealed, a.MAC,
		micros(a.CreatedAt), micros(a.ExpiresAt), micros(a.DecidedAt))
	return rows == 1, err
}

// Approval implements approvals.Store.
func (s *Store) Approval(tx node.Tx, id string) (approvals.Approval, error) {
	return first(s.approvals(tx, `SELECT `+approvalColumns+` FROM approvals WHERE id = $1`, id))
}

// LockApproval implements approvals.Store.
func (s *Store) LockApproval(tx node.Tx, id string) (approvals.Approval, error) {
	return first(s.approvals(tx, `UPDATE approvals SET rev = rev + 1 WHERE id = $1 RETURNING `+approvalColumns, id))
}

// SaveApproval implements approvals.Store.
func (s *Store) SaveApproval(tx node.Tx, a approvals.Approval, from approvals.Status) error {
	note := s.seal(approvalPlace(a, "note"), []byte(a.Note))
	return changed(s.exec(tx, `UPDATE approvals SET status = $1, override = $2, repeat = $3, note = $4, decided_at = $5, mac = $6, rev = rev + 1
		WHERE id = $7 AND status = ('' || $8) AND expires_at > $9`,
		a.Status, a.Override, a.Repeat, note, micros(a.DecidedAt), a.MAC, a.ID, from, micros(tx.Now())))
}

// ExpireApproval implements approvals.Store.
func (s *Store) ExpireApproval(tx node.Tx, a approvals.Approval, from approvals.Status) error {
	return changed(s.exec(tx, `UPDATE approvals SET status = $1, mac = $2, rev = rev + 1 WHERE id = $3 AND status = ('' || $4) AND `+stillOpen,
		a.Status, a.MAC, a.ID, from))
}

// RenewMAC implements approvals.Store.
func (s *Store) RenewMAC(tx node.Tx, a approvals.Approval) error {
	return changed(s.exec(tx, `UPDATE approvals SET mac = $1, rev = rev + 1 WHERE id = $2`, a.MAC, a.ID))
}

// LockRequests implements approvals.Store.
func (s *Store) LockRequests(tx node.Tx, agentID string) error {
	_, err := s.exec(tx, `INSERT INTO approval_queues (agent_id, rev) VALUES ($1, 1)
		ON CONFLICT (agent_id) DO UPDATE SET rev = approval_queues.rev + 1`, agentID)
	return err
}

// SamePending implements approvals.Store.
func (s *Store) SamePending(tx node.Tx, a approvals.Approval) (approvals.Approval, error) {
	return first(s.approvals(tx, `SELECT `+approvalColumns+` FROM approvals WHERE kind = 'action' AND status = 'pending'
		AND agent_id = $1 AND action = $2 AND hash = $3 AND accepted_digest = $4 AND on_approval = $5`,
		a.AgentID, a.Action, a.Hash, a.AcceptedDigest, a.OnApproval))
}

// CountPending implements approvals.Store.
func (s *Store) CountPending(tx node.Tx, agentID string, epoch int64) (count int, err error) {
	w := (&where{}).and(stillOpen+" AND status = 'pending' AND expires_at > ? AND epoch >= ?", micros(tx.Now()), epoch)
	if agentID != "" {
		w.and("agent_id = ?", agentID)
	}
	err = s.one(tx, `SELECT COUNT(*) FROM approvals`+w.String(), w.args, &count)
	return count, err
}

// Approvals implements approvals.Store.
func (s *Store) Approvals(tx node.Tx, f approvals.Filter, epoch int64) ([]approvals.Approval, error) {
	w := &where{}
	if f.Status.Open() {
		w.and(stillOpen+" AND expires_at > ? AND epoch >= ?", micros(tx.Now()), epoch)
	}
	if f.Status != "" {
		w.and("status = ?", f.Status)
	}
	if f.AgentID != "" {
		w.and("agent_id = ?", f.AgentID)
	}
	if f.TaskUID != "" {
		w.and("task_uid = ?", f.TaskUID)
	}
	order, after := "created_at DESC, id DESC", "(created_at, id) < (?, ?)"
	if f.Status == approvals.Pending {
		order, after = "expires_at, id", "(expires_at, id) > (?, ?)"
	}
	if f.BeforeID != "" {
		w.and(after, micros(f.BeforeAt), f.BeforeID)
	}
	w.write(" ORDER BY "+order+" LIMIT ?", limitOf(f.Limit))
	return s.approvals(tx, `SELECT `+approvalColumns+` FROM approvals`+w.String(), w.args...)
}

// OpenOfTask implements approvals.Store.
func (s *Store) OpenOfTask(tx node.Tx, agentID, taskUID, action string) ([]string, error) {
	w := (&where{}).and(stillOpen+" AND agent_id = ? AND task_uid = ?", agentID, taskUID)
	if action != "" {
		w.and("action = ?", action)
	}
	w.write(" ORDER BY id")
	return s.ids(tx, `SELECT id FROM approvals`+w.String(), w.args...)
}

// Overdue implements approvals.Store.
func (s *Store) Overdue(tx node.Tx, epoch int64, limit int) ([]string, error) {
	return s.ids(tx, `SELECT id FROM approvals WHERE `+stillOpen+` AND (expires_at <= $1 OR epoch < $2)
		ORDER BY expires_at, id LIMIT $3`, micros(tx.Now()), epoch, limit)
}

// ReadyToRun implements approvals.Store.
func (s *Store) ReadyToRun(tx node.Tx, epoch int64, after string, limit int) ([]approvals.Approval, error) {
	return s.approvals(tx, `SELECT `+approvalColumns+` FROM approvals WHERE `+stillOpen+`
		AND status = 'approved' AND on_approval = 'run' AND expires_at > $1 AND epoch >= $2 AND id > $3
		ORDER BY id LIMIT $4`, micros(tx.Now()), epoch, after, limit)
}

func (s *Store) ids(tx node.Tx, query string, args ...any) (ids []string, err error) {
	err = s.each(tx, query, args, func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		ids = append(ids, id)
		return err
	})
	return ids, err
}

func (s *Store) approvals(tx node.Tx, query string, args ...any) ([]approvals.Approval, error) {
	var list []approvals.Approval
	err := s.each(tx, query, args, func(scan func(...any) error) error {
		var a approvals.Approval
		var content, note []byte
		var created, expires, decided int64
		err := scan(&a.ID, &a.OwnerID, &a.AgentID, &a.Kind, &a.Action, &a.ConnectionID, &a.TaskUID, &a.Subject, &a.Hash,
			&a.AcceptedDigest, &a.OnApproval, &a.Status, &a.Override, &a.Repeat, &a.Automatic, &a.Epoch, &content, &note,
			&a.MAC, &created, &expires, &decided)
		if err != nil {
			return err
		}
		a.CreatedAt, a.ExpiresAt, a.DecidedAt = timeOf(created), timeOf(expires), timeOf(decided)
		if err := s.openApproval(&a, content, note); err != nil {
			return err
		}
		list = append(list, a)
		return nil
	})
	return list, err
}

// openApproval opens the sealed cells. Those that do not open make the approval
// damaged: it is shown as that, and keeps nobody from the others.
func (s *Store) openApproval(a *approvals.Approval, content, note []byte) error {
	var opened approvalContent
	err := s.openJSON(approvalPlace(*a, "content"), content, &opened)
	if err == nil {
		var text []byte
		text, err = s.open(approvalPlace(*a, "note"), note)
		a.Note = string(text)
	}
	if errors.Is(err, seal.ErrNotOpened) {
		a.Damaged = true
		return nil
	}
	a.Contact, a.Parameters, a.Held, a.Salt = opened.Contact, opened.Parameters, opened.Held, opened.Salt
	return err
}
