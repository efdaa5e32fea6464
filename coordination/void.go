package coordination

import (
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/outbox"
)

// stop takes a queued message of ours back. What cannot have left fails and is
// void, its number free. What may have arrived is never sent again: for a task
// message a task.void takes its number, and the task is in doubt until the peer
// has answered; others just fail.
func (s *Service) stop(tx node.Tx, actor node.Actor, m Message, code string) error {
	if m.TaskUID == "" {
		return s.fail(tx, actor, m, code)
	}
	if m.Type == wire.TaskVoid || m.Type == wire.TaskConfirm {
		return s.giveUp(tx, actor, m, code)
	}
	task, err := s.Store.LockTask(tx, m.AgentID, m.TaskUID)
	if err != nil {
		return err
	}
	if m.AttemptedAt.IsZero() {
		if err := s.fail(tx, actor, m, code); err != nil {
			return err
		}
		return s.void(tx, actor, &task, m, code)
	}
	connection, err := s.Store.Connection(tx, m.ConnectionID)
	if err != nil {
		return err
	}
	if connection.Status != ConnActive {
		return s.giveUp(tx, actor, m, code)
	}
	if m.withdrawn() {
		return nil
	}
	return s.replaceByVoid(tx, actor, task, m, code)
}

// giveUp fails a message of which nobody is left to ask what became of it: the
// copies may differ, and we say so. Nobody is in doubt any more who waits for nothing.
func (s *Service) giveUp(tx node.Tx, actor node.Actor, m Message, code string) error {
	if err := s.fail(tx, actor, m, code); err != nil {
		return err
	}
	if m.Type == wire.TaskVoid {
		if _, err := s.endDoubt(tx, m); err != nil {
			return err
		}
		replaced, err := s.Store.Message(tx, m.AgentID, m.Replaces)
		if err != nil && node.CodeOf(err) != node.NotFound { // there is none behind the question of a restored node
			return err
		}
		if replaced.withdrawn() {
			if err := s.fail(tx, actor, replaced, replaced.Code); err != nil {
				return err
			}
		}
	}
	return s.markOutOfStep(tx, actor, m.AgentID, m.TaskUID, code)
}

// withdrawn says that a task.void for the message is on its way.
func (m Message) withdrawn() bool { return m.Status == MsgQueued && m.Code != "" }

// fail ends a message. Of one that cannot have left the contact was told nothing.
func (s *Service) fail(tx node.Tx, actor node.Actor, m Message, code string) error {
	if err := s.Outbox.DropOutbox(tx, m.AgentID, outbox.Envelope, m.ID); err != nil {
		return err
	}
	from := m.Status
	m.Status, m.Code, m.SettledAt = MsgFailed, code, tx.Now()
	if err := s.Store.SaveMessage(tx, m, from); err != nil {
		return err
	}
	if m.AttemptedAt.IsZero() && m.proposes() {
		if err := s.Store.WithdrawDisclosures(tx, m.AgentID, m.ID); err != nil {
			return err
		}
	}
	return s.auditEnd(tx, actor, m)
}

