package approvals

import "agentlink/node"

// Withdraw expires one approval, if it is still open: what it was for has ended
// otherwise. Code: not_found.
func (s *Service) Withdraw(tx node.Tx, id string) error {
	_, err := s.expire(tx, id, becauseMoved)
	return err
}
