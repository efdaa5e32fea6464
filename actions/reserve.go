package actions

import (
	"context"
	"encoding/json"

	"agentlink/approvals"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/policy"
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
	case len(different) > 0:
		reason = parametersDiffer
	default:
		return nil, nil
	}
	_, err = s.Audit.Append(tx, audit.Event{
		Type: audit.ActionHeld, Actor: actor, AgentID: actor.AgentID, ConnectionID: o.task.ConnectionID,
		TaskUID: o.taskUID, Subject: decision.ID, Data: map[string]any{"action": o.action(), "reason": reason},
	})
	return needsApproval(o.action(), reason), err
}

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
	_, err := s.Audit.Append(tx, s.event(audit.ActionReserved, actor, run))
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
	_, err := s.Audit.Append(tx, s.event(audit.ActionFailed, actor, run))
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
