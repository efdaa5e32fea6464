package coordination

import (
	"time"

	"agentlink/node"
	"agentlink/node/audit"

	"agentlink/coordination/wire"
)

func (t *Task) folding() folding { return folding{uid: t.UID, deadline: t.Deadline} }

// apply adds a message to the copy and settles the task's own status.
func (t *Task) apply(by Role, m Message) (code string) {
	code = t.Copy.apply(t.folding(), by, m)
	t.settle()
	return code
}

// settle derives the task's status from its copy: awaiting_approval, which the
// peer never sees, stays while the copy is agreed.
func (t *Task) settle() {
	if t.Copy.Status == Agreed && t.Status == AwaitingApproval {
		return
	}
	if t.Copy.Status != "" {
		t.Status = t.Copy.Status
	}
}

// takesOurWrites says why a task takes no message of ours now.
func (t *Task) takesOurWrites(now time.Time) error {
	switch {
	case t.OutOfStep:
		return node.ConflictFor(node.ReasonOutOfStep, "The two copies of this task no longer follow one another. Start a new task.")
	case t.InDoubt:
		return node.ConflictFor(node.ReasonInDoubt, "It is not known yet whether the last message arrived. Wait for the task to change.")
	case t.Status.Ended(), !now.Before(t.Deadline):
		return refusalOf(wire.CodeTaskEnded)
	}
	return nil
}

// saveTask writes a locked task. What rested on a state that is gone ends with
// it: all approvals of an ended task (D9), the action's where it is no longer
// agreed. but names the approval that is being decided just now.
func (s *Service) saveTask(tx node.Tx, task Task, from Status, but string) error {
	task.UpdatedAt = tx.Now()
	if err := s.Store.SaveTask(tx, task, from); err != nil {
		return err
	}
	if task.Status.Ended() && !from.Ended() {
		return s.Approvals.ExpireTask(tx, task.AgentID, task.UID, "", but)
	}
	wasAgreed := from == Agreed || from == AwaitingApproval
	if wasAgreed && task.Status == Negotiating {
		if taskType, ok := TypeOf(task.Type); ok && taskType.Action != "" {
			return s.Approvals.ExpireTask(tx, task.AgentID, task.UID, taskType.Action, but)
		}
	}
	return nil
}

// taskEvents names what a message of a type means in the log.
var taskEvents = map[wire.Type]audit.Type{
	wire.TaskCreate:  audit.TaskStarted,
	wire.TaskPropose: audit.TaskProposed,
	wire.TaskRespond: audit.TaskResponded,
	wire.TaskCancel:  audit.TaskCancelled,
	wire.TaskConfirm: audit.TaskConfirmed,
}

// auditTask records what a message did to a task, and where that made it agreed
// says so in a row of its own.
func (s *Service) auditTask(tx node.Tx, actor node.Actor, task Task, m Message, from Status) error {
	event := audit.Event{
		Type: taskEvents[m.Type], Actor: actor, AgentID: task.AgentID, ConnectionID: task.ConnectionID,
		TaskUID: task.UID, Subject: m.ID,
		Data: map[string]any{"from": string(from), "to": string(task.Status), "version": latestVersion(task.Copy.Latest())},
	}
	if err := s.audit(tx, event); err != nil {
		return err
	}
	if task.Status == Agreed && from == Negotiating {
		event.Type = audit.TaskAgreed
		event.Data = map[string]any{"version": task.Copy.Accepted}
		return s.audit(tx, event)
	}
	return nil
}
