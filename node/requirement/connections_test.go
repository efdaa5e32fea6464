package requirement

import (
	"net/http"
	"testing"

	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/node/api/socket"
	"agentlink/node/nodetest"
	"agentlink/policy"
)

// TestHeldRequestToConnect: it waits for the owner, who is shown whom it goes to.
func TestHeldRequestToConnect(t *testing.T) {
	p := unconnected(t, policy.Assisted, policy.Assisted)
	answer := p.scout.Post("/v1/agent/connections", body{"address": p.juno.Address, "note": "About Friday"}).Want(http.StatusAccepted)
	if answer.Text("status") != "pending_owner" || p.connection(p.ada, answer.Text("connectionId")) != coordination.PendingOwner {
		t.Errorf("answered %s", answer.Body)
	}
	held := p.ada.Pending()
	if held.ID != answer.Text("approvalId") || held.Kind != approvals.Connection || held.Action != "connection.request" {
		t.Errorf("the approval is %+v", held)
	}
	if !contains(held.Parameters, p.juno.Address, p.ben.Made.Fingerprint, "About Friday") {
		t.Errorf("it shows %s", held.Parameters)
	}
	if incoming := nodetest.Owner[[]socket.Connection](p.ben, socket.ConnectionList, socket.ListOf{}); len(incoming) != 0 {
		t.Errorf("before the owner's word Ben's side has %+v", incoming)
	}
	effect := p.ada.Approve(held)
	if effect.Outcome != "requested" || effect.Approval.Status != approvals.Consumed {
		t.Errorf("approving gave %+v", effect)
	}
	if status := p.connection(p.ada, answer.Text("connectionId")); status != coordination.PendingOutgoing {
		t.Errorf("the connection is %s", status)
	}
	p.ben.ConnectionWith(p.scout.Address, coordination.PendingIncoming)
}

// TestRejectedRequestToConnect: the owner's no revokes what never began.
func TestRejectedRequestToConnect(t *testing.T) {
	p := unconnected(t, policy.Assisted, policy.Assisted)
	answer := p.scout.Post("/v1/agent/connections", body{"address": p.juno.Address}).Want(http.StatusAccepted)
	held := p.ada.Pending()
	p.ada.Reject(held)
	if status := p.connection(p.ada, answer.Text("connectionId")); status != coordination.ConnRevoked {
		t.Errorf("the connection is %s", status)
	}
	if again := p.approval(p.ada, held.ID); again.Status != approvals.Rejected {
		t.Errorf("the approval is %s", again.Status)
	}
}
