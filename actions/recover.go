package actions

import (
	"context"
	"errors"

	"agentlink/approvals"
	"agentlink/node"
	"agentlink/policy"
)

// RecoverStep settles a run that a crash cut off, or runs what an owner approved
// with onApproval "run" as soon as it may start.
func (s *Service) RecoverStep(ctx context.Context) (more bool, err error) {
	run, claimed, err := s.claimLost(ctx)
	if err != nil {
		return false, err
	}
	if claimed {
		return true, s.recoverRun(context.WithoutCancel(ctx), run)
	}
	return s.runReady(ctx)
}

// claimLost leases a run whose driver is gone: its lease is longer than any
// executor may take. It looks first, since mostly there is none and a look keeps
// nobody from writing.
func (s *Service) claimLost(ctx context.Context) (run Run, claimed bool, err error) {
	var lost bool
	err = s.DB.View(ctx, func(tx node.Tx) error {
		lost, err = s.Store.LostRun(tx)
		return err
	})
	if err != nil || !lost {
		return Run{}, false, err
	}
	token := s.IDs.New()
	err = s.DB.InTx(ctx, func(tx node.Tx) error {
		run, claimed, err = s.Store.ClaimRun(tx, token, s.lease(tx.Now()))
		return err
	})
	return run, claimed, err
}

func (s *Service) recoverRun(ctx context.Context, run Run) error {
	actor := nodeActor(run.OwnerID, run.AgentID)
	executor, known := s.executors[run.Action]
	switch {
	case run.State == Reserved:
		return s.recoverReserved(ctx, actor, run)
	case run.State == Running && known && executor.Idempotent():
		s.carryOut(ctx, actor, run)
		return nil
	case run.State == Running:
		_, err := s.finish(ctx, actor, run, verdict{reason: Interrupted})
		return err
	}
	return s.settle(ctx, actor, run)
}

// recoverReserved starts a run of which nothing began, unless what it was for
// has ended or the rules forbid it by now.
func (s *Service) recoverReserved(ctx context.Context, actor node.Actor, run Run) error {
	reason := InRun
	err := s.DB.InTx(ctx, func(tx node.Tx) (err error) {
		reason, err = s.mayStillBegin(tx, run)
		return err
	})
	switch {
	case err != nil:
		return err
	case reason == InRun:
		s.drive(ctx, actor, run)
		return nil
	}
	_, err = s.finish(ctx, actor, run, verdict{reason: reason})
	return err
}

// mayStillBegin gives InRun, or why a reserved run may not begin any more.
func (s *Service) mayStillBegin(tx node.Tx, run Run) (Reason, error) {
	o, err := s.read(run.Action, run.Parameters)
	if err != nil {
		return PlatformError, nil //nolint:nilerr // an action that this version no longer knows
	}
	if o.taskUID != "" {
		if o.task, err = s.Tasks.LockTask(tx, run.AgentID, o.taskUID); err != nil {
			return "", err
		}
		if o.task.Status.Ended() {
			return Canceled, nil
		}
	}
	decision, err := s.decide(tx, run.AgentID, run.ID, o, true)
	if err == nil && decision.Outcome != policy.Allowed {
		return PolicyRefused, nil
	}
	return InRun, err
}

// settle tells a task of a run whose end was stored without it.
func (s *Service) settle(ctx context.Context, actor node.Actor, run Run) error {
	return s.DB.InTx(ctx, func(tx node.Tx) error {
		run := run
		if _, err := s.Tasks.LockTask(tx, run.AgentID, run.TaskUID); err != nil {
			return err
		}
		if err := s.endTask(tx, actor, &run); err != nil {
			return err
		}
		_, err := s.Store.SaveRun(tx, run, run.State)
		return err
	})
}

// readyPage is how many approvals are looked at together.
const readyPage = 50

// runReady runs what the owner approved for the node to run. What may not start
// yet waits; what never may ends with its approval.
func (s *Service) runReady(ctx context.Context) (ran bool, err error) {
	var failures []error
	for after := ""; ; {
		page, err := s.readyAfter(ctx, after)
		if err != nil {
			return ran, errors.Join(append(failures, err)...)
		}
		for _, approval := range page.may {
			_, err := s.Run(ctx, nodeActor(approval.OwnerID, approval.AgentID), Start{ApprovalID: approval.ID})
			switch code := node.CodeOf(err); {
			case err == nil:
				ran = true
			case code != node.Conflict && code != node.NotFound: // those wait, or were run by another
				failures = append(failures, err)
			}
		}
		if page.last == "" {
			return ran, errors.Join(failures...)
		}
		after = page.last
	}
}

// ready is a page of approvals to run; last is "" on the last page.
type ready struct {
	may  []approvals.Approval
	last string
}

// readyAfter picks those that may start, without locking anything.
func (s *Service) readyAfter(ctx context.Context, after string) (page ready, err error) {
	err = s.DB.View(ctx, func(tx node.Tx) error {
		page = ready{}
		list, err := s.Approvals.ReadyToRun(tx, after, readyPage)
		if err != nil {
			return err
		}
		if len(list) == readyPage {
			page.last = list[len(list)-1].ID
		}
		for _, approval := range list {
			may, err := s.mayStart(tx, approval)
			if err != nil {
				return err
			}
			if may {
				page.may = append(page.may, approval)
			}
		}
		return nil
	})
	return page, err
}

func (s *Service) mayStart(tx node.Tx, approval approvals.Approval) (bool, error) {
	if approval.TaskUID == "" {
		return true, nil
	}
	task, err := s.Tasks.Task(tx, approval.AgentID, approval.TaskUID)
	if err != nil {
		return false, err
	}
	err = agreed(tx, task)
	if err == nil {
		err = s.gate(tx, task)
	}
	if node.CodeOf(err) == node.Conflict {
		return false, nil
	}
	return err == nil, err
}
