package actions

import (
	"context"
	"fmt"

	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/audit"
)

// finish is the third transaction: result, receipt and audit row, and in the
// same step the task is confirmed and its notice queued. If the task's part
// fails, the result is stored without it: the run is a fact. RecoverStep then
// confirms the task, for what is not settled is tried again.
func (s *Service) finish(ctx context.Context, actor node.Actor, run Run, v verdict) (Run, error) {
	finished, err := s.store(ctx, actor, run, v, true)
	if err == nil || run.TaskUID == "" {
		return finished, err
	}
	s.Log.Error("a run's task could not be told of its end", "run", run.ID, "error", err)
	return s.store(ctx, actor, run, v, false)
}

func (s *Service) store(ctx context.Context, actor node.Actor, run Run, v verdict, withTask bool) (finished Run, err error) {
	err = s.DB.InTx(ctx, func(tx node.Tx) error {
		if run.TaskUID != "" && withTask {
			if _, err := s.Tasks.LockTask(tx, run.AgentID, run.TaskUID); err != nil {
				return err
			}
		}
		finished, err = s.storeIn(tx, actor, run, v, withTask)
		return err
	})
	return finished, err
}

func (s *Service) storeIn(tx node.Tx, actor node.Actor, run Run, v verdict, withTask bool) (Run, error) {
	from := run.State
	run, err := concluded(run, v)
	if err != nil {
		return Run{}, err
	}
	run.FinishedAt = tx.Now()
	held, err := s.Store.SaveRun(tx, run, from)
	if err != nil {
		return Run{}, err
	}
	if !held { // overslept: another replica has settled it
		return s.Store.Run(tx, run.ID)
	}
	// This locks the log's head. What follows changes this run, what the task's lock
	// covers, and new rows.
	position, err := s.Audit.AppendPlaced(tx, s.event(auditType[run.State], actor, run))
	if err != nil {
		return Run{}, err
	}
	if run.Receipt, err = s.receipt(tx, run, position); err != nil {
		return Run{}, err
	}
	if err := s.endFor(tx, actor, &run, withTask); err != nil {
		return Run{}, err
	}
	_, err = s.Store.SaveRun(tx, run, run.State)
	return run, err
}

// endFor does the task's part of a run's end, or leaves it for later.
func (s *Service) endFor(tx node.Tx, actor node.Actor, run *Run, withTask bool) error {
	switch {
	case run.TaskUID == "":
		run.Settled = true
		return nil
	case withTask:
		return s.endTask(tx, actor, run)
	}
	return s.leaveTask(tx, actor, *run)
}

var auditType = map[State]audit.Type{
	Succeeded: audit.ActionExecuted, Failed: audit.ActionFailed, Unknown: audit.ActionUnknown,
}

// concluded is a run with its end written into it.
func concluded(run Run, v verdict) (Run, error) {
	to, ok := Next(run.State, MeaningOf(v.reason).Event)
	if !ok {
		return Run{}, node.Wrap(fmt.Errorf("a run that is %s cannot end with %s", run.State, v.reason), "end a run")
	}
	run.State, run.Reason = to, v.reason
	run.Result, run.Code, run.Simulated = v.data, v.result.Code, v.result.Simulated
	if run.TaskUID != "" {
		run.TaskConfirmation = ConfirmationFailed
	}
	return run, nil
}

// endTask ends the run in its task: a success confirms it. That the peer could
// not be told is no error, and stands in the audit log as task.confirm_failed.
func (s *Service) endTask(tx node.Tx, actor node.Actor, run *Run) error {
	sent, err := s.Tasks.EndRun(tx, actor, run.AgentID, run.TaskUID, run.ID, run.confirmation())
	if err != nil {
		return err
	}
	run.Settled = true
	if sent {
		run.TaskConfirmation = ConfirmationSent
	}
	return nil
}

// leaveTask notes in the log that the task has not been told of a success yet.
func (s *Service) leaveTask(tx node.Tx, actor node.Actor, run Run) error {
	if run.State != Succeeded {
		return nil
	}
	return s.Audit.Append(tx, s.event(audit.TaskConfirmFailed, actor, run))
}

// confirmation is what the task learns of a run; nil unless it succeeded.
func (r Run) confirmation() *coordination.Run {
	if r.State != Succeeded {
		return nil
	}
	return &coordination.Run{
		ID: r.ID, Action: r.Action, Code: r.Code, ReservedAt: r.ReservedAt,
		Simulated: r.Simulated, Receipt: r.Receipt, Salt: r.Salt,
	}
}
