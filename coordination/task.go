package coordination

import (
	"encoding/json"
	"time"
)

// Status is where one copy of a task stands.
type Status string

// The statuses of a task.
const (
	Open             Status = "open"        // started, no proposal yet
	Negotiating      Status = "negotiating" // the latest proposal is not accepted by both
	Agreed           Status = "agreed"
	AwaitingApproval Status = "awaiting_approval" // on our node only
	Confirmed        Status = "confirmed"
	CancelledTask    Status = "cancelled"
	ExpiredTask      Status = "expired"
)

// TaskStatuses lists every status of a task.
var TaskStatuses = []Status{Open, Negotiating, Agreed, AwaitingApproval, Confirmed, CancelledTask, ExpiredTask}

// Ended says whether the status is terminal.
func (s Status) Ended() bool { return s == Confirmed || s == CancelledTask || s == ExpiredTask }

// Role is the part that a side plays in a task.
type Role string

// The roles.
const (
	Initiator Role = "initiator"
	Responder Role = "responder"
)

// Other is the role of the other side.
func (r Role) Other() Role {
	if r == Initiator {
		return Responder
	}
	return Initiator
}

// ProposalStatus is where a proposal stands.
type ProposalStatus string

// The statuses of a proposal. A void proposal is not part of the copy any more.
const (
	ProposalPending    ProposalStatus = "pending"
	ProposalAccepted   ProposalStatus = "accepted"
	ProposalRejected   ProposalStatus = "rejected"
	ProposalSuperseded ProposalStatus = "superseded"
	ProposalVoid       ProposalStatus = "void"
)

// Proposal is a numbered version of the terms.
type Proposal struct {
	Version   int             `json:"version"`
	Author    Role            `json:"author"`
	Fields    json.RawMessage `json:"fields"` // canonical JSON
	Digest    string          `json:"digest"` // SHA-256 over {"author","fields","task","version"}, hex
	Status    ProposalStatus  `json:"status"`
	MessageID string          `json:"messageId"`
	At        time.Time       `json:"at"`
	// Reason is the text that came with a rejection; the peer's text is untrusted.
	Reason string `json:"reason,omitempty"`
	// RejectedBy is set on a rejected proposal.
	RejectedBy Role `json:"rejectedBy,omitempty"`
}

// Copy is what the fold of a task's messages gives: this side's view of it.
// It is sealed at rest.
type Copy struct {
	Title     string     `json:"title"`
	Status    Status     `json:"status"` // never AwaitingApproval, which is local
	Proposals []Proposal `json:"proposals"`
	// Accepted is the version that both accepted, 0 while there is none, and
	// AcceptedBy the message that made it so.
	Accepted   int    `json:"accepted,omitempty"`
	AcceptedBy string `json:"acceptedBy,omitempty"`
	// Ended tells who ended it and how.
	EndedBy      Role   `json:"endedBy,omitempty"`
	CancelReason string `json:"cancelReason,omitempty"`
	// Expired: the deadline passed here; it stays so when a message falls void.
	Expired bool `json:"expired,omitempty"`
	// Confirmation is the confirm that was applied, ours or the peer's.
	Confirmation *Confirmation `json:"confirmation,omitempty"`
	// Crossed is the confirm of the other side that met a cancelled copy (D4), or
	// a second one (D6).
	Crossed *Confirmation `json:"crossed,omitempty"`
}

// Confirmation is what a confirm says.
type Confirmation struct {
	By         Role      `json:"by"`
	Action     string    `json:"action"`
	Code       string    `json:"code,omitempty"` // the executor's confirmation code
	ExecutedAt time.Time `json:"executedAt"`
	Simulated  bool      `json:"simulated,omitempty"`
	Receipt    string    `json:"receipt,omitempty"`
	Salt       string    `json:"salt,omitempty"`
	MessageID  string    `json:"messageId"`
}

// Disagreement is a difference between the two copies that both sides know of.
type Disagreement string

// The disagreements.
const (
	NoDisagreement   Disagreement = ""
	ConfirmedVsEnded Disagreement = "confirmed_vs_cancelled" // D4
	DoubleRun        Disagreement = "double_run"             // D6
)

// Task is our node's copy of a task.
type Task struct {
	UID          string // made by the initiator; copies are keyed (AgentID, UID)
	OwnerID      string
	AgentID      string
	ConnectionID string
	Contact      string
	Role         Role
	Type         string // name of the task type: dinner.coordination
	// Status is Copy.Status, or AwaitingApproval on an agreed copy.
	Status Status
	// Held: the create waits for the owner; the task answers 404 until it is released.
	Held     bool
	Deadline time.Time
	Copy     Copy
	// OutSeq is our last number, InSeq the peer's last that was processed.
	OutSeq int64
	InSeq  int64
	// Positions is the position of the last message in the copy.
	Positions int64
	// Disagreement, OutOfStep and InDoubt are shown on both sides.
	Disagreement Disagreement
	OutOfStep    bool
	InDoubt      bool
	// RunID is the run under way; "" when there is none.
	RunID string
	// ExecutedAt is when our own run was reserved, zero while none has succeeded,
	// and Executed what came of it, sealed at rest; ConfirmOwed says that the peer
	// has not been told yet.
	ExecutedAt  time.Time
	Executed    *Confirmation
	ConfirmOwed bool
	Rev         int64
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// Latest is the latest proposal that is not void, or nil.
func (c *Copy) Latest() *Proposal {
	for i := len(c.Proposals) - 1; i >= 0; i-- {
		if c.Proposals[i].Status != ProposalVoid {
			return &c.Proposals[i]
		}
	}
	return nil
}

// Version finds a proposal that is not void, or nil.
func (c *Copy) Version(version int) *Proposal {
	for i := len(c.Proposals) - 1; i >= 0; i-- {
		if c.Proposals[i].Version == version && c.Proposals[i].Status != ProposalVoid {
			return &c.Proposals[i]
		}
	}
	return nil
}

// AcceptedProposal is the proposal that both sides accepted, or nil.
func (c *Copy) AcceptedProposal() *Proposal {
	if c.Accepted == 0 {
		return nil
	}
	return c.Version(c.Accepted)
}
