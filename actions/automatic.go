package actions

import (
	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/policy"
)

// reserveAutomatic reserves a run that an allow grant stands for. It never
// repeats what already ran, never runs what the other side executes, and never
// departs from what was agreed.
func (s *Service) reserveAutomatic(tx node.Tx, actor node.Actor, o order, run Run) (Run, *node.Error, error) {
	if err := s.neverRan(tx, actor.AgentID, o); err != nil {
		return Run{}, nil, err
	}
	decision, err := s.decide(tx, actor.AgentID, run.ID, o, false)
	if err != nil {
		return Run{}, nil, err
	}
	if refusal, err := s.automaticRefusal(tx, actor, o, decision); err != nil || refusal != nil {
		return Run{}, refusal, err
	}
	approval, err := s.Approvals.Automatic(tx, actor, s.asApproval(actor, o, nil, approvals.Wait))
	if err != nil {
		return Run{}, nil, err
	}
	run.Automatic = true
	run, err = s.claim(tx, actor, o, run, approval)
	return run, nil, err
}

func (s *Service) automaticRefusal(tx node.Tx, actor node.Actor, o order, decision policy.Decision) (*node.Error, error) {
	if decision.Outcome == policy.Refused {
		return denied(decision), nil
	}
	if _, reasons := decision.NeedApproval(); len(reasons) > 0 {
		return needsApproval(o.action(), string(reasons[Capability(o.action())])), nil
	}
	different, err := differences(o.taskType, o.task.Copy.AcceptedProposal(), o.values)
	if err != nil {
		return nil, err
	}
	reason := ""
	switch {
	case o.foreignRole():
		reason = notExecutingRole
	case s.mayHaveRun(o.task):
		reason = restoredCopy
	case len(different) > 0:
		reason = parametersDiffer
	default:
		return nil, nil
	}
	err = s.Audit.Append(tx, audit.Event{
		Type: audit.ActionHeld, Actor: actor, AgentID: actor.AgentID, ConnectionID: o.task.ConnectionID,
		TaskUID: o.taskUID, Subject: decision.ID, Data: map[string]any{"action": o.action(), "reason": reason},
	})
	return needsApproval(o.action(), reason), err
}

// mayHaveRun says whether the node may have carried a task's action out in a time
// that it knows nothing of.
func (s *Service) mayHaveRun(task coordination.Task) bool {
	return task.UID != "" && task.CreatedAt.Before(s.RestoredAt)
}
