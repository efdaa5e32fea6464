package nodetest

import (
	"testing"
	"time"

	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/api/socket"
	"agentlink/node/audit"
	"agentlink/policy"
)

// Owner calls a command of the owner's with the password, and fails the test
// where it is refused.
func Owner[Resp any](n *Node, command string, request any) Resp {
	n.tb.Helper()
	var response Resp
	if err := n.Try(command, request, &response); err != nil {
		n.tb.Fatalf("%s: %v", command, err)
	}
	return response
}

// Try calls a command of the owner's with the password.
func (n *Node) Try(command string, request, response any) error {
	return n.client.Call(n.tb.Context(), command, Password, request, response)
}

// Pending waits for the newest approval that waits, and shows it in full.
func (n *Node) Pending() socket.Approval {
	n.tb.Helper()
	var newest socket.Approval
	n.Eventually("an approval waits", func() bool {
		list := Owner[[]socket.Approval](n, socket.ApprovalList, socket.ListApprovals{Status: approvals.Pending, Limit: 100})
		for _, approval := range list {
			if approval.CreatedAt.After(newest.CreatedAt) {
				newest = approval
			}
		}
		return len(list) > 0
	})
	return Owner[socket.Approval](n, socket.ApprovalShow, socket.ByID{ID: newest.ID})
}

// Approve approves an approval as it was shown.
func (n *Node) Approve(approval socket.Approval) socket.Effect {
	n.tb.Helper()
	return Owner[socket.Effect](n, socket.ApprovalDecide, socket.DecideApproval{ID: approval.ID, Hash: approval.Hash, Approve: true})
}

// Reject says no.
func (n *Node) Reject(approval socket.Approval) socket.Effect {
	n.tb.Helper()
	return Owner[socket.Effect](n, socket.ApprovalDecide, socket.DecideApproval{ID: approval.ID, Hash: approval.Hash})
}

// Grant sets a grant of an agent's; contact "" is agent-wide.
func (n *Node) Grant(agent *Agent, contact, capability string, mode policy.GrantMode) socket.Grant {
	n.tb.Helper()
	change := Owner[socket.GrantChange](n, socket.GrantSet, socket.SetGrant{
		Agent: agent.ID, Contact: contact, Capability: capability, Mode: mode,
	})
	return change.Grant
}

// ConnectionWith waits for the newest connection with a contact to have a status.
func (n *Node) ConnectionWith(contact string, status coordination.ConnectionStatus) socket.Connection {
	n.tb.Helper()
	var found socket.Connection
	n.Eventually("the connection with "+contact+" is "+string(status), func() bool {
		for _, k := range Owner[[]socket.Connection](n, socket.ConnectionList, socket.ListOf{}) {
			if k.Contact == contact && k.Status == status {
				found = k
				return true
			}
		}
		return false
	})
	return found
}

// VerifyAudit fails the test where the audit log is not whole.
func (n *Node) VerifyAudit() {
	n.tb.Helper()
	if report := Owner[audit.Report](n, socket.AuditVerify, socket.VerifyLog{Deep: true}); !report.OK() {
		n.tb.Errorf("the audit log is not whole: %s", report.Problem)
	}
}

// Eventually waits up to 30 s for something to become true.
func (n *Node) Eventually(what string, true func() bool) {
	n.tb.Helper()
	Eventually(n.tb, what, true)
}

// Eventually waits up to 30 s for something to become true.
func Eventually(tb testing.TB, what string, true func() bool) {
	tb.Helper()
	clock := node.SystemClock{}
	for end := clock.Now().Add(30 * time.Second); clock.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if true() {
			return
		}
	}
	tb.Fatalf("it did not happen: %s", what)
}

// Connect connects two agents: the first one's owner asks, the other's accepts.
// It returns when both sides are active, with each side's connection.
func Connect(a, b *Agent) (ofA, ofB socket.Connection) {
	a.node.tb.Helper()
	Owner[socket.Sent](a.node, socket.ConnectionRequest, socket.RequestConnection{Agent: a.ID, Address: b.Address})
	incoming := b.node.ConnectionWith(a.Address, coordination.PendingIncoming)
	Owner[socket.Connection](b.node, socket.ConnectionAccept, socket.ByID{ID: incoming.ID})
	return a.node.ConnectionWith(b.Address, coordination.ConnActive), b.node.ConnectionWith(a.Address, coordination.ConnActive)
}
