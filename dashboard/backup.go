package dashboard

import (
	"encoding/json"
	"time"

	"agentlink/dashboard/view"
	"agentlink/node"
	"agentlink/node/audit"
)

// restoredFor is how long the first page speaks of a restore.
const restoredFor = 30 * 24 * time.Hour

// restored is the last restore, or the zero value where it is long ago.
func (v *visit) restored(tx node.Tx) (view.Restored, error) {
	row, err := v.latest(tx, audit.NodeRestored)
	if err != nil || row.At.IsZero() || v.now.Sub(row.At) > restoredFor {
		return view.Restored{}, err
	}
	var data struct {
		BackupFrom time.Time `json:"backupFrom"`
	}
	if err := json.Unmarshal(row.Data, &data); err != nil {
		return view.Restored{}, node.Wrap(err, "read of what the node was restored from")
	}
	return view.Restored{At: row.At, BackupFrom: data.BackupFrom}, nil
}

// latest is the last row of a type; the zero value where there is none.
func (v *visit) latest(tx node.Tx, kind audit.Type) (audit.Row, error) {
	rows, err := v.d.Events.AuditRows(tx, audit.Filter{Types: []audit.Type{kind}, Newest: true, Limit: 1})
	if err != nil || len(rows) == 0 {
		return audit.Row{}, err
	}
	return rows[0], nil
}
