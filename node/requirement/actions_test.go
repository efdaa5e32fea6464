package requirement

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"agentlink/approvals"
	"agentlink/node/api/socket"
	"agentlink/node/audit"
	"agentlink/node/nodetest"
	"agentlink/policy"
)

// TestHeldAction: an action is refused until the agent asks; then the owner is
// shown exactly what would run.
func TestHeldAction(t *testing.T) {
	p := open(t, policy.Assisted, policy.Assisted)
	uid := p.agreedDinner()
	run := body{"action": "reservation.book", "parameters": booking(uid)}
	refusal := p.scout.Post("/v1/agent/actions", run)
	p.refused(refusal, "action.reservation.book")
	if refusal.Value("error.details.approvalRequired") == nil {
		t.Errorf("the refusal is %s", refusal.Body)
	}
	if list := nodetest.Owner[[]socket.Approval](p.ada, socket.ApprovalList, socket.ListApprovals{}); len(list) != 0 {
		t.Errorf("an approval was made without being asked for: %+v", list)
	}

	asked := p.scout.Post("/v1/agent/approvals", run).Want(http.StatusCreated)
	shown := p.ada.Pending()
	if shown.ID != asked.Text("approvalId") || shown.Kind != approvals.Action || shown.Action != "reservation.book" ||
		shown.Agent != "scout" || shown.TaskUID != uid || len(shown.Hash) != 64 || shown.Hash != asked.Text("hash") ||
		shown.ExpiresAt.Sub(p.clock.Now()) != 24*time.Hour {
		t.Errorf("the approval is %+v", shown)
	}
	if !strings.Contains(shown.Summary, "Da Piero") || !contains(shown.Parameters, "Da Piero", "2031-05-09", "19:30", `"partySize":2`, uid) {
		t.Errorf("it shows %q and %s", shown.Summary, shown.Parameters)
	}
	if shown.Status != approvals.Pending {
		t.Errorf("it is %s", shown.Status)
	}
}

// TestRunConfirmsTheTask: the copy is confirmed in the answer already, the
// confirmation goes to the other side, and the result stands sealed.
func TestRunConfirmsTheTask(t *testing.T) {
	p := open(t, policy.Assisted, policy.Assisted)
	uid := p.agreedDinner()
	p.scout.Post("/v1/agent/approvals", body{"action": "reservation.book", "parameters": booking(uid)}).Want(http.StatusCreated)
	shown := p.ada.Pending()
	nodetest.Owner[socket.Effect](p.ada, socket.ApprovalDecide, socket.DecideApproval{ID: shown.ID, Hash: shown.Hash, Approve: true, Note: "canary-note"})
	p.ben.Stop()
	ran := p.scout.Post("/v1/agent/actions", body{"approvalId": shown.ID}).Want(http.StatusCreated)
	code := ran.Text("result.code")
	if ran.Text("taskConfirmation") != "sent" || ran.Text("outcome") != "done" || !strings.HasPrefix(code, "AL-") {
		t.Errorf("the run answers %s", ran.Body)
	}
	p.reaches(p.scout, uid, "confirmed")
	if rows := p.audited(p.ada, audit.ActionExecuted); len(rows) != 1 || rows[0].TaskUID != uid {
		t.Errorf("the log has %+v", rows)
	}
	p.ben.Restart()
	nodetest.Eventually(t, "the other side hears of it", func() bool {
		p.clock.Advance(time.Second)
		return p.get(p.juno, "/v1/agent/tasks/"+uid).Text("confirmation.content.code") == code
	})
	if approval := p.approval(p.ada, shown.ID); approval.Status != approvals.Consumed || approval.Note != "canary-note" {
		t.Errorf("the approval is %+v", approval)
	}
	p.ada.Stop()
	p.bare(p.ada, code, "canary-note", "Da Piero")
}

// TestRunWithoutATask has nothing to confirm, and says nothing of it.
func TestRunWithoutATask(t *testing.T) {
	p := connected(t, policy.Assisted, policy.Assisted)
	p.scout.Post("/v1/agent/approvals", body{"action": "calendar.hold", "parameters": body{
		"title": "Dinner", "date": "2031-05-09", "time": "19:30", "durationMinutes": 90}}).Want(http.StatusCreated)
	shown := p.ada.Pending()
	p.ada.Approve(shown)
	ran := p.scout.Post("/v1/agent/actions", body{"approvalId": shown.ID}).Want(http.StatusCreated)
	if ran.Text("outcome") != "done" || contains(ran.Body, "taskConfirmation") {
		t.Errorf("the run answers %s", ran.Body)
	}
}
