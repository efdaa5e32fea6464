package store

import (
	"encoding/json"
	"time"

	"agentlink/actions"
	"agentlink/node"
	"agentlink/node/seal"
)

var _ actions.Store = (*Store)(nil)

// runRequest and runAnswer are what the sealed cells of a run hold, as canonical JSON.
type runRequest struct {
	Parameters json.RawMessage `json:"parameters"`
	Salt       string          `json:"salt"`
}

type runAnswer struct {
	Result  json.RawMessage `json:"result,omitzero"`
	Code    string          `json:"code,omitempty"`
	Receipt string          `json:"receipt,omitempty"`
}

const runColumns = `id, owner_id, agent_id, action, params_hash, task_uid, approval_id, automatic, state, reason, simulated,
	task_confirmation, repeat, settled, request, answer, lease_token, lease_until, reserved_at, started_at, finished_at`

func runPlace(r actions.Run, column string) seal.Place {
	return seal.Place{Table: "runs", Column: column, Row: r.ID, Owner: r.OwnerID}
}

// runKey stands for a caller's key in the table, NULL for none: callers put
// names into their keys.
func (s *Store) runKey(agentID, key string) any {
	if key == "" {
		return nil
	}
	return s.box.Lookup("run.key", agentID+" "+key)
}

// InsertRun implements actions.Store.
func (s *Store) InsertRun(tx node.Tx, r actions.Run) (fresh bool, err error) {
	request, err := node.Canonical(runRequest{Parameters: r.Parameters, Salt: r.Salt})
	if err != nil {
		return false, broken(err)
	}
	sealed := s.seal(runPlace(r, "request"), request)
	rows, err := s.exec(tx, `INSERT INTO runs (id, owner_id, agent_id, action, params_hash, task_uid, approval_id, automatic, key, state,
			reason, simulated, task_confirmation, repeat, settled, request, lease_token, lease_until, rev, reserved_at, started_at, finished_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, 1, $19, $20, $21) ON CONFLICT DO NOTHING`,
		r.ID, r.OwnerID, r.AgentID, r.Action, r.ParamsHash, r.TaskUID, r.ApprovalID, r.Automatic, s.runKey(r.AgentID, r.Key), r.State,
		r.Reason, r.Simulated, r.TaskConfirmation, r.Repeat, r.Settled, sealed, r.LeaseToken, micros(r.LeaseUntil),
		micros(r.ReservedAt), micros(r.StartedAt), micros(r.FinishedAt))
	return rows == 1, err
}

// Run implements actions.Store.
func (s *Store) Run(tx node.Tx, id string) (actions.Run, error) {
	return first(s.runs(tx, `SELECT `+runColumns+` FROM runs WHERE id = $1`, id))
}

// RunByKey implements actions.Store.
func (s *Store) RunByKey(tx node.Tx, agentID, key string) (actions.Run, error) {
	return first(s.runs(tx, `SELECT `+runColumns+` FROM runs WHERE agent_id = $1 AND key = $2`, agentID, s.runKey(agentID, key)))
}

// RunByApproval implements actions.Store.
func (s *Store) RunByApproval(tx node.Tx, approvalID string) (actions.Run, error) {
	return first(s.runs(tx, `SELECT `+runColumns+` FROM runs WHERE approval_id = $1`, approvalID))
}

// LastRun implements actions.Store.
func (s *Store) LastRun(tx node.Tx, agentID, taskUID, action string) (actions.Run, error) {
	return first(s.runs(tx, `SELECT `+runColumns+` FROM runs WHERE agent_id = $1 AND task_uid = $2 AND action = $3 AND state <> 'failed'
		ORDER BY reserved_at DESC, id DESC LIMIT 1`, agentID, taskUID, action))
}

// SaveRun implements actions.Store.
func (s *Store) SaveRun(tx node.Tx, r actions.Run, from actions.State) (held bool, err error) {
	answer, err := s.sealAnswer(r)
	if err != nil {
		return false, err
	}
	rows, err := s.exec(tx, `UPDATE runs SET state = $1, reason = $2, simulated = $3, task_confirmation = $4, settled = $5, answer = $6,
			started_at = $7, finished_at = $8, rev = rev + 1
		WHERE id = $9 AND state = $10 AND lease_token = $11`,
		r.State, r.Reason, r.Simulated, r.TaskConfirmation, r.Settled, answer,
		micros(r.StartedAt), micros(r.FinishedAt), r.ID, from, r.LeaseToken)
	return rows == 1, err
}

func (s *Store) sealAnswer(r actions.Run) ([]byte, error) {
	if len(r.Result) == 0 && r.Code == "" && r.Receipt == "" {
		return nil, nil
	}
	answer, err := node.Canonical(runAnswer{Result: r.Result, Code: r.Code, Receipt: r.Receipt})
	if err != nil {
		return nil, broken(err)
	}
	return s.seal(runPlace(r, "answer"), answer), nil
}

// LostRun implements actions.Store.
func (s *Store) LostRun(tx node.Tx) (bool, error) {
	ids, err := s.ids(tx, `SELECT id FROM runs WHERE settled = 0 AND lease_until <= $1 LIMIT 1`, micros(tx.Now()))
	return len(ids) > 0, err
}

// ClaimRun implements actions.Store.
func (s *Store) ClaimRun(tx node.Tx, token string, until time.Time) (r actions.Run, ok bool, err error) {
	now := micros(tx.Now())
	r, err = first(s.runs(tx, `UPDATE runs SET lease_token = $1, lease_until = $2, rev = rev + 1
		WHERE settled = 0 AND lease_until <= $3 AND id =
			(SELECT id FROM runs WHERE settled = 0 AND lease_until <= $4 ORDER BY lease_until, id LIMIT 1)
		RETURNING `+runColumns, token, micros(until), now, now))
	if node.CodeOf(err) == node.NotFound {
		return r, false, nil
	}
	return r, err == nil, err
}

func (s *Store) runs(tx node.Tx, query string, args ...any) ([]actions.Run, error) {
	var list []actions.Run
	err := s.each(tx, query, args, func(scan func(...any) error) error {
		var r actions.Run
		var request, answer []byte
		var lease, reserved, started, finished int64
		err := scan(&r.ID, &r.OwnerID, &r.AgentID, &r.Action, &r.ParamsHash, &r.TaskUID, &r.ApprovalID, &r.Automatic, &r.State, &r.Reason,
			&r.Simulated, &r.TaskConfirmation, &r.Repeat, &r.Settled, &request, &answer, &r.LeaseToken, &lease, &reserved, &started, &finished)
		if err != nil {
			return err
		}
		r.LeaseUntil, r.ReservedAt, r.StartedAt, r.FinishedAt = timeOf(lease), timeOf(reserved), timeOf(started), timeOf(finished)
		if err := s.openRun(&r, request, answer); err != nil {
			return err
		}
		list = append(list, r)
		return nil
	})
	return list, err
}

func (s *Store) openRun(r *actions.Run, request, answer []byte) error {
	var asked runRequest
	if err := s.openJSON(runPlace(*r, "request"), request, &asked); err != nil {
		return err
	}
	r.Parameters, r.Salt = asked.Parameters, asked.Salt
	if len(answer) == 0 {
		return nil
	}
	var given runAnswer
	if err := s.openJSON(runPlace(*r, "answer"), answer, &given); err != nil {
		return err
	}
	r.Result, r.Code, r.Receipt = given.Result, given.Code, given.Receipt
	return nil
}
