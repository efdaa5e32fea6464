package approvals

import (
	"unicode/utf8"

	"agentlink/node"
	"agentlink/node/audit"
)

// Decide is the owner's word. Codes: not_found, conflict (hash_mismatch,
// approval_expired, bad_state), bad_request, and whatever the resolver of the
// kind still needs (bad_request).
func (s *Service) Decide(tx node.Tx, actor node.Actor, decision Decision) (Effect, error) {
	if err := checkDecision(actor, decision); err != nil {
		return Effect{}, err
	}
	a, resolver, err := s.lock(tx, decision.ID)
	if err != nil {
		return Effect{}, err
	}
	if a.OwnerID != actor.OwnerID {
		return Effect{}, notFound()
	}
	if err := s.decidable(tx, a, decision); err != nil {
		return Effect{}, err
	}
	if decision.Approve {
		return s.approve(tx, actor, a, resolver, decision)
	}
	return s.reject(tx, actor, a, resolver, decision)
}

func checkDecision(actor node.Actor, decision Decision) error {
	if actor.Kind != node.ActorOwner {
		return node.Errorf(node.Unauthorized, "Only the owner decides.")
	}
	if utf8.RuneCountInString(decision.Note) > MaxNote {
		return node.BadFields(node.Field{Field: "note", Problem: "is longer than 500 characters"})
	}
	return nil
}

// decidable checks what the owner was shown against what is stored. The hash is
// compared here and not recomputed; a message or connection, which the decision
// uses up, is recomputed in approve.
func (s *Service) decidable(tx node.Tx, a Approval, decision Decision) error {
	switch {
	case !s.intact(a):
		return damaged()
	case a.Status == Expired || s.lapsed(tx.Now(), a):
		return node.ConflictFor(node.ReasonApprovalExpired, "This approval has expired. Nothing was done.")
	case a.Status != Pending:
		return node.ConflictFor(node.ReasonBadState, "This approval is already %s.", a.Status)
	case !same(decision.Hash, a.Hash):
		return node.ConflictFor(node.ReasonHashMismatch, "This is not the approval that was shown. Look at it again and decide anew.")
	}
	return nil
}

func damaged() *node.Error {
	return node.ConflictFor(node.ReasonBadState, "This approval was changed outside the node and opens nothing. Ask for it again.")
}

func (s *Service) approve(tx node.Tx, actor node.Actor, a Approval, resolver Resolver, decision Decision) (Effect, error) {
	to, ok := Next(a.Kind, a.Status, EvApprove)
	if !ok || (to == Consumed && !s.genuine(a)) {
		return Effect{}, damaged()
	}
	if a.Kind == Action {
		a.Override, a.Repeat = decision.Override, decision.Word == Again
	}
	a, err := s.decided(tx, a, to, decision.Note)
	if err != nil {
		return Effect{}, err
	}
	effect, err := resolver.Approved(tx, actor, a, decision)
	if err != nil {
		return Effect{}, err
	}
	effect.Approval = a
	data := map[string]any{"outcome": effect.Outcome, "onApproval": a.OnApproval}
	if effect.Code != "" {
		data["code"] = effect.Code
	}
	err = s.Audit.Append(tx, event(audit.ApprovalApproved, actor, a, data))
	return effect, err
}

func (s *Service) reject(tx node.Tx, actor node.Actor, a Approval, resolver Resolver, decision Decision) (Effect, error) {
	to, ok := Next(a.Kind, a.Status, EvReject)
	if !ok {
		return Effect{}, damaged()
	}
	a, err := s.decided(tx, a, to, decision.Note)
	if err != nil {
		return Effect{}, err
	}
	if err := resolver.Rejected(tx, actor, a); err != nil {
		return Effect{}, err
	}
	err = s.Audit.Append(tx, event(audit.ApprovalRejected, actor, a, nil))
	return Effect{Approval: a, Outcome: OutcomeRejected}, err
}

func (s *Service) decided(tx node.Tx, a Approval, to Status, note string) (Approval, error) {
	from := a.Status
	a.Status, a.Note, a.DecidedAt = to, note, tx.Now()
	a.MAC = s.rowMAC(a)
	return a, s.Store.SaveApproval(tx, a, from)
}
