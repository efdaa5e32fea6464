package coordination

import (
	"bytes"

	"agentlink/approvals"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/policy"
)

// heldMessages resolves approvals of held chat messages and task writes.
type heldMessages struct{ *Service }

var _ approvals.Locker = heldMessages{}

// Lock implements approvals.Locker. An approval that was tampered with may name
// what is not there; its MAC is looked at later.
func (h heldMessages) Lock(tx node.Tx, approval approvals.Approval) error {
	return ignoreNotFound(h.Store.LockMessage(tx, approval.AgentID, approval.Subject))
}

// Approved sends what was held, if it still is what was approved and still may
// leave; else the message becomes failed and the approval is used up all the same.
func (h heldMessages) Approved(tx node.Tx, actor node.Actor, approval approvals.Approval, _ approvals.Decision) (approvals.Effect, error) {
	m, err := h.Store.Message(tx, approval.AgentID, approval.Subject)
	if err != nil {
		return approvals.Effect{}, err
	}
	var task *Task
	if m.TaskUID != "" {
		locked, err := h.Store.LockTask(tx, m.AgentID, m.TaskUID)
		if err != nil {
			return approvals.Effect{}, err
		}
		task = &locked
	}
	code, err := h.mayStillLeave(tx, approval, m, task)
	if err != nil {
		return approvals.Effect{}, err
	}
	if code != "" {
		return approvals.Effect{Outcome: "failed", Code: code}, h.settleHeld(tx, actor, m, MsgFailed, code)
	}
	return approvals.Effect{Outcome: StatusQueued}, h.release(tx, actor, &m, task, approval.ID)
}

// mayStillLeave checks a held message again. The answer is "" or why not. Its time is
// not over: an approval ends with what it is for.
func (h heldMessages) mayStillLeave(tx node.Tx, approval approvals.Approval, m Message, task *Task) (string, error) {
	connection, err := h.Store.Connection(tx, m.ConnectionID)
	if err != nil {
		return "", err
	}
	parameters, err := heldParameters(connection.Contact, m, approval.Held)
	switch {
	case err != nil:
		return "", err
	case m.Status != MsgPendingApproval || m.ApprovalID != approval.ID || !bytes.Equal(parameters, approval.Parameters):
		return string(node.ReasonHashMismatch), nil
	}
	decision, err := h.Policy.Decide(tx, policy.Request{
		AgentID: m.AgentID, Contact: connection.Contact, Connection: effective(connection),
		Capabilities: m.Needs, DenyOnly: true, Subject: m.ID, TaskUID: m.TaskUID,
	})
	if err != nil {
		return "", err
	}
	if decision.Outcome != policy.Allowed {
		return string(node.PolicyDenied), nil
	}
	if task == nil || m.Type == wire.TaskCreate {
		return "", nil
	}
	return stillFits(tx, m, task), nil
}

// stillFits tries a held message on the copy as it is now: never renumbered,
// since the owner approved exactly this (D8).
func stillFits(tx node.Tx, m Message, task *Task) string {
	if err := task.takesOurWrites(tx.Now()); err != nil {
		return string(node.ReasonOf(err))
	}
	if m.Type == wire.TaskCancel && task.RunID != "" {
		return wire.CodeBadState
	}
	trial := task.Copy.clone()
	return trial.apply(task.folding(), task.Role, m)
}

// Rejected makes the held message rejected.
func (h heldMessages) Rejected(tx node.Tx, actor node.Actor, approval approvals.Approval) error {
	return h.end(tx, actor, approval, string(node.ReasonApprovalRejected))
}

// Expired makes the held message rejected, with code approval_expired.
func (h heldMessages) Expired(tx node.Tx, approval approvals.Approval) error {
	return h.end(tx, nodeActor(approval.OwnerID, approval.AgentID), approval, string(node.ReasonApprovalExpired))
}

func (h heldMessages) end(tx node.Tx, actor node.Actor, approval approvals.Approval, code string) error {
	m, err := h.Store.Message(tx, approval.AgentID, approval.Subject)
	if err != nil {
		return err
	}
	if m.Status != MsgPendingApproval {
		return nil
	}
	return h.settleHeld(tx, actor, m, MsgRejected, code)
}

// settleHeld ends a message that never leaves. The task of a held create, which
// nobody has seen, ends with it.
func (s *Service) settleHeld(tx node.Tx, actor node.Actor, m Message, status MessageStatus, code string) error {
	m.Status, m.Code, m.SettledAt = status, code, tx.Now()
	if err := s.Store.SaveMessage(tx, m, MsgPendingApproval); err != nil {
		return err
	}
	if m.Type == wire.TaskCreate {
		task, err := s.Store.LockTask(tx, m.AgentID, m.TaskUID)
		if err != nil {
			return err
		}
		from := task.Status
		task.Status, task.Copy.Status, task.UpdatedAt = CancelledTask, CancelledTask, tx.Now()
		if err := s.Store.SaveTask(tx, task, from); err != nil {
			return err
		}
	}
	return s.auditEnd(tx, actor, m)
}

// auditEnd records that a message of ours was rejected or failed.
func (s *Service) auditEnd(tx node.Tx, actor node.Actor, m Message) error {
	event := audit.MessageRejected
	if m.Status == MsgFailed {
		event = audit.MessageFailed
	}
	return s.audit(tx, audit.Event{
		Type: event, Actor: actor, AgentID: m.AgentID, ConnectionID: m.ConnectionID, TaskUID: m.TaskUID,
		Subject: m.ID, Data: map[string]any{"type": string(m.Type), "code": m.Code},
	})
}
