package socket

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"agentlink/node"
	"agentlink/node/audit"
)

// The commands about backups. NodeBackup answers with the content of an archive,
// as package backup describes it: whoever asks encrypts it. Where the body is cut
// off, so was the backup.
const (
	NodeBackup   = "node.backup"    // {} → a stream
	NodeBackedUp = "node.backed_up" // BackedUp → {}
)

// BackedUp says that a backup is safe on a disk.
type BackedUp struct {
	MadeAt    time.Time `json:"madeAt"`
	AuditRows int64     `json:"auditRows"`
	SHA256    string    `json:"sha256"` // of its content
}

// Restored is the restore that a node lives since.
type Restored struct {
	Epoch      int64     `json:"epoch"`
	At         time.Time `json:"at"`
	BackupFrom time.Time `json:"backupFrom"`
}

// streamed is an answer that is written as it comes about.
type streamed func(ctx context.Context, w io.Writer) error

func (s *Server) backupCommands() {
	s.commands[NodeBackup] = command{password: true, run: func(context.Context, json.RawMessage) (any, error) {
		return streamed(func(ctx context.Context, w io.Writer) error {
			_, err := s.Backup(ctx, w)
			return err
		}), nil
	}}
	decides(s, NodeBackedUp, func(tx node.Tx, actor node.Actor, r BackedUp) (none, error) {
		if len(r.SHA256) != 64 {
			return none{}, node.Errorf(node.BadRequest, "The backup's SHA-256 is missing.")
		}
		return none{}, s.Audit.Append(tx, audit.BackedUp(actor, r.MadeAt, r.AuditRows, r.SHA256))
	})
}

// stream has no time-outs: a database of gigabytes takes its time. What fails
// after the first byte cuts the answer off, so that it cannot be taken for whole.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, write streamed) {
	control := http.NewResponseController(w)
	if err := errors.Join(control.SetReadDeadline(time.Time{}), control.SetWriteDeadline(time.Time{})); err != nil {
		s.refuse(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	if err := write(r.Context(), w); err != nil {
		s.Log.Error("a backup was cut off", "error", err)
		panic(http.ErrAbortHandler)
	}
}

// lastBackup is when the last backup was made, or nil.
func (s *Server) lastBackup(tx node.Tx) (*time.Time, error) {
	rows, err := s.Events.AuditRows(tx, audit.Filter{Types: []audit.Type{audit.NodeBackedUp}, Newest: true, Limit: 1})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0].At, nil
}
