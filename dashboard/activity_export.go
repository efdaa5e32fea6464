package dashboard

import (
	"net/http"
	"time"

	"agentlink/dashboard/view"
	"agentlink/node"
	"agentlink/node/audit"
)

// verifyLog walks the whole log and shows what came of it.
func (v *visit) verifyLog() error {
	page := view.VerifyPage{Deep: v.field("deep") == "yes"}
	err := v.read(func(tx node.Tx) (err error) {
		if page.Frame, err = v.frame(tx, "Is the log whole?", "/activity"); err != nil {
			return err
		}
		report, err := v.d.Audit.Verify(tx, page.Deep)
		page.Rows, page.Head, page.Problem = report.Rows, report.Head, report.Problem
		return err
	})
	if err != nil {
		return err
	}
	return v.show(view.Verified(page))
}

// exportLog notes that a copy of the log is taken, and leaves the copy to export.
func (v *visit) exportLog() error {
	err := v.write(func(tx node.Tx) error {
		return v.d.Audit.Append(tx, audit.Event{Type: audit.Exported, Actor: v.actor("")})
	})
	if err != nil {
		return err
	}
	v.streams(exportStream)
	return nil
}

// exportStream is the log as a file, which fiber would hold in memory.
const exportStream = "export"

// export streams the log as it is now. What goes wrong on the way cuts the file
// short, which its head tells.
func (d *Dashboard) export(w http.ResponseWriter, r *http.Request) {
	head, err := d.exportHead(r)
	if err != nil {
		d.Log.Error("the log cannot be exported", "error", err)
		http.Error(w, "The log cannot be exported now. The node's log says why.", http.StatusInternalServerError)
		return
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	w.Header().Set("Content-Type", "application/jsonl; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="agentlink-log-`+head.ExportedAt.Format("20060102-150405")+`.jsonl"`)
	if err := d.Audit.Export(r.Context(), d.DB, head, w); err != nil {
		d.Log.Error("an export of the log was cut short", "error", err)
	}
}

func (d *Dashboard) exportHead(r *http.Request) (audit.ExportHead, error) {
	head := audit.ExportHead{
		Format: audit.ExportFormat, Host: d.Info.Host, Fingerprint: d.Info.Fingerprint, PublicKey: d.Info.PublicKey, ExportedAt: d.Clock.Now(),
	}
	err := d.DB.View(r.Context(), func(tx node.Tx) error {
		last, err := d.Events.AuditHead(tx)
		head.Rows, head.Hash = last.Position, last.Hash
		return err
	})
	if err != nil {
		return head, err
	}
	head.Signature, err = d.SignHead(audit.HeadClaims{Iss: head.Fingerprint, Rows: head.Rows, Hash: head.Hash, Iat: head.ExportedAt.Unix()})
	return head, err
}
