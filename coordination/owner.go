package coordination

import (
	"agentlink/approvals"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/policy"
)

// What an owner decides about connections.

// heldConnections resolves approvals of our agents' requests to connect.
type heldConnections struct{ *Service }

var _ approvals.Locker = heldConnections{}

// Lock implements approvals.Locker.
func (h heldConnections) Lock(tx node.Tx, approval approvals.Approval) error {
	_, err := h.lockPair(tx, approval.Subject)
	return ignoreNotFound(err)
}

// lockPair locks a connection, and before it the contact's own request, which
// accepting either of them may settle.
func (s *Service) lockPair(tx node.Tx, id string) (Connection, error) {
	c, err := s.Store.Connection(tx, id)
	if err != nil {
		return c, err
	}
	known, err := s.Store.ConnectionsWith(tx, c.AgentID, c.Contact)
	if err != nil {
		return c, err
	}
	for _, other := range known {
		if other.Status != PendingIncoming || other.ID == id {
			continue
		}
		if _, err := s.Store.LockConnection(tx, other.ID); err != nil {
			return c, err
		}
	}
	return s.Store.LockConnection(tx, id)
}

// Approved sends the request to the address and the key that were approved.
func (h heldConnections) Approved(tx node.Tx, actor node.Actor, approval approvals.Approval, _ approvals.Decision) (approvals.Effect, error) {
	c, err := h.Store.LockConnection(tx, approval.Subject)
	if err != nil {
		return approvals.Effect{}, err
	}
	code, err := h.mayConnect(tx, c)
	if err != nil {
		return approvals.Effect{}, err
	}
	if code != "" {
		return approvals.Effect{Outcome: "failed", Code: code}, h.withdrawRequest(tx, actor, approval)
	}
	c.Status, c.UpdatedAt = PendingOutgoing, tx.Now()
	if err := h.Store.SaveConnection(tx, c, PendingOwner); err != nil {
		return approvals.Effect{}, err
	}
	return approvals.Effect{Outcome: "requested"}, h.request(tx, actor, c)
}

func (h heldConnections) mayConnect(tx node.Tx, c Connection) (string, error) {
	if c.Status != PendingOwner {
		return string(node.ReasonBadState), nil
	}
	known, err := h.Store.ConnectionsWith(tx, c.AgentID, c.Contact)
	if err != nil {
		return "", err
	}
	for _, other := range known {
		if other.Status == ConnActive {
			return string(node.ReasonBadState), nil
		}
	}
	decision, err := h.Policy.Decide(tx, policy.Request{
		AgentID: c.AgentID, Contact: c.Contact, Capabilities: []string{policy.ConnectionRequest}, DenyOnly: true, Subject: c.ID,
	})
	if err != nil || decision.Outcome == policy.Allowed {
		return "", err
	}
	return string(node.PolicyDenied), nil
}

// Rejected revokes the connection, which never began.
func (h heldConnections) Rejected(tx node.Tx, actor node.Actor, approval approvals.Approval) error {
	return h.withdrawRequest(tx, actor, approval)
}

// Expired revokes it too.
func (h heldConnections) Expired(tx node.Tx, approval approvals.Approval) error {
	return h.withdrawRequest(tx, nodeActor(approval.OwnerID, approval.AgentID), approval)
}

func (h heldConnections) withdrawRequest(tx node.Tx, actor node.Actor, approval approvals.Approval) error {
	c, err := h.Store.LockConnection(tx, approval.Subject)
	if err != nil || c.Status != PendingOwner {
		return err
	}
	return h.end(tx, actor, c, ConnRevoked, audit.ConnectionRevoked)
}

func (s *Service) end(tx node.Tx, actor node.Actor, c Connection, status ConnectionStatus, event audit.Type) error {
	from := c.Status
	c.Status, c.UpdatedAt, c.AcceptUnacked = status, tx.Now(), false
	if err := s.Store.SaveConnection(tx, c, from); err != nil {
		return err
	}
	if err := s.Agents.BumpRules(tx, c.AgentID); err != nil {
		return err
	}
	return s.auditConnection(tx, event, actor, c)
}

// AcceptConnection is the owner's yes to an incoming request. Codes: not_found,
// conflict (bad_state).
func (s *Service) AcceptConnection(tx node.Tx, actor node.Actor, id string) (Connection, error) {
	c, err := s.incoming(tx, id)
	if err != nil {
		return c, err
	}
	if err := s.accept(tx, actor, c); err != nil {
		return c, err
	}
	return s.Store.Connection(tx, id)
}

