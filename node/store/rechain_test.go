package store_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"agentlink/node"
	"agentlink/node/audit"
)

// hashOf is the hash of a row as the documentation of an export gives it: anybody
// can compute it, and so can who forges rows.
func hashOf(row audit.Row) string {
	return sha256Hex(node.MustCanonical(map[string]any{
		"position": row.Position, "at": row.At.UnixMicro(), "owner": row.OwnerID, "type": row.Type, "actor": row.ActorKind, "via": row.Via,
		"agent": row.AgentID, "connection": row.ConnectionID, "task": row.TaskUID, "subject": row.Subject, "data": row.DataHash, "previous": row.Previous,
	}))
}

func sha256Hex(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// rowAt is a row of the log without its data; before the first stands GenesisHash.
func (x *attack) rowAt(position int) (audit.Row, error) {
	if position == 0 {
		return audit.Row{Hash: audit.GenesisHash}, nil
	}
	rows, err := x.s.AuditRows(x.tx, audit.Filter{After: int64(position - 1), Before: int64(position + 1), Hashes: true})
	if err == nil && len(rows) != 1 {
		err = errors.New("there is no such row")
	}
	if err != nil {
		return audit.Row{}, err
	}
	return rows[0], nil
}

// insert makes up a row that follows the one before it. Where moved is set the
// head stands on it.
func (x *attack) insert(position int, moved bool) error {
	before, err := x.rowAt(position - 1)
	if err != nil {
		return err
	}
	row := audit.Row{
		Position: int64(position), At: x.tx.Now(), OwnerID: "o1", Type: audit.ApprovalApproved, ActorKind: node.ActorOwner, AgentID: "a1",
		DataHash: sha256Hex([]byte("{}")), Previous: before.Hash,
	}
	row.Hash = hashOf(row)
	err = x.run(`INSERT INTO audit_log (position, at, owner_id, type, actor_kind, via, agent_id, connection_id, task_uid, subject, data, data_hash, previous, hash)
		VALUES ($1, $2, 'o1', $3, 'owner', '', 'a1', '', '', '', NULL, $4, $5, $6)`,
		row.Position, row.At.UnixMicro(), string(row.Type), row.DataHash, row.Previous, row.Hash)
	return errors.Join(err, x.moveHead(row, moved))
}

// chain makes the rows of a range follow one another again.
func (x *attack) chain(from, to int, moved bool) error {
	last, err := x.rowAt(from - 1)
	for position := from; err == nil && position <= to; position++ {
		var row audit.Row
		if row, err = x.rowAt(position); err != nil {
			return err
		}
		row.Previous = last.Hash
		row.Hash = hashOf(row)
		err = x.run(`UPDATE audit_log SET previous = $1, hash = $2 WHERE position = $3`, row.Previous, row.Hash, row.Position)
		last = row
	}
	return errors.Join(err, x.moveHead(last, moved))
}

func (x *attack) moveHead(row audit.Row, moved bool) error {
	if !moved {
		return nil
	}
	return x.run(`UPDATE audit_head SET position = $1, hash = $2`, row.Position, row.Hash)
}
