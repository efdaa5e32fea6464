package actions

import (
	"context"
	"errors"
	"fmt"

	"agentlink/node"
)

// drive takes a reserved run to its end: it marks it running, calls the executor
// outside any transaction, and writes down what came of it. What fails on the
// way is logged; RecoverStep goes on with the run when its lease is over.
func (s *Service) drive(ctx context.Context, actor node.Actor, run Run) Run {
	begun, err := s.begin(ctx, run)
	if err != nil {
		s.Log.Error("a reserved run could not begin", "run", run.ID, "error", err)
		return run
	}
	if begun.LeaseToken != run.LeaseToken || begun.State != Running {
		return begun // another replica has it
	}
	return s.carryOut(ctx, actor, begun)
}

// begin is the second transaction. The executor may be called once it is durable.
func (s *Service) begin(ctx context.Context, run Run) (begun Run, err error) {
	err = s.DB.InTx(ctx, func(tx node.Tx) error {
		begun = run
		begun.State, _ = Next(run.State, EvBegin)
		begun.StartedAt = tx.Now()
		held, err := s.Store.SaveRun(tx, begun, run.State)
		if err == nil && !held {
			begun, err = s.Store.Run(tx, run.ID)
		}
		return err
	})
	return begun, err
}

func (s *Service) carryOut(ctx context.Context, actor node.Actor, run Run) Run {
	result, err := s.perform(ctx, run)
	if err != nil {
		s.Log.Warn("a run did not succeed", "run", run.ID, "action", run.Action, "error", err)
	}
	finished, err := s.finish(ctx, actor, run, verdictOf(result, err))
	if err != nil {
		s.Log.Error("the end of a run could not be stored", "run", run.ID, "error", err)
		return run
	}
	return finished
}

// perform calls the executor, and does not wait longer than the time-out even
// for one that does not listen.
func (s *Service) perform(ctx context.Context, run Run) (Result, error) {
	executor, ok := s.executors[run.Action]
	if !ok {
		return Result{}, &Stopped{Reason: PlatformError, Err: fmt.Errorf("there is no executor for %s", run.Action)}
	}
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	type answer struct {
		result Result
		err    error
	}
	answers := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if recovered := recover(); recovered != nil {
				a = answer{err: &Stopped{Reason: ResultUnreadable, Err: fmt.Errorf("the executor panicked: %v", recovered)}}
			}
			answers <- a
		}()
		a.result, a.err = executor.Execute(ctx, run.ID, run.Parameters)
	}()
	select {
	case a := <-answers:
		return a.result, a.err
	case <-ctx.Done():
		return Result{}, ctx.Err()
	}
}

// verdict is what is known of how a run ended.
type verdict struct {
	reason Reason
	result Result
	data   []byte // canonical JSON of the result
}

// verdictOf reads an executor's answer. What it does not prove counts as unknown.
func verdictOf(result Result, err error) verdict {
	var stopped *Stopped
	switch {
	case errors.As(err, &stopped):
		return verdict{reason: stoppedFor(stopped.Reason)}
	case errors.Is(err, context.DeadlineExceeded):
		return verdict{reason: TimedOut}
	case err != nil:
		return verdict{reason: SaveNotConfirmed}
	}
	data, err := node.Canonical(result.Data)
	if err != nil {
		return verdict{reason: ResultUnreadable}
	}
	reason := SavedAndChecked
	if !result.Checked && !result.Simulated {
		reason = NotChecked
	}
	return verdict{reason: reason, result: result, data: data}
}

// stoppedFor keeps an executor from claiming what only the service can know:
// that it is done, or still running.
func stoppedFor(reason Reason) Reason {
	meaning, known := meanings[reason]
	if !known || (meaning.Event != EvFail && meaning.Event != EvLose) {
		return ResultUnreadable
	}
	return reason
}
