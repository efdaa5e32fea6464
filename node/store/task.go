package store

import (
	"encoding/json"
	"time"

	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/seal"
)

// taskCopy is what the sealed cell of a task holds.
type taskCopy struct {
	Contact  string                     `json:"contact"`
	Copy     coordination.Copy          `json:"copy"`
	Executed *coordination.Confirmation `json:"executed,omitempty"`
}

const taskColumns = `agent_id, uid, owner_id, connection_id, role, type, status, held, deadline, out_seq, in_seq, positions,
	disagreement, out_of_step, in_doubt, run_id, executed_at, confirm_owed, copy, rev, created_at, updated_at`

func taskPlace(t coordination.Task) seal.Place {
	return seal.Place{Table: "tasks", Column: "copy", Row: t.AgentID + "/" + t.UID, Owner: t.OwnerID}
}

func (s *Store) sealTask(t coordination.Task) ([]byte, error) {
	plain, err := json.Marshal(taskCopy{Contact: t.Contact, Copy: t.Copy, Executed: t.Executed})
	if err != nil {
		return nil, broken(err)
	}
	return s.seal(taskPlace(t), plain), nil
}

// InsertTask implements coordination.Store.
func (s *Store) InsertTask(tx node.Tx, t coordination.Task) (fresh bool, err error) {
	sealed, err := s.sealTask(t)
	if err != nil {
		return false, err
	}
	rows, err := s.exec(tx, `INSERT INTO tasks (`+taskColumns+`)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, 1, $20, $21)
		ON CONFLICT (agent_id, uid) DO NOTHING`,
		t.AgentID, t.UID, t.OwnerID, t.ConnectionID, t.Role, t.Type, t.Status, t.Held, micros(t.Deadline), t.OutSeq, t.InSeq,
		t.Positions, t.Disagreement, t.OutOfStep, t.InDoubt, t.RunID, micros(t.ExecutedAt), t.ConfirmOwed, sealed,
		micros(t.CreatedAt), micros(t.UpdatedAt))
	return rows == 1, err
}

// Task implements coordination.Store.
func (s *Store) Task(tx node.Tx, agentID, uid string) (coordination.Task, error) {
	w := (&where{}).and("uid = ?", uid)
	if agentID != "" {
		w.and("agent_id = ?", agentID)
	} else {
		w.write(" ORDER BY created_at LIMIT 1") // both copies may be here: the initiator's
	}
	return first(s.tasks(tx, `SELECT `+taskColumns+` FROM tasks`+w.String(), w.args...))
}

// LockTask implements coordination.Store.
func (s *Store) LockTask(tx node.Tx, agentID, uid string) (coordination.Task, error) {
	return first(s.tasks(tx, `UPDATE tasks SET rev = rev + 1 WHERE agent_id = $1 AND uid = $2 RETURNING `+taskColumns, agentID, uid))
}

// SaveTask implements coordination.Store.
func (s *Store) SaveTask(tx node.Tx, t coordination.Task, from coordination.Status) error {
	sealed, err := s.sealTask(t)
	if err != nil {
		return err
	}
	return changed(s.exec(tx, `UPDATE tasks SET status = $1, held = $2, deadline = $3, out_seq = $4, in_seq = $5, positions = $6,
			disagreement = $7, out_of_step = $8, in_doubt = $9, run_id = $10, executed_at = $11, confirm_owed = $12, copy = $13,
			updated_at = $14
		WHERE agent_id = $15 AND uid = $16 AND status = $17`,
		t.Status, t.Held, micros(t.Deadline), t.OutSeq, t.InSeq, t.Positions, t.Disagreement, t.OutOfStep, t.InDoubt, t.RunID,
		micros(t.ExecutedAt), t.ConfirmOwed, sealed, micros(t.UpdatedAt), t.AgentID, t.UID, from))
}

