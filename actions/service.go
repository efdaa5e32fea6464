package actions

import (
	"log/slog"
	"time"

	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/policy"
)

// DefaultTimeout is how long an executor may take unless it is configured.
const DefaultTimeout = 20 * time.Second

// leaseMargin is how much longer than the executor's time-out a run belongs to
// the replica that drives it.
const leaseMargin = 10 * time.Second

// Tasks is what actions need of coordination; coordination.Service implements it.
type Tasks interface {
	Task(tx node.Tx, agentID, uid string) (coordination.Task, error)
	// LockTask keeps other writers off the task until the transaction ends.
	LockTask(tx node.Tx, agentID, uid string) (coordination.Task, error)
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
	// Issuer gives the fingerprint of the node's key; SignReceipt signs the claims of a
	// receipt with the key that is their issuer.
	Issuer      func() string
	SignReceipt func(claims any) (string, error)
	// Timeout bounds an executor; 0 means DefaultTimeout.
	Timeout time.Duration
	// RestoredAt is when the node was set back to a backup; zero for never. A run of a
	// task from before may have happened after that backup, so that the owner decides.
	RestoredAt time.Time
	// Wake is called when RecoverStep has something to do; nil does nothing.
	Wake func()
	// Log hears what went wrong after a run had begun, when nobody else would; nil
	// is silent.
	Log *slog.Logger
}

// Service is the one place where runs change.
type Service struct {
	Config
	executors map[string]Executor
}

// New makes the service and registers it as the resolver of action approvals.
func New(config Config) *Service {
	if config.Timeout <= 0 {
		config.Timeout = DefaultTimeout
	}
	if config.Wake == nil {
		config.Wake = func() {}
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	s := &Service{Config: config, executors: map[string]Executor{}}
	for _, executor := range config.Executors {
		s.executors[executor.Name()] = executor
	}
	config.Approvals.Handle(approvals.Action, s)
	return s
}

// Find gives one of the agent's runs; agentID "" means any agent's. Code: not_found.
func (s *Service) Find(tx node.Tx, agentID, id string) (Run, error) {
	run, err := s.Store.Run(tx, id)
	if err == nil && agentID != "" && run.AgentID != agentID {
		return Run{}, node.Errorf(node.NotFound, "There is no such run.")
	}
	return run, err
}

// OfApproval gives the run that used an approval; agentID "" means any agent's.
// Code: not_found.
func (s *Service) OfApproval(tx node.Tx, agentID, approvalID string) (Run, error) {
	run, err := s.Store.RunByApproval(tx, approvalID)
	if err == nil && agentID != "" && run.AgentID != agentID {
		return Run{}, node.Errorf(node.NotFound, "There is no such run.")
	}
	return run, err
}

// definition finds an action that this node can carry out. Code: bad_request.
func (s *Service) definition(action string) (Definition, error) {
	definition, known := DefinitionOf(action)
	if _, can := s.executors[action]; !known || !can {
		return Definition{}, node.BadFields(node.Field{Field: "action", Problem: "is not an action of this node"})
	}
	return definition, nil
}

func (s *Service) lease(now time.Time) time.Time { return now.Add(s.Timeout + leaseMargin) }

// nodeActor is the node acting for an agent.
func nodeActor(ownerID, agentID string) node.Actor {
	return node.Actor{Kind: node.ActorNode, OwnerID: ownerID, AgentID: agentID}
}
