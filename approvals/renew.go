package approvals

import "agentlink/node"

const renewedAtOnce = 100

// Renew gives every row that has a MAC under the key former one under the key of
// today: the master key was replaced. A row that was changed by others has none, gets
// none, and so stays damaged.
func (s *Service) Renew(tx node.Tx, former []byte) error {
	was := &Service{Config: Config{MACKey: former}}
	filter := Filter{Limit: renewedAtOnce}
	for {
		list, err := s.Store.Approvals(tx, filter, s.Epoch)
		if err != nil {
			return err
		}
		for _, a := range list {
			filter.BeforeAt, filter.BeforeID = a.CreatedAt, a.ID
			if !was.intact(a) {
				continue
			}
			a.MAC = s.rowMAC(a)
			if err := s.Store.RenewMAC(tx, a); err != nil {
				return err
			}
		}
		if len(list) < renewedAtOnce {
			return nil
		}
	}
}
