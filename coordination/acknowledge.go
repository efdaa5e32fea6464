package coordination

import (
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/outbox"
)

// Acknowledged applies the peer's signed answer to one of our messages. done is
// false when the message has to be sent again: its number leaves a gap there, or
// the peer was not able to look at it.
func (s *Service) Acknowledged(tx node.Tx, agentID string, ack wire.Ack) (done bool, err error) {
	if err := s.lockFor(tx, agentID, ack); err != nil {
		return false, err
	}
	m, err := s.lockedMessage(tx, agentID, ack.Ref)
	if err != nil {
		return false, err
	}
	if m.Direction != Out || m.Status != MsgQueued {
		return true, nil
	}
	if done, err = s.applyAnswer(tx, m, ack); err != nil {
		return false, err
	}
	return done, s.keepHead(tx, m, ack.Head)
}

func (s *Service) applyAnswer(tx node.Tx, m Message, ack wire.Ack) (done bool, err error) {
	switch {
	case ack.Code == wire.CodeUnavailable:
		return false, nil
	case ack.Code == wire.CodeKeyRetired:
		return s.keyRetired(tx, m, ack)
	case ack.Code == wire.CodeGap:
		return s.fillGap(tx, m, ack)
	case m.Type == wire.TaskVoid:
		return true, s.voidAnswered(tx, m, ack)
	case ack.Status == wire.Applied && m.Void:
		return true, s.contradicted(tx, m)
	case ack.Status == wire.Applied:
		return true, s.delivered(tx, m)
	}
	return true, s.rejectedByPeer(tx, m, ack)
}

func (s *Service) delivered(tx node.Tx, m Message) error {
	m.Status, m.Code, m.SettledAt = MsgDelivered, "", tx.Now()
	if err := s.Store.SaveMessage(tx, m, MsgQueued); err != nil {
		return err
	}
	if m.Type == wire.ConnectionAccept {
		if err := s.acceptAcknowledged(tx, m.ConnectionID); err != nil {
			return err
		}
	}
	return s.audit(tx, audit.Event{
		Type: audit.MessageDelivered, Actor: peerActor(m.OwnerID, m.AgentID), AgentID: m.AgentID,
		ConnectionID: m.ConnectionID, TaskUID: m.TaskUID, Subject: m.ID, Data: map[string]any{"type": string(m.Type)},
	})
}

func (s *Service) acceptAcknowledged(tx node.Tx, id string) error {
	c, err := s.Store.LockConnection(tx, id)
	if err != nil || !c.AcceptUnacked {
		return err
	}
	c.AcceptUnacked = false
	return s.Store.SaveConnection(tx, c, c.Status)
}

// contradicted meets a peer that applied what its own later message made void.
func (s *Service) contradicted(tx node.Tx, m Message) error {
	if err := s.delivered(tx, m); err != nil {
		return err
	}
	return s.markOutOfStep(tx, peerActor(m.OwnerID, m.AgentID), m.AgentID, m.TaskUID, wire.CodeOutOfStep)
}

// rejectedByPeer stores the rejection and takes the message out of our copy, if
// it is of the kind that can be void.
func (s *Service) rejectedByPeer(tx node.Tx, m Message, ack wire.Ack) error {
	actor := peerActor(m.OwnerID, m.AgentID)
	m.Status, m.Code, m.SettledAt = MsgRejected, knownCode(ack.Code), tx.Now()
	if err := s.Store.SaveMessage(tx, m, MsgQueued); err != nil {
		return err
	}
	if err := s.auditEnd(tx, actor, m); err != nil {
		return err
	}
	switch {
	case m.Type == wire.ConnectionRequest:
		return s.requestRejected(tx, m)
	case m.Type == wire.KeyRotate && m.Code == wire.CodeKeyRefused:
		return s.keyRefused(tx, m)
	case m.TaskUID == "":
		return nil
	}
	task, err := s.Store.LockTask(tx, m.AgentID, m.TaskUID)
	if err != nil {
		return err
	}
	switch {
	case m.Code == wire.CodeSeqReused || m.Code == wire.CodeRestored || m.Code == wire.CodeOutOfStep:
		if err := s.markOutOfStep(tx, actor, m.AgentID, m.TaskUID, m.Code); err != nil {
			return err
		}
		task.OutOfStep = true
	case m.Type == wire.TaskConfirm, m.Type == wire.TaskCancel && m.Code == wire.CodeAlreadyConfirmed:
		return s.disagree(tx, actor, &task, disagreementFor(m.Code))
	}
	return s.void(tx, actor, &task, m, m.Code)
}

