package approvals

import (
	"time"

	"agentlink/node"
	"agentlink/node/audit"
)

// DefaultTTL is how long an approval lives unless it is configured.
const DefaultTTL = 24 * time.Hour

// Config is what the service needs.
type Config struct {
	Store Store
	DB    node.DB
	IDs   node.IDs
	Audit *audit.Log
	// HashKey and MACKey are subkeys of the master key.
	HashKey, MACKey []byte
	TTL             time.Duration // 0 means DefaultTTL
	Epoch           int64         // the restore epoch, kept beside the master key
}

// Resolver does what a decision means for its kind. It runs in the deciding
// transaction. An error undoes the decision, so that the owner can decide
// again (a missing word or override); what was decided and then failed a check
// is an Effect. The approval has its new status already.
type Resolver interface {
	Approved(tx node.Tx, actor node.Actor, approval Approval, decision Decision) (Effect, error)
	Rejected(tx node.Tx, actor node.Actor, approval Approval) error
	Expired(tx node.Tx, approval Approval) error
}

// Locker is a Resolver that wants to lock what it will change before the
// approval is locked: connection and task come first in the order of locks.
type Locker interface {
	Lock(tx node.Tx, approval Approval) error
}

// Service is the one place where approvals change.
type Service struct {
	Config
	resolvers map[Kind]Resolver
}

// New makes the service.
func New(config Config) *Service {
	if config.TTL <= 0 {
		config.TTL = DefaultTTL
	}
	return &Service{Config: config, resolvers: map[Kind]Resolver{}}
}

// Handle registers who resolves a kind. Called while wiring, never later.
func (s *Service) Handle(kind Kind, resolver Resolver) { s.resolvers[kind] = resolver }

// resolver finds who resolves a kind.
func (s *Service) resolver(kind Kind) (Resolver, error) {
	resolver, ok := s.resolvers[kind]
	if !ok {
		return nil, &node.Error{Code: node.Internal, Message: "The node cannot resolve this kind of approval."}
	}
	return resolver, nil
}

// lock finds an approval's resolver and locks first what that will change, then
// the row.
func (s *Service) lock(tx node.Tx, id string) (Approval, Resolver, error) {
	a, err := s.Store.Approval(tx, id)
	if err != nil {
		return Approval{}, nil, err
	}
	resolver, err := s.resolver(a.Kind)
	if err != nil {
		return Approval{}, nil, err
	}
	if locker, ok := resolver.(Locker); ok {
		if err := locker.Lock(tx, a); err != nil {
			return Approval{}, nil, err
		}
	}
	a, err = s.Store.LockApproval(tx, id)
	return a, resolver, err
}

// lapsed says that an open approval is past its time, or from before a restore.
func (s *Service) lapsed(now time.Time, a Approval) bool {
	return a.Status.Open() && (!now.Before(a.ExpiresAt) || a.Epoch < s.Epoch)
}

// event builds the audit event of an approval.
func event(kind audit.Type, actor node.Actor, a Approval, data map[string]any) audit.Event {
	all := map[string]any{"kind": a.Kind, "action": a.Action, "status": a.Status}
	for name, value := range data {
		all[name] = value
	}
	return audit.Event{
		Type: kind, Actor: actor, AgentID: a.AgentID, ConnectionID: a.ConnectionID,
		TaskUID: a.TaskUID, Subject: a.ID, Data: all,
	}
}

// nodeActor is the node acting for an approval's owner.
func nodeActor(a Approval) node.Actor {
	return node.Actor{Kind: node.ActorNode, OwnerID: a.OwnerID, AgentID: a.AgentID}
}