func (s *Service) incoming(tx node.Tx, id string) (Connection, error) {
	c, err := s.Store.LockConnection(tx, id)
	if err == nil && c.Status != PendingIncoming {
		err = node.ConflictFor(node.ReasonBadState, "There is no request to decide: the connection's status is %s.", c.Status)
	}
	return c, err
}

// accept makes an incoming connection active and tells the peer. Our other
// messages wait until the peer has acknowledged it.
func (s *Service) accept(tx node.Tx, actor node.Actor, c Connection) error {
	from := c.Status
	c.Status, c.AcceptUnacked, c.Sent, c.UpdatedAt = ConnActive, true, true, tx.Now()
	if err := s.Store.SaveConnection(tx, c, from); err != nil {
		return err
	}
	if err := s.dropOwnRequest(tx, actor, c); err != nil {
		return err
	}
	if err := s.auditConnection(tx, audit.ConnectionAccepted, actor, c); err != nil {
		return err
	}
	if err := s.activated(tx, actor, c); err != nil {
		return err
	}
	_, err := s.notice(tx, c, wire.ConnectionAccept, wire.Notice{Request: c.RequestID}, actor)
	return err
}

// dropOwnRequest ends a request of ours that still waits for the owner: the
// contact's own request has been accepted instead.
func (s *Service) dropOwnRequest(tx node.Tx, actor node.Actor, accepted Connection) error {
	known, err := s.Store.ConnectionsWith(tx, accepted.AgentID, accepted.Contact)
	if err != nil {
		return err
	}
	for _, other := range known {
		if other.Status != PendingOwner {
			continue
		}
		if err := s.end(tx, actor, other, ConnRevoked, audit.ConnectionRevoked); err != nil {
			return err
		}
		if err := s.Approvals.Withdraw(tx, other.ApprovalID); err != nil {
			return err
		}
	}
	return nil
}

// activated gives an active connection its default grants. Both sides come here once.
func (s *Service) activated(tx node.Tx, actor node.Actor, c Connection) error {
	if err := s.Agents.DefaultGrants(tx, actor, c.AgentID, c.Contact); err != nil {
		return err
	}
	if err := s.auditConnection(tx, audit.ConnectionActive, actor, c); err != nil {
		return err
	}
	return s.tellNewcomer(tx, c)
}

// RejectConnection is the owner's no to an incoming request. Codes: not_found,
// conflict (bad_state).
func (s *Service) RejectConnection(tx node.Tx, actor node.Actor, id string) (Connection, error) {
	c, err := s.incoming(tx, id)
	if err != nil {
		return c, err
	}
	if err := s.end(tx, actor, c, ConnRejected, audit.ConnectionRejected); err != nil {
		return c, err
	}
	if _, err := s.notice(tx, c, wire.ConnectionReject, wire.Notice{Request: c.RequestID}, actor); err != nil {
		return c, err
	}
	return s.Store.Connection(tx, id)
}

// RevokeConnection ends a connection from any status. What was queued to the
// contact and cannot have left fails; unfinished tasks say out_of_step. Codes:
// not_found, conflict where it has ended already.
func (s *Service) RevokeConnection(tx node.Tx, actor node.Actor, id string) (Connection, error) {
	c, err := s.lockPair(tx, id)
	if err != nil {
		return c, err
	}
	if c.Status.Ended() {
		return c, node.ConflictFor(node.ReasonBadState, "The connection has ended already; its status is %s.", c.Status)
	}
	told := c.Sent || c.Status == ConnActive || c.Status == PendingIncoming
	wasPendingOwner := c.Status == PendingOwner
	if err := s.end(tx, actor, c, ConnRevoked, audit.ConnectionRevoked); err != nil {
		return c, err
	}
	if wasPendingOwner {
		if err := s.Approvals.Withdraw(tx, c.ApprovalID); err != nil {
			return c, err
		}
	}
	if err := s.severed(tx, actor, c); err != nil {
		return c, err
	}
	if told {
		if _, err := s.notice(tx, c, wire.ConnectionRevoke, wire.Notice{Request: c.RequestID}, actor); err != nil {
			return c, err
		}
	}
	return s.Store.Connection(tx, id)
}

