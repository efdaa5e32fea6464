// Package wire holds what two nodes say to each other: the claims of an
// envelope, its sealed content, and the acknowledgement.
package wire

import (
	"encoding/json"
	"slices"
	"time"
)

// Version is the protocol version that this node speaks.
const Version = 1

// Type is the kind of message in an envelope.
type Type string

// The types.
const (
	Message Type = "message"

	ConnectionRequest Type = "connection.request"
	ConnectionAccept  Type = "connection.accept"
	ConnectionReject  Type = "connection.reject"
	ConnectionRevoke  Type = "connection.revoke"

	TaskCreate  Type = "task.create"
	TaskPropose Type = "task.propose"
	TaskRespond Type = "task.respond"
	TaskCancel  Type = "task.cancel"
	TaskConfirm Type = "task.confirm"
	TaskVoid    Type = "task.void"

	KeyRotate Type = "key.rotate" // the sender's node has a new key; signed with the old one
	KeyAnswer Type = "key.answer" // what the owner over there has decided about it
)

// Types lists every type that this node understands.
var Types = []Type{
	Message, ConnectionRequest, ConnectionAccept, ConnectionReject, ConnectionRevoke,
	TaskCreate, TaskPropose, TaskRespond, TaskCancel, TaskConfirm, TaskVoid,
	KeyRotate, KeyAnswer,
}

// ForKey says whether the type is about the key of a node. As notices of rejection
// and revocation, these leave whatever the state of agent and grants.
func (t Type) ForKey() bool { return t == KeyRotate || t == KeyAnswer }

// ForTask says whether a message of this type belongs to a task and is numbered.
func (t Type) ForTask() bool {
	switch t {
	case TaskCreate, TaskPropose, TaskRespond, TaskCancel, TaskConfirm, TaskVoid:
		return true
	}
	return false
}

// Notice says whether the type is about the connection itself. Notices of
// rejection and revocation leave whatever the state of agent and grants.
func (t Type) Notice() bool {
	switch t {
	case ConnectionRequest, ConnectionAccept, ConnectionReject, ConnectionRevoke:
		return true
	}
	return false
}

// Envelope is the claims of a compact JWS of kind token.Envelope. Times are
// seconds since 1970.
type Envelope struct {
	V    int    `json:"v"`
	Iss  string `json:"iss"` // sender's agent address
	Aud  string `json:"aud"` // recipient's agent address
	JTI  string `json:"jti"` // message id, UUIDv7
	Iat  int64  `json:"iat"`
	Exp  int64  `json:"exp"`
	Type Type   `json:"type"`
	Task string `json:"task,omitempty"` // uid
	// Seq is the sender's number for this task, from 1 without gaps.
	Seq int64 `json:"seq,omitempty"`
	// Ack is the highest number of the recipient's that was processed when this
	// message entered its author's copy.
	Ack int64 `json:"ack,omitempty"`
	// Body is the age ciphertext of an Inner for the recipient's node, base64url.
	Body string `json:"body"`
}

// Inner is the sealed part. It repeats the claims around it: age authenticates
// no sender, so a stranger could otherwise sign somebody's ciphertext as theirs.
type Inner struct {
	Iss     string          `json:"iss"`
	Aud     string          `json:"aud"`
	JTI     string          `json:"jti"`
	Type    Type            `json:"type"`
	Task    string          `json:"task,omitempty"`
	Seq     int64           `json:"seq,omitempty"`
	Author  string          `json:"author"` // "agent" or "owner"
	Content json.RawMessage `json:"content"`
}

// Matches says whether the sealed part and its envelope belong together.
func (i Inner) Matches(e Envelope) bool {
	return i.Iss == e.Iss && i.Aud == e.Aud && i.JTI == e.JTI && i.Type == e.Type && i.Task == e.Task && i.Seq == e.Seq
}

// The statuses of an acknowledgement.
const (
	Applied  = "applied"
	Rejected = "rejected"
)

// Ack is the claims of the signed answer to an envelope, kind token.Ack.
type Ack struct {
	Iss    string `json:"iss"` // who acknowledges: the envelope's aud
	Aud    string `json:"aud"`
	Ref    string `json:"ref"`    // jti of the envelope
	SHA256 string `json:"sha256"` // of the envelope's bytes, hex
	Seq    int64  `json:"seq,omitempty"`
	Status string `json:"status"`
	Code   string `json:"code,omitempty"` // why it was rejected
	// Ack is the highest number of the sender's that was processed in this task.
	Ack int64 `json:"ack,omitempty"`
	// Head is where the log of who acknowledges ended, for the sender to keep. Only
	// an active contact gets it, and only who asks with HeadHeader.
	Head *Head `json:"head,omitempty"`
	// Key is, with CodeKeyRetired, the fingerprint of the sender's key that is accepted here.
	Key string `json:"key,omitempty"`
	Iat int64  `json:"iat"`
	// SignAs is the key of its author's that the sender knows, for whoever signs it.
	SignAs string `json:"-"`
}

