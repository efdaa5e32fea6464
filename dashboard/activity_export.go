package dashboard

import (
	"encoding/base64"
	"net/http"

	"agentlink/dashboard/view"
	"agentlink/node"
	"agentlink/node/audit"
)

// verifyLog walks the whole log and shows what came of it, however long it takes.
func (v *visit) verifyLog() error {
	page := view.VerifyPage{Deep: v.field("deep") == "yes"}
	err := v.read(func(tx node.Tx) (err error) {
		page.Frame, err = v.frame(tx, "Is the log whole?", "/activity")
		return err
	})
	if err != nil {
		return err
	}
	return v.streams(func(w http.ResponseWriter, r *http.Request) { v.d.verified(w, r, page) })
}

func (d *Dashboard) verified(w http.ResponseWriter, r *http.Request, page view.VerifyPage) {
	err := d.DB.View(r.Context(), func(tx node.Tx) error {
		report, err := d.Audit.Verify(tx, page.Deep)
		page.Rows, page.Head, page.Problem = report.Rows, report.Head, report.Problem
		return err
	})
	if err != nil {
		d.Log.Error("the log cannot be verified", "error", err)
		http.Error(w, "The log cannot be read now. The node's log says why.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if err := view.Verified(page).Render(r.Context(), w); err != nil {
		d.Log.Debug("a page was not read to its end", "error", err)
	}
}

// exportLog notes that a copy of the log is taken, and streams it.
func (v *visit) exportLog() error {
	err := v.write(func(tx node.Tx) error {
		return v.d.Audit.Append(tx, audit.Event{Type: audit.Exported, Actor: v.actor("")})
	})
	if err != nil {
		return err
	}
	return v.streams(v.d.export)
}

// export streams the log as it is now. What goes wrong on the way cuts the file
// short, which its head tells.
func (d *Dashboard) export(w http.ResponseWriter, r *http.Request) {
	head, err := d.exportHead(r)
	if err != nil {
		d.Log.Error("the log cannot be exported", "error", err)
		http.Error(w, "The log cannot be exported now. The node's log says why.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/jsonl; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="agentlink-log-`+head.ExportedAt.Format("20060102-150405")+`.jsonl"`)
	if err := d.Audit.Export(r.Context(), d.DB, head, w); err != nil {
		d.Log.Error("an export of the log was cut short", "error", err)
	}
}

func (d *Dashboard) exportHead(r *http.Request) (audit.ExportHead, error) {
	fingerprint := d.Signer.Fingerprint()
	head := audit.ExportHead{
		Format: audit.ExportFormat, Host: d.Info.Host, Fingerprint: fingerprint, ExportedAt: d.Clock.Now(),
		PublicKey: base64.RawURLEncoding.EncodeToString(d.Signer.KeyOf(fingerprint)),
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
