package actions

import (
	"context"

	"agentlink/node"
)

// lostRace looks whether a refused request met its own twin, which has the run.
func (s *Service) lostRace(ctx context.Context, actor node.Actor, start Start, refused error) (run Run, fresh bool, err error) {
	if start.Key == "" || node.CodeOf(refused) != node.Conflict {
		return Run{}, false, refused
	}
	err = s.DB.View(ctx, func(tx node.Tx) error {
		var found bool
		if run, found, err = s.replay(tx, actor, start); err == nil && !found {
			return refused
		}
		return err
	})
	return run, false, err
}

// replay finds the run that the caller's key stands for. Code: conflict
// (idempotency_reuse) where the request is another.
func (s *Service) replay(tx node.Tx, actor node.Actor, start Start) (run Run, found bool, err error) {
	if start.Key == "" {
		return Run{}, false, nil
	}
	run, err = s.Store.RunByKey(tx, actor.AgentID, start.Key)
	if node.CodeOf(err) == node.NotFound {
		return Run{}, false, nil
	}
	if err != nil {
		return Run{}, false, err
	}
	if !s.asks(start, run) {
		return Run{}, false, node.ConflictFor(node.ReasonIdempotencyReuse, "This Idempotency-Key was used with another request.")
	}
	return run, true, nil
}

// asks says whether a request is the one that a run came from.
func (s *Service) asks(start Start, run Run) bool {
	if run.Automatic != (start.ApprovalID == "") || (!run.Automatic && start.ApprovalID != run.ApprovalID) {
		return false
	}
	if start.byApprovalAlone() {
		return true
	}
	hash, err := s.Approvals.Hash(start.Action, start.Parameters)
	return err == nil && hash == run.ParamsHash
}

func (s Start) byApprovalAlone() bool {
	return s.ApprovalID != "" && s.Action == "" && len(s.Parameters) == 0
}