// The codes of a rejection. stale_version and the like are those of node.Reason.
const (
	CodeVersionConflict   = "version_conflict"  // D1: crossed, superseded
	CodeStaleAcceptance   = "stale_acceptance"  // D2
	CodeStaleVersion      = "stale_version"     // not the next number
	CodeNotLatest         = "not_latest"        // another proposal is the latest
	CodeAlreadyResponded  = "already_responded" // a recorded response cannot be changed
	CodeDigestMismatch    = "digest_mismatch"   // D3
	CodeBadState          = "bad_state"         // the copy's status does not allow it
	CodeTaskEnded         = "task_ended"
	CodeAlreadyConfirmed  = "already_confirmed" // D4: a cancel met a confirmed copy
	CodeCancelled         = "cancelled"         // D4: a confirm met a cancelled copy
	CodeDoubleRun         = "double_run"        // D6: a second confirm
	CodeUIDTaken          = "uid_taken"
	CodeUnknownTask       = "unknown_task"
	CodeUnknownType       = "unknown_type"
	CodeBadContent        = "bad_content"
	CodeBadDeadline       = "bad_deadline"      // D12
	CodeGap               = "gap"               // a number is missing; uses up none
	CodeSeqReused         = "seq_reused"        // a number came twice with different messages
	CodeAlreadyProcessed  = "already_processed" // the answer to a task.void that came too late
	CodeVoided            = "voided"            // the message behind this number was withdrawn
	CodeForged            = "forged"            // the sealed part belongs to another envelope
	CodeOtherVersion      = "other_version"     // not the version that both share
	CodeNotConnected      = "not_connected"     // no active connection between these two
	CodeConnectionUnknown = "unknown_connection"
	CodeTooLate           = "too_late" // exp has passed
	CodeUnavailable       = "unavailable"
	CodeRestored          = "restored_copy" // D13
	CodeOutOfStep         = "out_of_step"   // this copy takes nothing more
	CodeKeyRetired        = "key_retired"   // signed with an earlier key; it was not looked at, and may come again signed with Ack.Key
	CodeKeyRefused        = "key_refused"   // the owner here does not accept the new key
	CodeBadKey            = "bad_key"       // what was announced is no key that could take the place of the known one
)

// Card is what a node says of itself at /.well-known/agentlink, kind token.Card.
// It names no agents.
type Card struct {
	Versions    []int  `json:"versions"`
	Host        string `json:"host"` // host[:port] of its agents' addresses
	Fingerprint string `json:"fingerprint"`
	PublicKey   string `json:"publicKey"` // Ed25519, base64url
	Recipient   string `json:"recipient"` // age1…
	Inbox       string `json:"inbox"`     // URL for envelopes
	Iat         int64  `json:"iat"`
	Exp         int64  `json:"exp"`
}

// Limits of an envelope's life, beyond the task's deadline.
const (
	ChatLife    = 7 * 24 * time.Hour
	NoticeLife  = 30 * 24 * time.Hour
	ConfirmLife = 30 * 24 * time.Hour
	// MaxSkew is how far ahead a peer's clock may be.
	MaxSkew = 300 * time.Second
	// KeepAnswer is how long beyond exp the answer to an envelope is kept.
	KeepAnswer = time.Hour
)

// Shared is the highest protocol version among a peer's that this node speaks
// too, 0 where there is none.
func Shared(versions []int) int {
	if slices.Contains(versions, Version) {
		return Version
	}
	return 0
}

// KnownCodes holds the codes that this node understands in an answer.
var KnownCodes = map[string]bool{
	CodeVersionConflict: true, CodeStaleAcceptance: true, CodeStaleVersion: true, CodeNotLatest: true,
	CodeAlreadyResponded: true, CodeDigestMismatch: true, CodeBadState: true, CodeTaskEnded: true,
	CodeAlreadyConfirmed: true, CodeCancelled: true, CodeDoubleRun: true, CodeUIDTaken: true,
	CodeUnknownTask: true, CodeUnknownType: true, CodeBadContent: true, CodeBadDeadline: true,
	CodeGap: true, CodeSeqReused: true, CodeAlreadyProcessed: true, CodeVoided: true, CodeForged: true, CodeOtherVersion: true,
	CodeNotConnected: true, CodeConnectionUnknown: true, CodeTooLate: true, CodeUnavailable: true,
	CodeRestored: true, CodeOutOfStep: true, CodeKeyRetired: true, CodeKeyRefused: true, CodeBadKey: true,
}
