package approvals

import "agentlink/node"

// Approval finds one; agentID "" means any agent's (the owner asks). Code: not_found.
func (s *Service) Approval(tx node.Tx, agentID, id string) (Approval, error) {
	a, err := s.Store.Approval(tx, id)
	if err != nil {
		return Approval{}, err
	}
	if agentID != "" && a.AgentID != agentID {
		return Approval{}, notFound()
	}
	return s.shown(tx, a), nil
}

// Approvals lists them: pending ones soonest expiry first, others newest first.
func (s *Service) Approvals(tx node.Tx, filter Filter) ([]Approval, error) {
	if filter.Limit == 0 {
		filter.Limit = 50
	}
	list, err := s.Store.Approvals(tx, filter, s.Epoch)
	if err != nil {
		return nil, err
	}
	for i, a := range list {
		list[i] = s.shown(tx, a)
	}
	return list, nil
}

// Waiting counts what waits for the owner.
func (s *Service) Waiting(tx node.Tx) (int, error) {
	return s.Store.CountPending(tx, "", s.Epoch)
}

// ReadyToRun lists approved actions that the node is to run itself, by id after
// the given one.
func (s *Service) ReadyToRun(tx node.Tx, after string, limit int) ([]Approval, error) {
	return s.Store.ReadyToRun(tx, s.Epoch, after, limit)
}

// shown is an approval as it may be shown: recomputed, and expired once its
// time is over, even before ExpireStep has come by.
func (s *Service) shown(tx node.Tx, a Approval) Approval {
	a.Damaged = !s.genuine(a)
	if s.lapsed(tx.Now(), a) {
		a.Status = Expired
	}
	return a
}

func notFound() *node.Error {
	return node.Errorf(node.NotFound, "There is no such approval.")
}
