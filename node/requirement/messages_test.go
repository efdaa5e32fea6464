package requirement

import (
	"net/http"
	"testing"
	"time"

	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/node/api/socket"
	"agentlink/node/nodetest"
	"agentlink/policy"
)

// TestHeldMessage: a chat message of a manual agent waits, shows all of itself,
// and leaves with the owner's yes.
func TestHeldMessage(t *testing.T) {
	p := connected(t, policy.Manual, policy.Assisted)
	answer := p.scout.Post("/v1/agent/messages", body{"connectionId": p.ofScout.ID, "text": "Shall we eat?"}).Want(http.StatusAccepted)
	if status, _ := p.messageStatus(p.scout, "Shall we eat?"); answer.Text("status") != "pending_approval" || status != "pending_approval" {
		t.Errorf("answered %s, and the message is %s", answer.Body, status)
	}
	held := p.ada.Pending()
	if held.ID != answer.Text("approvalId") || held.Kind != approvals.Message || held.Action != "message.send" ||
		held.Agent != "scout" || held.Held["message.send"] != "mode_manual" {
		t.Errorf("the approval is %+v", held)
	}
	if !contains(held.Parameters, p.juno.Address, `"type":"message"`, "Shall we eat?", "message.send") {
		t.Errorf("it shows %s", held.Parameters)
	}
	if effect := p.ada.Approve(held); effect.Outcome != "queued" || effect.Approval.Status != approvals.Consumed {
		t.Errorf("approving gave %+v", effect)
	}
	nodetest.Eventually(t, "it arrives", func() bool { status, _ := p.messageStatus(p.juno, "Shall we eat?"); return status == "received" })
}

// TestRejectedMessage: the owner's no is the end of a held message.
func TestRejectedMessage(t *testing.T) {
	p := connected(t, policy.Manual, policy.Assisted)
	p.scout.Post("/v1/agent/messages", body{"connectionId": p.ofScout.ID, "text": "Shall we eat?"}).Want(http.StatusAccepted)
	held := p.ada.Pending()
	p.ada.Reject(held)
	if status, code := p.messageStatus(p.scout, "Shall we eat?"); status != "rejected" || code != "approval_rejected" {
		t.Errorf("the message is %s, %s", status, code)
	}
	if again := p.approval(p.ada, held.ID); again.Status != approvals.Rejected {
		t.Errorf("the approval is %s", again.Status)
	}
	if chat := p.chat(p.juno); len(chat) != 0 {
		t.Errorf("Juno reads %+v", chat)
	}
}

// TestExpiredApprovals: nobody decided. A held message is rejected, a waiting
// request to connect revoked, and neither is shown as the owner's no.
func TestExpiredApprovals(t *testing.T) {
	p := unconnected(t, policy.Manual, policy.Assisted)
	asked := p.scout.Post("/v1/agent/connections", body{"address": p.juno.Address}).Want(http.StatusAccepted)
	second := p.ada.CreateAgent("tally", policy.Manual)
	p.ofScout, _ = nodetest.Connect(second, p.juno)
	held := second.Post("/v1/agent/messages", body{"connectionId": p.ofScout.ID, "text": "Shall we eat?"}).Want(http.StatusAccepted)

	p.clock.Advance(24*time.Hour - time.Second)
	if status, _ := p.messageStatus(second, "Shall we eat?"); status != "pending_approval" {
		t.Errorf("before its time the message is %s", status)
	}
	p.clock.Advance(time.Second)
	nodetest.Eventually(t, "both end", func() bool {
		status, code := p.messageStatus(second, "Shall we eat?")
		return status == "rejected" && code == "approval_expired" && p.connection(p.ada, asked.Text("connectionId")) == coordination.ConnRevoked
	})
	for _, id := range []string{asked.Text("approvalId"), held.Text("approvalId")} {
		if approval := p.approval(p.ada, id); approval.Status != approvals.Expired {
			t.Errorf("the %s approval is %s", approval.Kind, approval.Status)
		}
	}
}

// TestTheOwnersOwnMessages: neither mode nor grants apply to what the owner
// sends; an active connection is needed all the same.
func TestTheOwnersOwnMessages(t *testing.T) {
	p := connected(t, policy.Manual, policy.Assisted)
	p.ada.Grant(p.scout, "", "message.send", policy.Deny)
	send := socket.SendMessage{Connection: p.ofScout.ID, Text: "It's me."}
	if sent := nodetest.Owner[socket.Sent](p.ada, socket.MessageSend, send); sent.Status != "queued" {
		t.Errorf("the owner's message is %s", sent.Status)
	}
	nodetest.Eventually(t, "it arrives", func() bool { status, _ := p.messageStatus(p.juno, "It's me."); return status == "received" })

	nodetest.Owner[socket.Connection](p.ada, socket.ConnectionRevoke, socket.ByID{ID: p.ofScout.ID})
	var sent socket.Sent
	if err := p.ada.Try(socket.MessageSend, send, &sent); err == nil {
		t.Errorf("after the revocation the owner's message is %s", sent.Status)
	}
}

// TestDisabledAgent: what it had queued is not sent; that its connection is
// revoked is said all the same.
func TestDisabledAgent(t *testing.T) {
	p := connected(t, policy.Assisted, policy.Assisted)
	p.ben.Stop()
	p.scout.Post("/v1/agent/messages", body{"connectionId": p.ofScout.ID, "text": "Shall we eat?"}).Want(http.StatusCreated)
	nodetest.Owner[socket.Agent](p.ada, socket.AgentStatus, socket.ChangeStatus{Agent: "scout", Status: policy.Disabled})
	nodetest.Owner[socket.Connection](p.ada, socket.ConnectionRevoke, socket.ByID{ID: p.ofScout.ID})
	p.ben.Restart()
	nodetest.Eventually(t, "Ben's side learns of the revocation", func() bool {
		p.clock.Advance(time.Second) // what waits for its next attempt comes to it
		return p.connection(p.ben, p.ofJuno.ID) == coordination.ConnRevoked
	})
	if chat := p.chat(p.juno); len(chat) != 0 {
		t.Errorf("Juno reads %+v", chat)
	}
	messages := nodetest.Owner[[]socket.Message](p.ada, socket.MessageList, socket.ListMessages{})
	if len(messages) != 1 || messages[0].Status != coordination.MsgFailed {
		t.Errorf("the message is %+v", messages)
	}
}