// severed does what the end of a connection means for messages and tasks: what
// was queued fails, but for confirmations, which stay owed; tasks that have not
// ended, or whose end the peer may not know, say out_of_step.
func (s *Service) severed(tx node.Tx, actor node.Actor, c Connection) error {
	err := s.eachQueued(tx, c, func(m Message) error {
		switch m.Type {
		case wire.ConnectionReject, wire.ConnectionRevoke:
			return nil
		case wire.TaskConfirm:
			return s.markOutOfStep(tx, actor, m.AgentID, m.TaskUID, wire.CodeNotConnected)
		default:
			return s.stop(tx, actor, m, wire.CodeNotConnected)
		}
	})
	if err != nil {
		return err
	}
	tasks, err := s.inStepUntilNow(tx, c)
	if err != nil {
		return err
	}
	for _, task := range tasks {
		if err := s.markOutOfStep(tx, actor, task.AgentID, task.UID, wire.CodeNotConnected); err != nil {
			return err
		}
	}
	return nil
}

// inStepUntilNow are the tasks of a connection that a message from the contact could
// still change: those that have not ended, and those that expired after they were
// agreed, which the contact may have carried out before the deadline (D5).
func (s *Service) inStepUntilNow(tx node.Tx, c Connection) ([]Task, error) {
	tasks, err := s.Store.UnfinishedTasks(tx, c.AgentID, c.ID)
	if err != nil {
		return nil, err
	}
	expired, err := s.Store.ExpiredTasks(tx, c.AgentID, c.ID, tx.Now().Add(-wire.ConfirmLife))
	for _, task := range expired {
		if task.Copy.Accepted > 0 {
			tasks = append(tasks, task)
		}
	}
	return tasks, err
}

// eachQueued locks one queued message of a connection after the other. What the
// end of one has ended as well is left out.
func (s *Service) eachQueued(tx node.Tx, c Connection, visit func(Message) error) error {
	queued, err := s.Store.QueuedMessages(tx, c.AgentID, c.ID)
	if err != nil {
		return err
	}
	for _, listed := range queued {
		m, err := s.lockedMessage(tx, listed.AgentID, listed.ID)
		if err != nil {
			return err
		}
		if m.Status != MsgQueued {
			continue
		}
		if err := visit(m); err != nil {
			return err
		}
	}
	return nil
}

// markOutOfStep says on a task that its copies no longer follow one another.
func (s *Service) markOutOfStep(tx node.Tx, actor node.Actor, agentID, uid, why string) error {
	task, err := s.Store.LockTask(tx, agentID, uid)
	if err != nil || task.OutOfStep {
		return err
	}
	task.OutOfStep = true
	if err := s.saveTask(tx, task, task.Status, ""); err != nil {
		return err
	}
	return s.auditOutOfStep(tx, actor, task, why)
}

func (s *Service) auditOutOfStep(tx node.Tx, actor node.Actor, task Task, why string) error {
	return s.audit(tx, audit.Event{
		Type: audit.TaskOutOfStep, Actor: actor, AgentID: task.AgentID, ConnectionID: task.ConnectionID,
		TaskUID: task.UID, Data: map[string]any{"code": why},
	})
}

// SetStructuredOnly switches whether free text to this contact is always held.
func (s *Service) SetStructuredOnly(tx node.Tx, actor node.Actor, id string, on bool) (Connection, error) {
	c, err := s.Store.LockConnection(tx, id)
	if err != nil {
		return c, err
	}
	c.StructuredOnly, c.UpdatedAt = on, tx.Now()
	if err := s.Store.SaveConnection(tx, c, c.Status); err != nil {
		return c, err
	}
	if err := s.Agents.BumpRules(tx, c.AgentID); err != nil {
		return c, err
	}
	return c, s.audit(tx, audit.Event{
		Type: audit.ConnectionSettings, Actor: actor, AgentID: c.AgentID, ConnectionID: c.ID, Subject: c.ID,
		Data: map[string]any{"structuredOnly": on},
	})
}

// MarkKeyChanged notes that a contact's node answered with another key than the
// one pinned. Everything to it stops.
func (s *Service) MarkKeyChanged(tx node.Tx, c Connection) error {
	c, err := s.Store.LockConnection(tx, c.ID)
	if err != nil || c.KeyChanged {
		return err
	}
	c.KeyChanged, c.UpdatedAt = true, tx.Now()
	if err := s.Store.SaveConnection(tx, c, c.Status); err != nil {
		return err
	}
	return s.auditConnection(tx, audit.ConnectionKeyChanged, peerActor(c.OwnerID, c.AgentID), c)
}