func disagreementFor(code string) Disagreement {
	if code == wire.CodeDoubleRun {
		return DoubleRun
	}
	return ConfirmedVsEnded
}

// disagree flags that the two copies differ and both sides know it.
func (s *Service) disagree(tx node.Tx, actor node.Actor, task *Task, what Disagreement) error {
	if task.Disagreement == what {
		return nil
	}
	task.Disagreement = what
	if err := s.saveTask(tx, *task, task.Status, ""); err != nil {
		return err
	}
	return s.audit(tx, audit.Event{
		Type: audit.TaskDisagreement, Actor: actor, AgentID: task.AgentID, ConnectionID: task.ConnectionID,
		TaskUID: task.UID, Data: map[string]any{"disagreement": string(what)},
	})
}

func (s *Service) requestRejected(tx node.Tx, m Message) error {
	c, err := s.Store.LockConnection(tx, m.ConnectionID)
	if err != nil || c.Status != PendingOutgoing {
		return err
	}
	return s.end(tx, peerActor(m.OwnerID, m.AgentID), c, ConnRejected, audit.ConnectionRejected)
}

// voidAnswered ends the doubt about the message whose number a task.void took:
// it was withdrawn in time, it had been applied, or it had been rejected. Where
// nobody will say any more the task is out of step.
func (s *Service) voidAnswered(tx node.Tx, v Message, ack wire.Ack) error {
	actor := peerActor(v.OwnerID, v.AgentID)
	v.Status, v.SettledAt = MsgDelivered, tx.Now()
	if err := s.Store.SaveMessage(tx, v, MsgQueued); err != nil {
		return err
	}
	m, err := s.Store.Message(tx, v.AgentID, v.Replaces)
	if node.CodeOf(err) == node.NotFound {
		return s.probed(tx, v, ack)
	}
	if err != nil {
		return err
	}
	task, err := s.endDoubt(tx, v)
	if err != nil {
		return err
	}
	switch {
	case m.Status != MsgQueued: // the answer to it came all the same
		return nil
	case ack.Status == wire.Applied && ack.Code == wire.CodeAlreadyProcessed:
		return s.delivered(tx, m)
	case ack.Status == wire.Applied:
		if err := s.fail(tx, actor, m, m.Code); err != nil {
			return err
		}
		return s.void(tx, actor, &task, m, m.Code)
	case ack.Code == wire.CodeNotConnected:
		// They have ended the connection, and do not say what became of the message.
		if err := s.markOutOfStep(tx, actor, m.AgentID, m.TaskUID, ack.Code); err != nil {
			return err
		}
	}
	return s.rejectedByPeer(tx, m, ack)
}

// endDoubt says on the task of an answered task.void that its numbers are known
// again.
func (s *Service) endDoubt(tx node.Tx, v Message) (Task, error) {
	task, err := s.Store.LockTask(tx, v.AgentID, v.TaskUID)
	if err != nil {
		return Task{}, err
	}
	task.InDoubt = false
	return task, s.saveTask(tx, task, task.Status, "")
}

// fillGap queues again what the peer says it has not processed, from the bytes
// that were kept. Where they are gone the copies no longer follow one another.
func (s *Service) fillGap(tx node.Tx, m Message, ack wire.Ack) (done bool, err error) {
	for seq := ack.Ack + 1; seq < m.Seq; seq++ {
		earlier, err := s.Store.NumberedMessage(tx, m.AgentID, m.TaskUID, Out, seq)
		if err != nil && node.CodeOf(err) != node.NotFound {
			return false, err
		}
		if err != nil || len(earlier.Envelope) == 0 {
			return true, s.rejectedByPeer(tx, m, wire.Ack{Ref: m.ID, Status: wire.Rejected, Code: wire.CodeSeqReused})
		}
		if earlier.Status == MsgQueued {
			continue
		}
		from := earlier.Status
		earlier.Status = MsgQueued
		if err := s.Store.SaveMessage(tx, earlier, from); err != nil {
			return false, err
		}
		item := outbox.Item{
			ID: s.IDs.New(), OwnerID: m.OwnerID, AgentID: m.AgentID, Kind: outbox.Envelope, Ref: earlier.ID,
			Lane: m.TaskUID, Order: earlier.Position, NextAt: tx.Now(), CreatedAt: tx.Now(),
		}
		if err := s.Outbox.InsertOutbox(tx, item); err != nil {
			return false, err
		}
	}
	return false, nil
}

// knownCode keeps a peer from putting text of its own into our log.
func knownCode(code string) string {
	if wire.KnownCodes[code] {
		return code
	}
	return "other"
}
