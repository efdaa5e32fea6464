package actions

import (
	"context"
	"encoding/json"

	"agentlink/approvals"
	"agentlink/node"
)

// Start is a request to run an action: with action and parameters, and the
// approval's id where there is one; or with the id alone, and the node takes the
// stored parameters.
type Start struct {
	Action     string
	Parameters json.RawMessage
	ApprovalID string
	// Key is the caller's Idempotency-Key, "" for none: the same key and request
	// give the same run.
	Key string
}

// Run reserves, executes and finishes: three transactions of its own. A refusal
// before anything ran is an error; whatever came of the run itself is not. The
// caller's leaving does not end a run that is reserved. Codes: bad_request,
// not_found, policy_denied (details.approvalRequired), conflict.
func (s *Service) Run(ctx context.Context, actor node.Actor, start Start) (Run, error) {
	run, fresh, err := s.reserve(ctx, actor, start)
	if err != nil || !fresh {
		return run, err
	}
	return s.drive(context.WithoutCancel(ctx), actor, run), nil
}

// reserve is the first transaction. fresh is false where the run is one that
// the key stood for already, or that ended before it began.
func (s *Service) reserve(ctx context.Context, actor node.Actor, start Start) (run Run, fresh bool, err error) {
	var refusal *node.Error
	err = s.DB.InTx(ctx, func(tx node.Tx) error {
		var found bool
		if run, found, err = s.replay(tx, actor, start); err != nil || found {
			return err
		}
		run, refusal, err = s.reserveIn(tx, actor, start)
		fresh = err == nil && refusal == nil && run.State == Reserved
		return err
	})
	if err == nil && refusal != nil {
		return Run{}, false, refusal
	}
	if err != nil {
		return s.lostRace(ctx, actor, start, err)
	}
	return run, fresh, nil
}

func (s *Service) reserveIn(tx node.Tx, actor node.Actor, start Start) (Run, *node.Error, error) {
	o, err := s.readStart(tx, actor, start)
	if err != nil {
		return Run{}, nil, err
	}
	if err := s.lockTask(tx, actor.AgentID, &o); err != nil {
		return Run{}, nil, err
	}
	if err := s.gate(tx, o.task); err != nil {
		return Run{}, nil, err
	}
	run := s.newRun(tx, actor, o, start.Key)
	if start.ApprovalID == "" {
		return s.reserveAutomatic(tx, actor, o, run)
	}
	return s.reserveApproved(tx, actor, o, run, start.ApprovalID)
}

// readStart checks the request, or takes the stored one of an approval.
func (s *Service) readStart(tx node.Tx, actor node.Actor, start Start) (order, error) {
	if start.ApprovalID == "" {
		return s.read(start.Action, start.Parameters)
	}
	approval, err := s.Approvals.Approval(tx, actor.AgentID, start.ApprovalID)
	if err != nil {
		return order{}, err
	}
	if approval.Kind != approvals.Action {
		return order{}, node.Errorf(node.NotFound, "There is no such approval of an action.")
	}
	if !start.byApprovalAlone() {
		return s.read(start.Action, start.Parameters)
	}
	if approval.Damaged {
		return order{}, node.ConflictFor(node.ReasonBadState, "This approval was changed outside the node and opens nothing. Ask for it again.")
	}
	return s.read(approval.Action, approval.Parameters)
}

func (s *Service) newRun(tx node.Tx, actor node.Actor, o order, key string) Run {
	return Run{
		ID: s.IDs.New(), OwnerID: actor.OwnerID, AgentID: actor.AgentID, Action: o.action(),
		Parameters: o.parameters, TaskUID: o.taskUID, Key: key, State: Reserved, Reason: InRun,
		ReservedAt: tx.Now(), LeaseToken: s.IDs.New(), LeaseUntil: s.lease(tx.Now()),
	}
}
