package store

import "agentlink/node"

// LockMessage implements coordination.Store. It opens nothing, so that it locks
// what guards a damaged message too.
func (s *Store) LockMessage(tx node.Tx, agentID, id string) error {
	var task, connection string
	err := s.one(tx, `SELECT task_uid, connection_id FROM messages WHERE agent_id = $1 AND id = $2
		ORDER BY direction DESC LIMIT 1`, []any{agentID, id}, &task, &connection)
	if err != nil {
		return err
	}
	if task == "" {
		return locked(s.exec(tx, `UPDATE connections SET rev = rev + 1 WHERE id = $1`, connection))
	}
	return locked(s.exec(tx, `UPDATE tasks SET rev = rev + 1 WHERE agent_id = $1 AND uid = $2`, agentID, task))
}

func locked(rows int64, err error) error {
	if err == nil && rows == 0 {
		return errNoRow()
	}
	return err
}
