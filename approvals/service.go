package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"agentlink/node"
	"agentlink/node/audit"
)

var errNotYet = errors.New("approvals: being written")

// Config is what the service needs.
type Config struct {
	Store Store
	DB    node.DB
	IDs   node.IDs
	Audit *audit.Log
	// HashKey and MACKey are subkeys of the master key.
	HashKey, MACKey []byte
	TTL             time.Duration // 24 h unless configured
	Epoch           int64         // the restore epoch, kept beside the master key
}

// Store keeps approvals.
type Store interface{}

// Resolver does what a decision means for its kind. It runs in the deciding
// transaction. An error undoes the decision, so that the owner can decide
// again (a missing word or override); what was decided and then failed a check
// is an Effect.
type Resolver interface {
	Approved(tx node.Tx, actor node.Actor, approval Approval, decision Decision) (Effect, error)
	Rejected(tx node.Tx, actor node.Actor, approval Approval) error
	Expired(tx node.Tx, approval Approval) error
}

// Service is the one place where approvals change.
type Service struct{ Config }

// New makes the service.
func New(config Config) *Service { return &Service{config} }

// Handle registers who resolves a kind. Called while wiring, never later.
func (s *Service) Handle(kind Kind, resolver Resolver) {}

// New approval. Parameters is any JSON value; it is made canonical and hashed.
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
// approval. Code: rate_limited over MaxPending.
func (s *Service) Request(tx node.Tx, actor node.Actor, request Request) (Approval, error) {
	return Approval{}, errNotYet
}

// Automatic records an approval that an allow grant stood for, as consumed.
func (s *Service) Automatic(tx node.Tx, actor node.Actor, request Request) (Approval, error) {
	return Approval{}, errNotYet
}

// Approval finds one; agentID "" means any agent's (the owner asks). Code: not_found.
func (s *Service) Approval(tx node.Tx, agentID, id string) (Approval, error) {
	return Approval{}, errNotYet
}

// Filter narrows a list of approvals. Zero values mean all.
type Filter struct {
	AgentID string
	Status  Status
	TaskUID string
	Limit   int
	// BeforeAt and BeforeID continue after the last entry of a page.
	BeforeAt time.Time
	BeforeID string
}

// Approvals lists them: pending ones soonest expiry first, others newest first.
func (s *Service) Approvals(tx node.Tx, filter Filter) ([]Approval, error) { return nil, errNotYet }

// Decide is the owner's word. Codes: not_found, conflict (hash_mismatch,
// approval_expired, bad_state), bad_request.
func (s *Service) Decide(tx node.Tx, actor node.Actor, decision Decision) (Effect, error) {
	return Effect{}, errNotYet
}

// Use consumes an approved action for exactly these parameters. Codes:
// not_found, conflict (hash_mismatch, approval_pending, approval_rejected,
// approval_expired, approval_used).
func (s *Service) Use(tx node.Tx, actor node.Actor, id, action string, parameters json.RawMessage) (Approval, error) {
	return Approval{}, errNotYet
}

// ExpireTask expires what is open for a task: all of it, or where action is not
// "" only that action's, except the approval named in but.
func (s *Service) ExpireTask(tx node.Tx, agentID, taskUID, action, but string) error {
	return errNotYet
}

// Hash is the approval hash of an action and its parameters.
func (s *Service) Hash(action string, parameters json.RawMessage) (string, error) {
	return "", errNotYet
}

// ExpireStep expires what is overdue, a bounded number a call.
func (s *Service) ExpireStep(ctx context.Context) (more bool, err error) { return false, errNotYet }
