package coordination

import (
	"encoding/json"
	"time"
	"unicode/utf8"

	"agentlink/coordination/wire"
)

// MessageStatus is where a message stands.
type MessageStatus string

// The statuses of a message.
const (
	MsgPendingApproval MessageStatus = "pending_approval"
	MsgQueued          MessageStatus = "queued"
	MsgDelivered       MessageStatus = "delivered"
	MsgRejected        MessageStatus = "rejected" // by our owner, by the peer, or by us where it is the peer's
	MsgFailed          MessageStatus = "failed"
	MsgReceived        MessageStatus = "received"
)

// MessageStatuses lists every status of a message.
var MessageStatuses = []MessageStatus{MsgPendingApproval, MsgQueued, MsgDelivered, MsgRejected, MsgFailed, MsgReceived}

// Direction tells ours from theirs.
type Direction string

// The directions.
const (
	Out Direction = "out"
	In  Direction = "in"
)

// Message is one envelope's content as our agent's side knows it: a chat
// message, a task message or a notice about a connection.
type Message struct {
	ID           string // the envelope's jti
	OwnerID      string
	AgentID      string
	ConnectionID string
	TaskUID      string // "" unless it belongs to a task
	Direction    Direction
	Type         wire.Type
	Author       string // "agent" or "owner"
	Status       MessageStatus
	// Code says why it is rejected or failed: stale_version, approval_expired, …
	// On a queued message it says why it was withdrawn.
	Code string
	// Seq is this side's number for the task; 0 until the first attempt is claimed.
	Seq int64
	// Ack is the highest number of the other side that was processed when this
	// message entered its author's copy.
	Ack int64
	// Position orders the messages of our copy of the task; 0 where it never entered it.
	Position int64
	// Void: it no longer counts in the copy; VoidReason says why.
	Void       bool
	VoidReason string
	// Replaces is, on a task.void, the id of the message whose number it takes.
	Replaces string
	// Content is canonical JSON of the wire content; sealed at rest.
	Content json.RawMessage
	// Envelope is what was sent, kept byte-equal for retries; Sha256 its hash.
	Envelope   []byte
	Sha256     string
	ApprovalID string // unique where set
	// Needs are the capabilities that were checked, for the check before each
	// attempt, and DecidedRev the revision of the agent's rules they were last
	// checked at: the same revision denies nothing new.
	Needs      []string
	DecidedRev int64
	// Tries counts the attempts, without those that provably wrote no byte.
	Tries       int
	CreatedAt   time.Time
	ExpiresAt   time.Time // when it stops being worth applying
	AttemptedAt time.Time // of the first attempt; zero: no byte of it can have left
	SettledAt   time.Time // when the peer's answer came, or it failed
}

// within says whether a text has from least to most characters.
func within(text string, least, most int) bool {
	length := utf8.RuneCountInString(text)
	return length >= least && length <= most
}
