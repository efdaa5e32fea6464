package coordination

import (
	"time"

	"agentlink/approvals"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/identity"
	"agentlink/node/outbox"
	"agentlink/policy"
)

// Config is what the service needs.
type Config struct {
	Store     Store
	DB        node.DB
	Clock     node.Clock
	IDs       node.IDs
	Policy    policy.Decider
	Agents    Agents
	Approvals *approvals.Service
	Audit     *audit.Log
	Outbox    outbox.Store
	Self      Self
	// Keys are the node's own, which its owner can replace. Where nil it has one for
	// ever, that of Self.
	Keys *identity.Identity
}

// Self is what this node tells peers of itself.
type Self struct {
	Host string // host[:port] of our agents' addresses
	// Fingerprint and Recipient are those that the node started with.
	Fingerprint string
	Recipient   string
	Inbox       string
}

// Agents finds our agents and keeps their default grants; policy.Service
// implements it.
type Agents interface {
	Agent(tx node.Tx, id string) (policy.Agent, error)
	AgentByHandle(tx node.Tx, handle string) (policy.Agent, error)
	DefaultGrants(tx node.Tx, actor node.Actor, agentID, contact string) error
	BumpRules(tx node.Tx, agentID string) error
}

// Applier applies messages of a type that another package understands.
type Applier func(tx node.Tx, in Incoming) (wire.Ack, error)

// Service is the one place where coordination changes.
type Service struct {
	Config
}

// New makes the service and registers it as the resolver of held messages and
// of requests to connect.
func New(config Config) *Service {
	s := &Service{Config: config}
	config.Approvals.Handle(approvals.Message, heldMessages{s})
	config.Approvals.Handle(approvals.Connection, heldConnections{s})
	return s
}

// Result is what came of something that an agent or the owner wanted to send. A
// refusal is a value: its decision has to be committed.
type Result struct {
	// Status is one of the Status… constants.
	Status     string
	ID         string // of the message or connection
	TaskUID    string
	Version    int // of the proposal
	ApprovalID string
	Refusal    *node.Error
}

// The values of Result.Status.
const (
	StatusQueued          = "queued"
	StatusPendingApproval = "pending_approval"
	StatusPendingOwner    = "pending_owner"
	StatusRefused         = "refused"
)

// Page asks for a part of a list, newest first.
type Page struct {
	Limit int // 1 to 100
	// BeforeAt and BeforeID continue after the last entry of a page; zero values
	// start at the newest.
	BeforeAt time.Time
	BeforeID string
}

// address is the address of one of our agents.
func (s *Service) address(agent policy.Agent) string {
	return node.Address{Handle: agent.Handle, Host: s.Self.Host}.String()
}

func (s *Service) audit(tx node.Tx, event audit.Event) error {
	return s.Audit.Append(tx, event)
}

// author names who writes: "agent" or "owner".
func author(actor node.Actor) string {
	if actor.Kind == node.ActorOwner {
		return authorOwner
	}
	return authorAgent
}

const (
	authorAgent = "agent"
	authorOwner = "owner"
)

// nodeActor is the node itself acting for an agent.
func nodeActor(ownerID, agentID string) node.Actor {
	return node.Actor{Kind: node.ActorNode, OwnerID: ownerID, AgentID: agentID}
}

// peerActor is a contact acting upon an agent of ours.
func peerActor(ownerID, agentID string) node.Actor {
	return node.Actor{Kind: node.ActorPeer, OwnerID: ownerID, AgentID: agentID}
}
