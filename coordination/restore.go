package coordination

import (
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/outbox"
)

// Restored prepares what a restored database holds for what happened since its
// backup, of which it knows nothing (D13). It is called once, before anything is
// sent or received.
//
// What was queued and has no envelope may have left after the backup, in bytes
// that are gone: it fails, and is not sent again. What has its envelope is sent
// as it is; the peer answers a message that it knows with its stored answer.
// Every unfinished task asks the peer, by a task.void of a message that never
// was, whether our next number is free there. Until it has answered the task is
// in doubt; where the number is taken both sides say out_of_step.
func (s *Service) Restored(tx node.Tx) error {
	return s.eachConnection(tx, func(c Connection) error { return s.restoredConnection(tx, c) })
}

func (s *Service) restoredConnection(tx node.Tx, c Connection) error {
	err := s.eachQueued(tx, c, func(m Message) error {
		if m.Envelope == nil && (m.Type == wire.Message || (m.TaskUID != "" && m.Type != wire.TaskVoid)) {
			return s.stop(tx, nodeActor(m.OwnerID, m.AgentID), m, wire.CodeRestored)
		}
		return nil
	})
	if err != nil || c.Status != ConnActive {
		return err
	}
	tasks, err := s.Store.UnfinishedTasks(tx, c.AgentID, c.ID)
	if err != nil {
		return err
	}
	for _, listed := range tasks {
		if err := s.probe(tx, listed.AgentID, listed.UID); err != nil {
			return err
		}
	}
	return nil
}

// probe queues the question whether our next number is free at the peer's.
func (s *Service) probe(tx node.Tx, agentID, uid string) error {
	task, err := s.Store.LockTask(tx, agentID, uid)
	if err != nil || task.Held || task.OutOfStep || task.InDoubt || task.Status.Ended() {
		return err
	}
	never := s.IDs.New()
	content, err := node.Canonical(wire.Void{JTI: never})
	if err != nil {
		return node.Wrap(err, "write a void")
	}
	m := Message{
		ID: s.IDs.New(), OwnerID: task.OwnerID, AgentID: agentID, ConnectionID: task.ConnectionID, TaskUID: uid,
		Direction: Out, Type: wire.TaskVoid, Author: authorOwner, Status: MsgQueued, Ack: task.InSeq,
		Replaces: never, Content: content, CreatedAt: tx.Now(), ExpiresAt: task.Deadline.Add(wire.ConfirmLife),
	}
	if err := s.Store.InsertMessage(tx, m); err != nil {
		return err
	}
	item := outbox.Item{
		ID: s.IDs.New(), OwnerID: m.OwnerID, AgentID: agentID, Kind: outbox.Envelope, Ref: m.ID,
		Lane: uid, Order: task.Positions + 1, NextAt: tx.Now(), CreatedAt: tx.Now(),
	}
	if err := s.Outbox.InsertOutbox(tx, item); err != nil {
		return err
	}
	task.InDoubt = true
	return s.saveTask(tx, task, task.Status, "")
}

// probed ends the doubt that a restore brought.
func (s *Service) probed(tx node.Tx, v Message, ack wire.Ack) error {
	if _, err := s.endDoubt(tx, v); err != nil {
		return err
	}
	if ack.Status == wire.Applied && ack.Code == wire.CodeVoided {
		return nil
	}
	return s.markOutOfStep(tx, peerActor(v.OwnerID, v.AgentID), v.AgentID, v.TaskUID, wire.CodeRestored)
}
