package store

import (
	"agentlink/actions"
	"agentlink/node"
)

// generationJump is more than the keys that an agent gets between a backup and
// its restore: an access token of that time names a generation below.
const generationJump = 1 << 20

// EndTokens ends every agent's access tokens. Keys stay.
func (s *Store) EndTokens(tx node.Tx) error {
	_, err := s.exec(tx, `UPDATE agents SET key_generation = key_generation + $1`, generationJump)
	return err
}

// LoseRuns says of every run that a backup holds unfinished that nobody knows how
// it ended: it may have been carried out after the backup. None starts again.
func (s *Store) LoseRuns(tx node.Tx) (lost []actions.Run, err error) {
	now := micros(tx.Now())
	err = s.each(tx, `UPDATE runs SET state = 'unknown', reason = $1, finished_at = $2, lease_until = 0, rev = rev + 1,
			settled = CASE WHEN task_uid = '' THEN 1 ELSE 0 END,
			task_confirmation = CASE WHEN task_uid = '' THEN '' ELSE 'failed' END
		WHERE state IN ('reserved', 'running')
		RETURNING id, owner_id, agent_id, action, task_uid, approval_id`, []any{string(actions.Interrupted), now},
		func(scan func(...any) error) error {
			run := actions.Run{State: actions.Unknown, Reason: actions.Interrupted}
			err := scan(&run.ID, &run.OwnerID, &run.AgentID, &run.Action, &run.TaskUID, &run.ApprovalID)
			lost = append(lost, run)
			return err
		})
	return lost, err
}
