package actions

import (
	"agentlink/approvals"
	"agentlink/node"
	"agentlink/node/audit"
)

// claim writes the reservation: from its commit on, the approval is used up and
// the run belongs to this request.
func (s *Service) claim(tx node.Tx, actor node.Actor, o order, run Run, approval approvals.Approval) (Run, error) {
	run = run.under(approval)
	if o.task.UID != "" {
		if err := s.Approvals.ExpireTask(tx, run.AgentID, run.TaskUID, run.Action, approval.ID); err != nil {
			return Run{}, err
		}
		if _, err := s.Tasks.BeginRun(tx, o.task, run.ID); err != nil {
			return Run{}, err
		}
	}
	if err := s.insert(tx, run); err != nil {
		return Run{}, err
	}
	err := s.Audit.Append(tx, s.event(audit.ActionReserved, actor, run))
	return run, err
}

func (r Run) under(approval approvals.Approval) Run {
	r.ApprovalID, r.ParamsHash = approval.ID, approval.Hash
	r.Salt, r.Repeat = approval.Salt, approval.Repeat
	return r
}

func (s *Service) insert(tx node.Tx, run Run) error {
	fresh, err := s.Store.InsertRun(tx, run)
	if err == nil && !fresh {
		return node.ConflictFor(node.ReasonApprovalUsed, "This approval was used. It works once.")
	}
	return err
}

// withdrawn records a run of the node's own that the rules stopped before it
// began. The approval is used up all the same, as a held message's would be.
func (s *Service) withdrawn(tx node.Tx, actor node.Actor, o order, run Run, approval approvals.Approval) (Run, error) {
	run = run.under(approval)
	run.State, run.Reason, run.FinishedAt, run.Settled = Failed, PolicyRefused, tx.Now(), true
	if o.taskUID != "" {
		run.TaskConfirmation = ConfirmationFailed
	}
	if err := s.insert(tx, run); err != nil {
		return Run{}, err
	}
	err := s.Audit.Append(tx, s.event(audit.ActionFailed, actor, run))
	return run, err
}

// event describes a run to the audit log: never its parameters or its code.
func (s *Service) event(kind audit.Type, actor node.Actor, run Run) audit.Event {
	return audit.Event{
		Type: kind, Actor: actor, AgentID: run.AgentID, TaskUID: run.TaskUID, Subject: run.ID,
		Data: map[string]any{
			"action": run.Action, "approvalId": run.ApprovalID, "automatic": run.Automatic, "repeat": run.Repeat,
			"outcome": run.Outcome(), "reason": run.Reason, "simulated": run.Simulated,
		},
	}
}
