// Package approvals holds the decisions that the node asks its owner for: held
// messages, requests to connect, and actions. An approval is bound to its exact
// parameters by an HMAC, expires, and works once.
package approvals

import (
	"encoding/json"
	"time"
)

// Kind says what the owner decides about.
type Kind string

// The kinds.
const (
	Message    Kind = "message"    // a held chat message or task write
	Connection Kind = "connection" // our agent asks to connect
	Action     Kind = "action"     // something consequential
)

// Kinds lists every kind.
var Kinds = []Kind{Message, Connection, Action}

// Status is where an approval stands.
type Status string

// The statuses. Nothing enters Cancelled; the source defines it all the same.
const (
	Pending   Status = "pending"
	Approved  Status = "approved" // actions only: to be used once, before it expires
	Rejected  Status = "rejected"
	Expired   Status = "expired"
	Consumed  Status = "consumed"
	Cancelled Status = "cancelled"
)

// Statuses lists every status.
var Statuses = []Status{Pending, Approved, Rejected, Expired, Consumed, Cancelled}

// OnApproval says who starts the action once the owner has approved.
type OnApproval string

// The values of onApproval.
const (
	Wait OnApproval = "wait" // the agent runs it
	Run  OnApproval = "run"  // the node runs the stored request at once
)

// MaxNote is the longest note of a decision, in characters.
const MaxNote = 500

// MaxPending is how many approvals one agent may have pending.
const MaxPending = 50

// Approval is one decision that the node asks for.
type Approval struct {
	ID      string
	OwnerID string
	AgentID string
	Kind    Kind
	// Action is the capability-like name: message.send, task.create,
	// task.propose, task.respond, task.cancel, connection.request, or the
	// action's own name, reservation.book.
	Action       string
	ConnectionID string // "" for an action without a task
	Contact      string // address of the remote agent, "" for an action without a task
	TaskUID      string
	// Subject is what waits: the message id or the connection id; "" for actions.
	Subject string
	// Parameters is canonical JSON, sealed at rest, shown to the owner in full.
	Parameters json.RawMessage
	// Hash is HMAC-SHA256 over {"action", "parameters"}, 64 hexadecimal characters.
	Hash string
	// Held names the capabilities that needed the owner, with the engine's reasons.
	Held map[string]string
	// AcceptedDigest is the digest of the accepted proposal when the approval was
	// asked for; "" without a task.
	AcceptedDigest string
	OnApproval     OnApproval // actions only
	Status         Status
	Note           string // the owner's, sealed at rest
	// Override and Repeat are what the owner said with an approval of an action:
	// that our role runs it although the other one executes (D6), and that it runs
	// although it already ran (D7).
	Override bool
	Repeat   bool
	// Automatic: an allow grant stood for the owner; born consumed.
	Automatic bool
	// Salt keeps the parameters of a receipt from being guessed; 128 bits, hex.
	Salt string
	// Epoch is the restore epoch in which the approval was made. After a restore
	// every open approval of an older epoch is expired.
	Epoch     int64
	CreatedAt time.Time
	ExpiresAt time.Time // now ≥ ExpiresAt is over
	DecidedAt time.Time // zero while pending
	// MAC covers every field above but Note, and Status with it. Parameters enter
	// by Hash.
	MAC string
	// Damaged: the sealed values do not open, or Hash or MAC do not fit. Such an
	// approval is shown without buttons and opens nothing.
	Damaged bool
}

// Decision is what the owner says.
type Decision struct {
	ID string
	// Hash is the one that the owner was shown; another one is refused.
	Hash    string
	Approve bool
	Note    string
	// Override lets the role that does not execute run the action all the same (D6).
	Override bool
	// Word is typed by the owner to approve an action that already ran (D7): Again.
	Word string
}

// Again is the word with which an owner lets an action run a second time.
const Again = "again"

// The outcomes of a decision.
const (
	OutcomeQueued    = "queued"    // the held message is on its way
	OutcomeRequested = "requested" // the connection request is on its way
	OutcomeApproved  = "approved"  // the agent may run the action now
	OutcomeRunning   = "running"   // the node runs the action
	OutcomeRejected  = "rejected"  // the owner said no
	OutcomeFailed    = "failed"    // approved, and then a check failed
)

// Effect is what came of a decision.
type Effect struct {
	Approval Approval
	Outcome  string
	// Code says why Outcome is "failed": stale_version, policy_denied, …
	Code string
	// RunID is set when the decision started a run.
	RunID string
}
