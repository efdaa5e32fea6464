package approvals

import (
	"encoding/json"

	"agentlink/node"
	"agentlink/node/audit"
)

// Use consumes an approved action for exactly these parameters. Codes:
// not_found, conflict (hash_mismatch, approval_pending, approval_rejected,
// approval_expired, approval_used, bad_state for one that was tampered with).
func (s *Service) Use(tx node.Tx, actor node.Actor, id, action string, parameters json.RawMessage) (Approval, error) {
	a, err := s.Store.LockApproval(tx, id)
	if err != nil {
		return Approval{}, err
	}
	if a.Kind != Action || a.AgentID != actor.AgentID || a.OwnerID != actor.OwnerID {
		return Approval{}, notFound()
	}
	if !s.intact(a) {
		return Approval{}, damaged()
	}
	if err := s.usable(tx, a); err != nil {
		return Approval{}, err
	}
	if err := s.matches(a, action, parameters); err != nil {
		return Approval{}, err
	}
	return s.consume(tx, actor, a)
}

// Lock keeps other writers off an approval until the transaction ends, for a
// caller that has more to do before Use. Code: not_found.
func (s *Service) Lock(tx node.Tx, id string) error {
	_, err := s.Store.LockApproval(tx, id)
	return err
}

// usable tells by its status why an approval does not open anything.
func (s *Service) usable(tx node.Tx, a Approval) error {
	switch {
	case a.Status == Expired || s.lapsed(tx.Now(), a):
		return node.ConflictFor(node.ReasonApprovalExpired, "This approval has expired. Ask for a new one.")
	case a.Status == Pending:
		return node.ConflictFor(node.ReasonApprovalPending, "The owner has not decided yet. Wait and look at the approval again.")
	case a.Status == Rejected:
		return node.ConflictFor(node.ReasonApprovalRejected, "The owner said no.")
	case a.Status == Consumed:
		return node.ConflictFor(node.ReasonApprovalUsed, "This approval was used. It works once.")
	}
	if _, ok := Next(a.Kind, a.Status, EvUse); !ok {
		return node.ConflictFor(node.ReasonBadState, "This approval is %s.", a.Status)
	}
	return nil
}

// matches recomputes the hash over what is about to run, and over what is stored.
func (s *Service) matches(a Approval, action string, parameters json.RawMessage) error {
	hash, err := s.Hash(action, parameters)
	if err != nil {
		return err
	}
	if !same(hash, a.Hash) {
		return node.ConflictFor(node.ReasonHashMismatch, "The owner approved other parameters. Run exactly those, or ask again.")
	}
	if !s.genuine(a) {
		return damaged()
	}
	return nil
}

func (s *Service) consume(tx node.Tx, actor node.Actor, a Approval) (Approval, error) {
	from := a.Status
	a.Status, _ = Next(a.Kind, a.Status, EvUse)
	a.MAC = s.rowMAC(a)
	if err := s.Store.SaveApproval(tx, a, from); err != nil {
		return Approval{}, err
	}
	err := s.Audit.Append(tx, event(audit.ApprovalConsumed, actor, a, nil))
	return a, err
}
