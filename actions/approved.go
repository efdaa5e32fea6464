package actions

import (
	"agentlink/approvals"
	"agentlink/node"
	"agentlink/policy"
)

// reserveApproved reserves a run that the owner approved: only a deny can still
// stop it.
func (s *Service) reserveApproved(tx node.Tx, actor node.Actor, o order, run Run, approvalID string) (Run, *node.Error, error) {
	if err := s.Approvals.Lock(tx, approvalID); err != nil {
		return Run{}, nil, err
	}
	decision, err := s.decide(tx, actor.AgentID, run.ID, o, true)
	if err != nil {
		return Run{}, nil, err
	}
	refused := decision.Outcome != policy.Allowed
	if refused && actor.Kind != node.ActorNode {
		return Run{}, denied(decision), nil
	}
	approval, err := s.Approvals.Use(tx, actor, approvalID, o.action(), o.parameters)
	if err != nil {
		return Run{}, nil, err
	}
	if err := s.covers(tx, o, approval); err != nil {
		return Run{}, nil, err
	}
	if refused {
		run, err = s.withdrawn(tx, actor, o, run, approval)
		return run, nil, err
	}
	run, err = s.claim(tx, actor, o, run, approval)
	return run, nil, err
}

// covers checks what an approval is bound to beside its parameters.
func (s *Service) covers(tx node.Tx, o order, approval approvals.Approval) error {
	if approval.TaskUID != o.taskUID || approval.AcceptedDigest != o.acceptedDigest() {
		return node.ConflictFor(node.ReasonStaleVersion, "Something else has been agreed since this was approved. Ask again.")
	}
	if o.foreignRole() && !approval.Override {
		return node.ConflictFor(node.ReasonBadState, "The other side runs this action, and the owner did not override that. Ask again.")
	}
	if approval.Repeat {
		return nil
	}
	return s.neverRan(tx, approval.AgentID, o)
}

// neverRan is a conflict where the action already ran for its task, or may have.
func (s *Service) neverRan(tx node.Tx, agentID string, o order) error {
	before, ran, err := s.ran(tx, agentID, o.taskUID, o.action())
	if err != nil || !ran {
		return err
	}
	refusal := node.ConflictFor(node.ReasonAlreadyRan, "This action already ran for this task, or may have. Look at the run; the owner can approve a second one.")
	refusal.Details = map[string]any{"runId": before.ID}
	return refusal
}

// ran finds the last run of a task's action that wrote something or may have.
func (s *Service) ran(tx node.Tx, agentID, taskUID, action string) (Run, bool, error) {
	if taskUID == "" {
		return Run{}, false, nil
	}
	run, err := s.Store.LastRun(tx, agentID, taskUID, action)
	if node.CodeOf(err) == node.NotFound {
		return Run{}, false, nil
	}
	return run, err == nil, err
}
