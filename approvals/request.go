package approvals

import (
	"encoding/json"
	"time"

	"agentlink/node"
	"agentlink/node/audit"
)

// Request is what the node asks its owner for. Parameters is any JSON value; it
// is made canonical and hashed.
type Request struct {
	AgentID, OwnerID      string
	Kind                  Kind
	Action                string
	ConnectionID, Contact string
	TaskUID               string
	Subject               string
	Parameters            json.RawMessage
	Held                  map[string]string
	AcceptedDigest        string
	OnApproval            OnApproval
	// ExpiresBy shortens the life of the approval: never beyond what it is for.
	ExpiresBy time.Time
}

// Request asks the owner. For an action the same pending request gives the same
// approval. Codes: bad_request (parameters), rate_limited over MaxPending.
func (s *Service) Request(tx node.Tx, actor node.Actor, request Request) (Approval, error) {
	a, err := s.build(tx.Now(), request)
	if err != nil {
		return Approval{}, err
	}
	if err := s.Store.LockRequests(tx, a.AgentID); err != nil {
		return Approval{}, err
	}
	if a.Kind == Action {
		before, found, err := s.samePending(tx, a)
		if err != nil || found {
			return before, err
		}
	}
	if err := s.room(tx, a.AgentID); err != nil {
		return Approval{}, err
	}
	return s.insert(tx, actor, a)
}

// build makes a pending approval, without its MAC.
func (s *Service) build(now time.Time, request Request) (Approval, error) {
	parameters, hash, err := s.bind(request.Action, request.Parameters)
	if err != nil {
		return Approval{}, err
	}
	a := Approval{
		ID: s.IDs.New(), OwnerID: request.OwnerID, AgentID: request.AgentID, Kind: request.Kind, Action: request.Action,
		ConnectionID: request.ConnectionID, Contact: request.Contact, TaskUID: request.TaskUID, Subject: request.Subject,
		Parameters: parameters, Hash: hash, Held: request.Held, AcceptedDigest: request.AcceptedDigest,
		OnApproval: request.OnApproval, Status: Pending, Salt: newSalt(), Epoch: s.Epoch,
		CreatedAt: now, ExpiresAt: now.Add(s.TTL),
	}
	if a.Held == nil {
		a.Held = map[string]string{}
	}
	if a.Kind == Action && a.OnApproval == "" {
		a.OnApproval = Wait
	}
	if by := request.ExpiresBy; !by.IsZero() && by.Before(a.ExpiresAt) {
		a.ExpiresAt = by
	}
	return a, nil
}

// samePending finds an equal request that still waits. One that does no longer,
// or was tampered with, makes room.
func (s *Service) samePending(tx node.Tx, a Approval) (before Approval, found bool, err error) {
	before, err = s.Store.SamePending(tx, a)
	switch {
	case node.CodeOf(err) == node.NotFound:
		return Approval{}, false, nil
	case err != nil:
		return Approval{}, false, err
	case !s.lapsed(tx.Now(), before) && s.genuine(before):
		return before, true, nil
	}
	_, err = s.expire(tx, before.ID, becauseRenewed)
	return Approval{}, false, err
}

func (s *Service) room(tx node.Tx, agentID string) error {
	pending, err := s.Store.CountPending(tx, agentID, s.Epoch)
	if err != nil {
		return err
	}
	if pending >= MaxPending {
		return node.Errorf(node.RateLimited, "The owner already has %d decisions of this agent to make. Wait for some of them.", pending)
	}
	return nil
}

func (s *Service) insert(tx node.Tx, actor node.Actor, a Approval) (Approval, error) {
	a.MAC = s.rowMAC(a)
	fresh, err := s.Store.InsertApproval(tx, a)
	if err != nil {
		return Approval{}, err
	}
	if !fresh {
		return s.Store.SamePending(tx, a)
	}
	err = s.Audit.Append(tx, event(audit.ApprovalRequested, actor, a, map[string]any{
		"held": a.Held, "expiresAt": a.ExpiresAt,
	}))
	return a, err
}

// Automatic records an approval that an allow grant stood for, as consumed.
func (s *Service) Automatic(tx node.Tx, actor node.Actor, request Request) (Approval, error) {
	a, err := s.build(tx.Now(), request)
	if err != nil {
		return Approval{}, err
	}
	a.Status, a.Automatic, a.DecidedAt = Consumed, true, tx.Now()
	a.MAC = s.rowMAC(a)
	fresh, err := s.Store.InsertApproval(tx, a)
	if err != nil {
		return Approval{}, err
	}
	if !fresh {
		return Approval{}, &node.Error{Code: node.Internal, Message: "The node could not record this run's approval."}
	}
	err = s.Audit.Append(tx, event(audit.ApprovalConsumed, actor, a, map[string]any{"automatic": true}))
	return a, err
}
