package actions

import (
	"context"
	"encoding/json"
	"errors"

	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/policy"
)

var errNotYet = errors.New("actions: being written")

// Executor carries one action out. It is called outside any transaction.
type Executor interface {
	// Name is the action's: reservation.book.
	Name() string
	// Idempotent says that Execute with the same key has its effect once, so that
	// a run which a crash cut off may be finished with the same key.
	Idempotent() bool
	Execute(ctx context.Context, key string, parameters json.RawMessage) (Result, error)
}

// Result is what an executor gives back.
type Result struct {
	Code      string // confirmation code, "" where there is none
	Simulated bool
	Data      map[string]any
}

// Tasks is what actions need of coordination; coordination.Service implements it.
type Tasks interface {
	Task(tx node.Tx, agentID, uid string) (coordination.Task, error)
	Connection(tx node.Tx, agentID, id string) (coordination.Connection, error)
	AwaitApproval(tx node.Tx, actor node.Actor, task coordination.Task) (coordination.Task, error)
	AcceptanceSettled(tx node.Tx, task coordination.Task) (bool, error)
	BeginRun(tx node.Tx, task coordination.Task, runID string) (coordination.Task, error)
	EndRun(tx node.Tx, actor node.Actor, agentID, uid, runID string, run *coordination.Run) (sent bool, err error)
}

// Config is what the service needs.
type Config struct {
	Store     Store
	DB        node.DB
	IDs       node.IDs
	Policy    policy.Decider
	Approvals *approvals.Service
	Tasks     Tasks
	Audit     *audit.Log
	Executors []Executor
	// SignReceipt signs the claims of a receipt with the node's key.
	SignReceipt func(claims any) (string, error)
}

// Store keeps runs.
type Store interface{}

// Service is the one place where runs change.
type Service struct{ Config }

// New makes the service and registers it as the resolver of action approvals.
func New(config Config) *Service { return &Service{config} }

// Ask is a request for an action's approval.
type Ask struct {
	Action     string
	Parameters json.RawMessage
	TaskUID    string
	OnApproval approvals.OnApproval
}

// RequestApproval asks the owner to approve an action. A refusal by the policy
// is a value: its decision has to be committed.
func (s *Service) RequestApproval(tx node.Tx, actor node.Actor, ask Ask) (approval approvals.Approval, refusal *node.Error, err error) {
	return approvals.Approval{}, nil, errNotYet
}

// Start is a request to run an action: with action and parameters, and the
// approval's id where there is one; or with the id alone.
type Start struct {
	Action     string
	Parameters json.RawMessage
	ApprovalID string
	// Key is the caller's Idempotency-Key, "" for none: the same key and request
	// give the same run.
	Key string
}

// Run reserves, executes and finishes: three transactions of its own. A refusal
// before anything ran is an error.
func (s *Service) Run(ctx context.Context, actor node.Actor, start Start) (Run, error) {
	return Run{}, errNotYet
}

// Find gives one of the agent's runs; agentID "" means any agent's. Code: not_found.
func (s *Service) Find(tx node.Tx, agentID, id string) (Run, error) { return Run{}, errNotYet }

// RecoverStep settles runs that a crash cut off, and runs what an owner
// approved with onApproval "run" as soon as it may start.
func (s *Service) RecoverStep(ctx context.Context) (more bool, err error) { return false, errNotYet }

// Warning is what an owner has to see before approving an action.
type Warning struct {
	// Kind is "not_executing_role" (D6) or "already_ran" (D7).
	Kind string
	Text string
}

// View is what an owner sees of an action's approval beside its parameters.
type View struct {
	Summary    string
	Warnings   []Warning
	Difference []Difference // from the accepted proposal
}

// Difference is one parameter that is not what the accepted proposal says.
type Difference struct {
	Parameter string
	Accepted  any
	Asked     any
}

// Explain prepares an action's approval for its owner.
func (s *Service) Explain(tx node.Tx, approval approvals.Approval) (View, error) {
	return View{}, errNotYet
}
