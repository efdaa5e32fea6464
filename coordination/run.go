package coordination

import (
	"time"

	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/policy"
)

// Run is what the node did for a task.
type Run struct {
	ID         string
	Action     string
	Code       string // confirmation code, "" where there is none
	ReservedAt time.Time
	Simulated  bool
	Receipt    string
	Salt       string
}

// LockTask keeps other writers off one of the agent's tasks until the
// transaction ends. Code: not_found, for a held create too.
func (s *Service) LockTask(tx node.Tx, agentID, uid string) (Task, error) {
	if _, err := s.Task(tx, agentID, uid); err != nil {
		return Task{}, err
	}
	return s.Store.LockTask(tx, agentID, uid)
}

// AwaitApproval moves an agreed task to awaiting_approval; one that is there stays.
// Code: conflict.
func (s *Service) AwaitApproval(tx node.Tx, actor node.Actor, task Task) (Task, error) {
	locked, err := s.Store.LockTask(tx, task.AgentID, task.UID)
	if err != nil {
		return Task{}, err
	}
	if err := locked.takesOurWrites(tx.Now()); err != nil {
		return Task{}, err
	}
	from := locked.Status
	to, ok := next(from, evAsked)
	if !ok {
		return Task{}, node.ConflictFor(node.ReasonBadState, "The task is not agreed; its status is %s.", from)
	}
	if to == from {
		return locked, nil
	}
	locked.Status = to
	return locked, s.saveTask(tx, locked, from, "")
}

// AcceptanceSettled says whether a run may start: the acceptance that made the
// task agreed is the peer's, or ours and answered "applied" (protocol §7).
func (s *Service) AcceptanceSettled(tx node.Tx, task Task) (bool, error) {
	accepted := task.Copy.AcceptedProposal()
	if accepted == nil || task.InDoubt {
		return false, nil
	}
	if accepted.Author == task.Role {
		return true, nil
	}
	m, err := s.Store.Message(tx, task.AgentID, task.Copy.AcceptedBy)
	return err == nil && m.Status == MsgDelivered, err
}

// BeginRun marks that a run is under way, so that nobody cancels beneath it.
// Code: conflict when another run is, or when the task no longer allows it.
func (s *Service) BeginRun(tx node.Tx, task Task, runID string) (Task, error) {
	locked, err := s.Store.LockTask(tx, task.AgentID, task.UID)
	if err != nil {
		return Task{}, err
	}
	if err := locked.takesOurWrites(tx.Now()); err != nil {
		return Task{}, err
	}
	switch {
	case locked.RunID != "":
		return Task{}, node.ConflictFor(node.ReasonBadState, "The action is being carried out; wait for its outcome.")
	case locked.Status != Agreed && locked.Status != AwaitingApproval:
		return Task{}, node.ConflictFor(node.ReasonBadState, "The task is not agreed; its status is %s.", locked.Status)
	}
	locked.RunID = runID
	return locked, s.saveTask(tx, locked, locked.Status, "")
}

// EndRun ends it. Where it succeeded (run is not nil) the node confirms: copy
// confirmed and envelope queued in one step, or the confirmation stays owed.
// sent tells which; a failure is in the audit log as task.confirm_failed.
func (s *Service) EndRun(tx node.Tx, actor node.Actor, agentID, uid, runID string, run *Run) (sent bool, err error) {
	task, err := s.Store.LockTask(tx, agentID, uid)
	if err != nil {
		return false, err
	}
	if task.RunID == runID {
		task.RunID = ""
	}
	if run == nil {
		return false, s.saveTask(tx, task, task.Status, "")
	}
	task.Executed = &Confirmation{
		By: task.Role, Action: run.Action, Code: run.Code, ExecutedAt: run.ReservedAt,
		Simulated: run.Simulated, Receipt: run.Receipt, Salt: run.Salt,
	}
	task.ExecutedAt, task.ConfirmOwed = run.ReservedAt, true
	return s.confirm(tx, actor, task)
}