// Tasks implements coordination.Store.
func (s *Store) Tasks(tx node.Tx, agentID string, filter coordination.TaskFilter, page coordination.Page) ([]coordination.Task, error) {
	w := &where{}
	if agentID != "" {
		w.and("agent_id = ?", agentID).and("held = 0")
	}
	if filter.Of != "" {
		w.and("agent_id = ?", filter.Of)
	}
	if filter.ConnectionID != "" {
		w.and("connection_id = ?", filter.ConnectionID)
	}
	switch {
	case filter.Status == "":
	case agentID+filter.Of+filter.ConnectionID == "":
		w.and("(status || '') = ?", filter.Status) // as tasks_by_status has it
	default:
		w.and("status = ?", filter.Status)
	}
	if filter.Flagged {
		w.and("(disagreement <> '' OR out_of_step = 1 OR in_doubt = 1 OR confirm_owed = 1)")
	}
	w.page(page, "uid")
	return s.tasks(tx, `SELECT `+taskColumns+` FROM tasks`+w.String(), w.args...)
}

const unfinished = `status IN ('open', 'negotiating', 'agreed', 'awaiting_approval')`

// UnfinishedTasks implements coordination.Store.
func (s *Store) UnfinishedTasks(tx node.Tx, agentID, connectionID string) ([]coordination.Task, error) {
	return s.tasks(tx, `SELECT `+taskColumns+` FROM tasks WHERE agent_id = $1 AND connection_id = $2 AND `+unfinished+`
		ORDER BY uid`, agentID, connectionID)
}

// ExpiredTasks implements coordination.Store.
func (s *Store) ExpiredTasks(tx node.Tx, agentID, connectionID string, after time.Time) ([]coordination.Task, error) {
	return s.tasks(tx, `SELECT `+taskColumns+` FROM tasks WHERE agent_id = $1 AND connection_id = $2 AND status = 'expired' AND deadline > $3
		ORDER BY uid`, agentID, connectionID, micros(after))
}

// OverdueTasks implements coordination.Store.
func (s *Store) OverdueTasks(tx node.Tx, limit int) ([]coordination.Task, error) {
	return s.tasks(tx, `SELECT `+taskColumns+` FROM tasks WHERE `+unfinished+` AND held = 0 AND deadline <= $1
		ORDER BY deadline LIMIT $2`, micros(tx.Now()), limit)
}

// OwedTasks implements coordination.Store.
func (s *Store) OwedTasks(tx node.Tx, limit int) ([]coordination.Task, error) {
	return s.tasks(tx, `SELECT `+taskColumns+` FROM tasks WHERE confirm_owed = 1 ORDER BY updated_at LIMIT $1`, limit)
}

func (s *Store) tasks(tx node.Tx, query string, args ...any) ([]coordination.Task, error) {
	var list []coordination.Task
	err := s.each(tx, query, args, func(scan func(...any) error) error {
		t, err := s.scanTask(scan)
		list = append(list, t)
		return err
	})
	return list, err
}

func (s *Store) scanTask(scan func(...any) error) (t coordination.Task, err error) {
	var sealed []byte
	var deadline, executed, created, updated int64
	err = scan(&t.AgentID, &t.UID, &t.OwnerID, &t.ConnectionID, &t.Role, &t.Type, &t.Status, &t.Held, &deadline, &t.OutSeq, &t.InSeq,
		&t.Positions, &t.Disagreement, &t.OutOfStep, &t.InDoubt, &t.RunID, &executed, &t.ConfirmOwed, &sealed, &t.Rev, &created, &updated)
	if err != nil {
		return t, err
	}
	t.Deadline, t.ExecutedAt, t.CreatedAt, t.UpdatedAt = timeOf(deadline), timeOf(executed), timeOf(created), timeOf(updated)
	var inside taskCopy
	if err := s.openJSON(taskPlace(t), sealed, &inside); err != nil {
		return t, err
	}
	t.Contact, t.Copy, t.Executed = inside.Contact, inside.Copy, inside.Executed
	return t, nil
}
