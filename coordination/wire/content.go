package wire

import (
	"encoding/json"
	"time"

	"agentlink/node/token"
)

// The contents, by type. Each is decoded strictly (node.Decode).

// Chat is the content of a Message.
type Chat struct {
	Text string `json:"text"` // 1 to MaxText characters
}

// Request is the content of a ConnectionRequest.
type Request struct {
	Note string `json:"note,omitempty"` // ≤ MaxNote characters
	// Secret is the invitation's, where one was used.
	Secret string `json:"secret,omitempty"`
	// Recipient and Inbox are the sender's, so that it can be answered.
	Recipient string `json:"recipient"`
	Inbox     string `json:"inbox"`
}

// Notice is the content of a ConnectionAccept, ConnectionReject and
// ConnectionRevoke.
type Notice struct {
	// Request is the jti of the connection.request that is meant; "" on a
	// revocation of an active connection.
	Request string `json:"request,omitempty"`
}

// Create is the content of a TaskCreate. A task started with a proposal
// carries it as version 1.
type Create struct {
	TaskType string    `json:"taskType"`
	Title    string    `json:"title"` // 1 to MaxTitle characters
	Deadline time.Time `json:"deadline"`
	Proposal *Proposal `json:"proposal,omitempty"`
}

// Proposal is the content of a TaskPropose.
type Proposal struct {
	Version int             `json:"version"`
	Fields  json.RawMessage `json:"fields"`
	Digest  string          `json:"digest"`
}

// Response is the content of a TaskRespond.
type Response struct {
	Version  int    `json:"version"`
	Digest   string `json:"digest"`
	Decision string `json:"decision"` // Accept or Reject
	Reason   string `json:"reason,omitempty"`
}

// The decisions of a Response.
const (
	Accept = "accept"
	Reject = "reject"
)

// Cancel is the content of a TaskCancel.
type Cancel struct {
	Reason string `json:"reason,omitempty"`
}

// Confirm is the content of a TaskConfirm.
type Confirm struct {
	Version    int       `json:"version"`
	Digest     string    `json:"digest"` // of the accepted proposal
	Action     string    `json:"action"`
	Code       string    `json:"code,omitempty"`
	ExecutedAt time.Time `json:"executedAt"` // when the run was reserved
	Simulated  bool      `json:"simulated,omitempty"`
	Receipt    string    `json:"receipt,omitempty"`
	Salt       string    `json:"salt,omitempty"`
}

// Void is the content of a TaskVoid: it takes the number of a message that may
// have arrived and is never sent again.
type Void struct {
	JTI string `json:"jti"`
}

// Rotation is the content of a KeyRotate: what leads from the key that the
// recipient knows to the sender's key of today.
type Rotation struct {
	Chain []token.Statement `json:"chain"`
}

// KeyDecision is the content of a KeyAnswer.
type KeyDecision struct {
	Fingerprint string `json:"fingerprint"` // of the key that was announced
	Accepted    bool   `json:"accepted"`
}

// Limits of free text, in characters.
const (
	MaxText   = 8000
	MaxTitle  = 200
	MaxReason = 500
	MaxNote   = 500
)