// confirm pays an owed confirmation, if connection and grants allow it now.
func (s *Service) confirm(tx node.Tx, actor node.Actor, task Task) (sent bool, err error) {
	why, err := s.confirmBarred(tx, task)
	if err != nil {
		return false, err
	}
	from := task.Status
	if why != "" {
		if err := s.saveTask(tx, task, from, ""); err != nil {
			return false, err
		}
		return false, s.confirmFailed(tx, actor, task, why)
	}
	m, err := s.confirmMessage(tx, actor, task)
	if err != nil {
		return false, err
	}
	task.ConfirmOwed = false
	code := task.apply(task.Role, m)
	task.Positions++
	m.Position, m.Ack, m.Status = task.Positions, task.InSeq, MsgQueued
	if err := s.saveTask(tx, task, from, ""); err != nil {
		return false, err
	}
	if err := s.sendConfirm(tx, actor, m); err != nil {
		return false, err
	}
	if code == "" {
		return true, s.auditTask(tx, actor, task, m, from)
	}
	// The peer cancelled, or confirmed, while the action ran. Both are facts: the
	// confirm goes out all the same, and both sides flag the difference.
	if err := s.disagree(tx, actor, &task, disagreementFor(code)); err != nil {
		return false, err
	}
	return false, s.confirmFailed(tx, actor, task, code)
}

func (s *Service) sendConfirm(tx node.Tx, actor node.Actor, m Message) error {
	if err := s.Store.InsertMessage(tx, m); err != nil {
		return err
	}
	if err := s.enqueue(tx, m); err != nil {
		return err
	}
	return s.audit(tx, audit.Event{
		Type: audit.MessageQueued, Actor: actor, AgentID: m.AgentID, ConnectionID: m.ConnectionID,
		TaskUID: m.TaskUID, Subject: m.ID, Data: map[string]any{"type": string(m.Type)},
	})
}

func (s *Service) confirmFailed(tx node.Tx, actor node.Actor, task Task, why string) error {
	return s.audit(tx, audit.Event{
		Type: audit.TaskConfirmFailed, Actor: actor, AgentID: task.AgentID, ConnectionID: task.ConnectionID,
		TaskUID: task.UID, Data: map[string]any{"code": why},
	})
}

// confirmBarred says why a confirm may not be queued now, or "".
func (s *Service) confirmBarred(tx node.Tx, task Task) (string, error) {
	connection, err := s.Store.Connection(tx, task.ConnectionID)
	if err != nil {
		return "", err
	}
	switch {
	case connection.Status != ConnActive || connection.KeyChanged:
		return wire.CodeNotConnected, nil
	case task.OutOfStep:
		return wire.CodeOutOfStep, nil
	}
	decision, err := s.Policy.Decide(tx, policy.Request{
		AgentID: task.AgentID, Contact: task.Contact, Connection: effective(connection),
		Capabilities: []string{policy.TaskRespond}, DenyOnly: true, TaskUID: task.UID,
	})
	if err != nil || decision.Outcome == policy.Allowed {
		return "", err
	}
	return string(node.PolicyDenied), nil
}

func (s *Service) confirmMessage(tx node.Tx, actor node.Actor, task Task) (Message, error) {
	accepted, executed := task.Copy.AcceptedProposal(), task.Executed
	if accepted == nil {
		return Message{}, node.Wrap(errNothingAccepted, "confirm a task")
	}
	content, err := node.Canonical(wire.Confirm{
		Version: accepted.Version, Digest: accepted.Digest, Action: executed.Action, Code: executed.Code,
		ExecutedAt: executed.ExecutedAt, Simulated: executed.Simulated, Receipt: executed.Receipt, Salt: executed.Salt,
	})
	if err != nil {
		return Message{}, node.Wrap(err, "write a confirm")
	}
	return Message{
		ID: s.IDs.New(), OwnerID: task.OwnerID, AgentID: task.AgentID, ConnectionID: task.ConnectionID, TaskUID: task.UID,
		Direction: Out, Type: wire.TaskConfirm, Author: author(actor), Content: content, Needs: []string{policy.TaskRespond},
		CreatedAt: tx.Now(), ExpiresAt: task.Deadline.Add(wire.ConfirmLife),
	}, nil
}
