package actions

import (
	"agentlink/approvals"
	"agentlink/node"
)

var _ approvals.Locker = (*Service)(nil)

// Lock implements approvals.Locker: a run that ends expires the task's approvals.
// One that was tampered with may name a task that is not there.
func (s *Service) Lock(tx node.Tx, approval approvals.Approval) error {
	if approval.TaskUID == "" {
		return nil
	}
	_, err := s.Tasks.LockTask(tx, approval.AgentID, approval.TaskUID)
	if node.CodeOf(err) == node.NotFound {
		return nil
	}
	return err
}

// Approved implements approvals.Resolver: the agent may run it now, or the node
// does. Code: bad_request where a warning was not answered; then the approval
// stays pending.
func (s *Service) Approved(tx node.Tx, _ node.Actor, approval approvals.Approval, decision approvals.Decision) (approvals.Effect, error) {
	warnings, err := s.warnings(tx, approval)
	if err != nil {
		return approvals.Effect{}, err
	}
	if err := answered(warnings, decision); err != nil {
		return approvals.Effect{}, err
	}
	if approval.OnApproval != approvals.Run {
		return approvals.Effect{Outcome: approvals.OutcomeApproved}, nil
	}
	tx.OnCommit(s.Wake)
	return approvals.Effect{Outcome: approvals.OutcomeRunning}, nil
}

// answered says what an owner still has to say to a warning.
func answered(warnings []Warning, decision approvals.Decision) error {
	var missing []node.Field
	for _, warning := range warnings {
		switch {
		case warning.Kind == NotExecutingRole && !decision.Override:
			missing = append(missing, node.Field{Field: "override", Problem: "must be given: the other side is to run this action"})
		case warning.Kind == AlreadyRan && decision.Word != approvals.Again:
			missing = append(missing, node.Field{Field: "word", Problem: `must be "` + approvals.Again + `": this action already ran, or may have`})
		}
	}
	if missing != nil {
		return node.BadFields(missing...)
	}
	return nil
}

// Rejected implements approvals.Resolver. The task stays as it is until the
// agent asks again or its deadline passes.
func (s *Service) Rejected(node.Tx, node.Actor, approvals.Approval) error { return nil }

// Expired implements approvals.Resolver.
func (s *Service) Expired(node.Tx, approvals.Approval) error { return nil }