// replaceByVoid queues the task.void that takes the number of m.
func (s *Service) replaceByVoid(tx node.Tx, actor node.Actor, task Task, m Message, code string) error {
	if err := s.Outbox.DropOutbox(tx, m.AgentID, outbox.Envelope, m.ID); err != nil {
		return err
	}
	m.Code = code
	if err := s.Store.SaveMessage(tx, m, m.Status); err != nil {
		return err
	}
	content, err := node.Canonical(wire.Void{JTI: m.ID})
	if err != nil {
		return node.Wrap(err, "write a void")
	}
	void := Message{
		ID: s.IDs.New(), OwnerID: m.OwnerID, AgentID: m.AgentID, ConnectionID: m.ConnectionID, TaskUID: m.TaskUID,
		Direction: Out, Type: wire.TaskVoid, Author: m.Author, Status: MsgQueued, Seq: m.Seq, Ack: task.InSeq,
		Replaces: m.ID, Content: content, CreatedAt: tx.Now(), ExpiresAt: task.Deadline.Add(wire.ConfirmLife),
	}
	if err := s.Store.InsertMessage(tx, void); err != nil {
		return err
	}
	item := outbox.Item{
		ID: s.IDs.New(), OwnerID: m.OwnerID, AgentID: m.AgentID, Kind: outbox.Envelope, Ref: void.ID,
		Lane: m.TaskUID, Order: m.Position, NextAt: tx.Now(), CreatedAt: tx.Now(),
	}
	if err := s.Outbox.InsertOutbox(tx, item); err != nil {
		return err
	}
	task.InDoubt = true
	if err := s.saveTask(tx, task, task.Status, ""); err != nil {
		return err
	}
	return s.auditVoid(tx, actor, m, node.ReasonInDoubt)
}

// void takes a message out of our copy and recomputes it. A confirm, or a cancel that
// met a confirm, is never void.
func (s *Service) void(tx node.Tx, actor node.Actor, task *Task, m Message, why string) error {
	if m.Void || m.Type == wire.TaskConfirm || (m.Type == wire.TaskCancel && task.Copy.Crossed != nil) {
		return nil
	}
	stored, err := s.Store.Message(tx, m.AgentID, m.ID)
	if err != nil {
		return err
	}
	from := stored.Status
	stored.Void, stored.VoidReason = true, why
	if err := s.Store.SaveMessage(tx, stored, from); err != nil {
		return err
	}
	if err := s.auditVoid(tx, actor, stored, node.Reason(why)); err != nil {
		return err
	}
	return s.refold(tx, actor, task)
}

func (s *Service) auditVoid(tx node.Tx, actor node.Actor, m Message, why node.Reason) error {
	return s.audit(tx, audit.Event{
		Type: audit.TaskVoided, Actor: actor, AgentID: m.AgentID, ConnectionID: m.ConnectionID, TaskUID: m.TaskUID,
		Subject: m.ID, Data: map[string]any{"type": string(m.Type), "code": string(why)},
	})
}

// refold computes the copy anew from its messages that are not void. Own later
// messages that no longer fit and cannot have left fall too.
func (s *Service) refold(tx node.Tx, actor node.Actor, task *Task) error {
	messages, err := s.Store.TaskMessages(tx, task.AgentID, task.UID)
	if err != nil {
		return err
	}
	from, old := task.Status, task.Copy
	task.Copy = Copy{}
	for _, m := range messages {
		if m.Void {
			continue
		}
		by := task.Role
		if m.Direction == In {
			by = task.Role.Other()
		}
		code := task.Copy.apply(task.folding(), by, m)
		if code != "" && m.Direction == Out && m.Status == MsgQueued && m.AttemptedAt.IsZero() && m.Type != wire.TaskConfirm {
			if err := s.fall(tx, actor, m, code); err != nil {
				return err
			}
		}
	}
	task.Copy.keepLocal(old)
	task.settle()
	return s.saveTask(tx, *task, from, "")
}

// keepLocal carries over what no message says: that the deadline passed here,
// and what crossed. A copy whose create is void is cancelled.
func (c *Copy) keepLocal(old Copy) {
	if c.Status == "" {
		c.Title, c.Status = old.Title, CancelledTask
	}
	if c.Crossed == nil {
		c.Crossed = old.Crossed
	}
	c.Expired = old.Expired
	if c.Expired && !c.Status.Ended() {
		c.Status = ExpiredTask
	}
}

func (s *Service) fall(tx node.Tx, actor node.Actor, m Message, code string) error {
	m.Void, m.VoidReason = true, code
	if err := s.auditVoid(tx, actor, m, node.Reason(code)); err != nil {
		return err
	}
	return s.fail(tx, actor, m, code)
}
