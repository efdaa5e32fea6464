package coordination

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"agentlink/approvals"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/outbox"
	"agentlink/policy"
)

var errNotYet = errors.New("coordination: being written")

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
}

// Self is what this node tells peers of itself.
type Self struct {
	Host        string // host[:port] of our agents' addresses
	Fingerprint string
	Recipient   string
	Inbox       string
}

// Agents finds our agents; policy.Service implements it.
type Agents interface {
	Agent(tx node.Tx, id string) (policy.Agent, error)
	AgentByHandle(tx node.Tx, handle string) (policy.Agent, error)
}

// Store keeps connections, messages and tasks.
type Store interface{}

// Service is the one place where coordination changes.
type Service struct{ Config }

// New makes the service and registers it as the resolver of held messages and
// connection requests.
func New(config Config) *Service { return &Service{config} }

// Result is what came of something an agent or the owner wanted to send. A
// refusal is a value: its decision has to be committed.
type Result struct {
	// Status is "queued", "pending_approval", "pending_owner" or "refused".
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

// ConnectRequest asks to connect: with an address, or with an invitation link.
type ConnectRequest struct {
	Address    string
	Invitation string
	Note       string
}

// Prepared is a ConnectRequest whose node was looked up.
type Prepared struct {
	Contact node.Address
	Peer    Peer
	Note    string
	Secret  string      // the invitation's
	Refusal *node.Error // the policy said no before any look-up
}

// Directory fetches and verifies a node's card: its signature by its own key,
// and where fingerprint is not "" that it is that key. delivery implements it.
type Directory interface {
	Lookup(ctx context.Context, host, fingerprint string) (Peer, error)
}

// PrepareConnect asks the policy, then fetches the peer's card, outside any
// transaction of the caller's. Codes: bad_request, rate_limited (20 new hosts a
// day), unavailable (the node does not answer).
func (s *Service) PrepareConnect(ctx context.Context, directory Directory, actor node.Actor, request ConnectRequest) (Prepared, error) {
	return Prepared{}, errNotYet
}

// Connect asks to connect with a prepared contact. Codes: conflict where a
// connection is there already.
func (s *Service) Connect(tx node.Tx, actor node.Actor, prepared Prepared) (Result, error) {
	return Result{}, errNotYet
}

// AcceptConnection is the owner's yes to an incoming request. Codes: not_found, conflict.
func (s *Service) AcceptConnection(tx node.Tx, actor node.Actor, id string) (Connection, error) {
	return Connection{}, errNotYet
}

// RejectConnection is the owner's no to an incoming request.
func (s *Service) RejectConnection(tx node.Tx, actor node.Actor, id string) (Connection, error) {
	return Connection{}, errNotYet
}

// RevokeConnection ends a connection from any status.
func (s *Service) RevokeConnection(tx node.Tx, actor node.Actor, id string) (Connection, error) {
	return Connection{}, errNotYet
}

// SetStructuredOnly switches whether free text to this contact is always held.
func (s *Service) SetStructuredOnly(tx node.Tx, actor node.Actor, id string, on bool) (Connection, error) {
	return Connection{}, errNotYet
}

// Invite makes an invitation for one agent: a link with address, fingerprint
// and a secret in its fragment, good for 7 days and one use. The link is shown once.
func (s *Service) Invite(tx node.Tx, actor node.Actor, agentID string) (Invitation, string, error) {
	return Invitation{}, "", errNotYet
}

// Page asks for a part of a list, newest first.
type Page struct {
	Limit int // 1 to 100
	// Before gives entries older than the one with this id and time; zero values start at the newest.
	BeforeAt time.Time
	BeforeID string
}

// Connection finds one of the agent's connections; agentID "" means any agent
// (the owner asks). Code: not_found.
func (s *Service) Connection(tx node.Tx, agentID, id string) (Connection, error) {
	return Connection{}, errNotYet
}

// Connections lists them.
func (s *Service) Connections(tx node.Tx, agentID string, page Page) ([]Connection, error) {
	return nil, errNotYet
}

// SendMessage sends a chat message. Code: bad_request, not_found.
func (s *Service) SendMessage(tx node.Tx, actor node.Actor, connectionID, text string) (Result, error) {
	return Result{}, errNotYet
}

// Messages lists chat messages; connectionID "" means all contacts.
func (s *Service) Messages(tx node.Tx, agentID, connectionID string, page Page) ([]Message, error) {
	return nil, errNotYet
}

// Message finds one message of any type. Code: not_found.
func (s *Service) Message(tx node.Tx, agentID, id string) (Message, error) {
	return Message{}, errNotYet
}

// StartTask is what a task begins with.
type StartTask struct {
	ConnectionID   string
	Type           string
	Title          string
	Proposal       json.RawMessage // fields of version 1; nil for none
	ExpiresInHours int             // 1 to 720; 0 means 72
}

// StartTask starts a task. Codes: bad_request, not_found.
func (s *Service) StartTask(tx node.Tx, actor node.Actor, start StartTask) (Result, error) {
	return Result{}, errNotYet
}

// Propose sends the next version. basedOn, where not 0, has to be the latest
// version. Codes: bad_request, not_found, conflict.
func (s *Service) Propose(tx node.Tx, actor node.Actor, uid string, fields json.RawMessage, basedOn int) (Result, error) {
	return Result{}, errNotYet
}

// Answer is a response to a proposal.
type Answer struct {
	Version  int
	Digest   string // "" or the digest of what is answered
	Decision string // wire.Accept or wire.Reject
	Reason   string
}

// Respond accepts or rejects the latest pending proposal.
func (s *Service) Respond(tx node.Tx, actor node.Actor, uid string, answer Answer) (Result, error) {
	return Result{}, errNotYet
}

// CancelTask ends an unfinished task.
func (s *Service) CancelTask(tx node.Tx, actor node.Actor, uid, reason string) (Result, error) {
	return Result{}, errNotYet
}

// Task finds one of the agent's tasks; a held create is not_found for the agent.
func (s *Service) Task(tx node.Tx, agentID, uid string) (Task, error) { return Task{}, errNotYet }

// TaskFilter narrows a list of tasks. Zero values mean all.
type TaskFilter struct {
	ConnectionID string
	Status       Status
}

// Tasks lists tasks.
func (s *Service) Tasks(tx node.Tx, agentID string, filter TaskFilter, page Page) ([]Task, error) {
	return nil, errNotYet
}

// Run is what the node did for a task.
type Run struct {
	ID         string
	Action     string
	Code       string
	ReservedAt time.Time
	Simulated  bool
	Receipt    string
	Salt       string
}

// AwaitApproval moves an agreed task to awaiting_approval; one that is there stays.
func (s *Service) AwaitApproval(tx node.Tx, actor node.Actor, task Task) (Task, error) {
	return Task{}, errNotYet
}

// AcceptanceSettled says whether a run may start: the acceptance that made the
// task agreed is the peer's, or ours and answered "applied".
func (s *Service) AcceptanceSettled(tx node.Tx, task Task) (bool, error) { return false, errNotYet }

// BeginRun marks that a run is under way, so that nobody cancels beneath it.
// Code: conflict when another run is.
func (s *Service) BeginRun(tx node.Tx, task Task, runID string) (Task, error) {
	return Task{}, errNotYet
}

// EndRun ends it. Where it succeeded (run is not nil) the node confirms: copy
// confirmed and envelope queued, or the confirmation stays owed. sent tells
// which; the failure is in the audit log as task.confirm_failed.
func (s *Service) EndRun(tx node.Tx, actor node.Actor, agentID, uid, runID string, run *Run) (sent bool, err error) {
	return false, errNotYet
}

// Dispatch is what to do with an outbox item of kind envelope.
type Dispatch struct {
	Do Do
	// Next is when to look again, for Wait.
	Next time.Time
	// For Send: the claims without Body, the sealed part, and where it goes.
	// Envelope, where not nil, are the bytes of an earlier attempt, to be sent again.
	Claims    wire.Envelope
	Inner     wire.Inner
	Peer      Peer
	Envelope  []byte
	AgentID   string
	MessageID string
}

// Do says what a worker does next.
type Do string

// What a worker does next.
const (
	Send Do = "send"
	Wait Do = "wait" // not now: the connection's acceptance is not acknowledged yet, or the agent is disabled
	Drop Do = "drop" // settled: withdrawn, expired or no longer needed
)

// Dispatch prepares one attempt, in the transaction that claimed the item: it
// checks connection, agent and denies again, gives the number, and marks the
// message as attempted.
func (s *Service) Dispatch(tx node.Tx, item outbox.Item) (Dispatch, error) {
	return Dispatch{}, errNotYet
}

// KeepEnvelope stores the bytes of the first attempt before any of them leaves.
func (s *Service) KeepEnvelope(tx node.Tx, agentID, messageID string, envelope []byte, sha256 string) error {
	return errNotYet
}

// NotSent takes an attempt back that provably wrote no byte of the request.
func (s *Service) NotSent(tx node.Tx, agentID, messageID string) error { return errNotYet }

// Acknowledged applies the peer's signed answer to one of our messages. done is
// false when the message has to be sent again (a gap, or unavailable).
func (s *Service) Acknowledged(tx node.Tx, agentID string, ack wire.Ack) (done bool, err error) {
	return false, errNotYet
}

// KeyOf gives the key that a received envelope has to be signed with: the one
// pinned for the connection between its aud and iss. ok is false where there is
// no connection: then only a connection.request is worth looking at.
func (s *Service) KeyOf(tx node.Tx, envelope wire.Envelope) (connection Connection, ok bool, err error) {
	return Connection{}, false, errNotYet
}

// Incoming is a verified envelope with its opened, matching body.
type Incoming struct {
	Envelope     wire.Envelope
	Inner        wire.Inner
	ConnectionID string
	Sha256       string
	Peer         Peer // for a connection.request of a stranger: its verified card
}

// Answered gives the answer stored for an envelope that came before.
func (s *Service) Answered(tx node.Tx, envelope wire.Envelope) (ack []byte, ok bool, err error) {
	return nil, false, errNotYet
}

// Receive applies or rejects one message. A rejection is a value. keep is
// called with the acknowledgement in the same transaction and gives the signed
// bytes that are stored with the dedupe row.
func (s *Service) Receive(tx node.Tx, in Incoming, sign func(wire.Ack) ([]byte, error)) (signed []byte, err error) {
	return nil, errNotYet
}

// ExpireStep marks overdue tasks and messages, a bounded number a call.
func (s *Service) ExpireStep(ctx context.Context) (more bool, err error) { return false, errNotYet }
