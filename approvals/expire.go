package approvals

import (
	"context"
	"errors"

	"agentlink/node"
	"agentlink/node/audit"
)

// expireBatch is how many approvals one ExpireStep looks at.
const expireBatch = 100

// Why an approval expired, for the audit log.
const (
	becauseOverdue = "overdue" // nobody decided, or used it, in time; or the node was restored
	becauseMoved   = "moved"   // what it was for has ended, changed, or was done
	becauseRenewed = "renewed" // it was asked for again when it was no longer good
)

// ExpireStep expires what is overdue or from before a restore: at most
// expireBatch a call, each in a transaction of its own, so that one that fails
// keeps no other.
func (s *Service) ExpireStep(ctx context.Context) (more bool, err error) {
	var ids []string
	err = s.DB.View(ctx, func(tx node.Tx) error {
		ids, err = s.Store.Overdue(tx, s.Epoch, expireBatch)
		return err
	})
	if err != nil {
		return false, err
	}
	var failures []error
	for _, id := range ids {
		if err := s.expireOverdue(ctx, id); err != nil {
			failures = append(failures, err)
		}
	}
	return len(ids) == expireBatch && len(failures) < len(ids), errors.Join(failures...)
}

func (s *Service) expireOverdue(ctx context.Context, id string) error {
	return s.DB.InTx(ctx, func(tx node.Tx) error {
		_, err := s.expire(tx, id, becauseOverdue)
		return err
	})
}

// ExpireTask expires what is open for a task: all of it, or where action is not
// "" only that action's, except the approval named in but. The caller holds the
// task's lock.
func (s *Service) ExpireTask(tx node.Tx, agentID, taskUID, action, but string) error {
	ids, err := s.Store.OpenOfTask(tx, agentID, taskUID, action)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if id == but {
			continue
		}
		if _, err := s.expire(tx, id, becauseMoved); err != nil {
			return err
		}
	}
	return nil
}

// expire ends one approval if it is still open, and what waits for it. A row
// that was tampered with keeps its MAC, and so stays damaged.
func (s *Service) expire(tx node.Tx, id, because string) (Approval, error) {
	a, resolver, err := s.lock(tx, id)
	if err != nil {
		return Approval{}, err
	}
	from := a.Status
	to, ok := Next(a.Kind, from, EvExpire)
	if !ok || (because == becauseOverdue && !s.lapsed(tx.Now(), a)) {
		return a, nil
	}
	whole := s.intact(a)
	a.Status = to
	if whole {
		a.MAC = s.rowMAC(a)
	}
	if err := s.Store.ExpireApproval(tx, a, from); err != nil {
		return Approval{}, err
	}
	// A row that was tampered with may name something that is not there.
	if err := resolver.Expired(tx, a); err != nil && (whole || node.CodeOf(err) != node.NotFound) {
		return Approval{}, err
	}
	err = s.Audit.Append(tx, event(audit.ApprovalExpired, nodeActor(a), a, map[string]any{"because": because}))
	return a, err
}
