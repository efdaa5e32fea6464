// Package coordination holds what two people's agents do together: connections,
// messages and negotiated tasks, with the rules that keep both copies of a task
// true (docs/protocol.md, D1 to D13).
package coordination

import "time"

// ConnectionStatus is where a connection stands.
type ConnectionStatus string

// The statuses of a connection.
const (
	PendingOwner    ConnectionStatus = "pending_owner"    // our agent asked, our owner decides
	PendingOutgoing ConnectionStatus = "pending_outgoing" // our request is on its way or waits at the peer
	PendingIncoming ConnectionStatus = "pending_incoming" // the peer asked, our owner decides
	ConnActive      ConnectionStatus = "active"
	ConnRejected    ConnectionStatus = "rejected" // by either owner
	ConnRevoked     ConnectionStatus = "revoked"  // by either owner, or withdrawn
)

// ConnectionStatuses lists every status of a connection.
var ConnectionStatuses = []ConnectionStatus{PendingOwner, PendingOutgoing, PendingIncoming, ConnActive, ConnRejected, ConnRevoked}

// Connection is the relation between one of our agents and a contact.
type Connection struct {
	ID      string
	OwnerID string
	AgentID string
	// Contact is the address of the remote agent, handle@host[:port]. At most one
	// connection of an agent and a contact is neither rejected nor revoked.
	Contact string
	Status  ConnectionStatus
	// Peer is the contact's node as pinned for this connection.
	Peer Peer
	// Initiated says that our side asked.
	Initiated bool
	// RequestID is the jti of the connection.request that made it; the answer refers to it.
	RequestID  string
	ApprovalID string // while our owner decides about our agent's request
	Note       string // sent with the request; sealed at rest
	// Secret is that of the invitation which our request uses, until it is sent; sealed at rest.
	Secret string
	// Invited: the contact's request carried an invitation of ours, which
	// replaces the comparison of fingerprints.
	Invited bool
	// AcceptUnacked: we accepted and the peer has not acknowledged it yet, so our
	// other messages wait.
	AcceptUnacked bool
	// StructuredOnly: free text to this contact is always held.
	StructuredOnly bool
	// KeyChanged: the contact's node answered with another key. Everything to it stops.
	KeyChanged bool
	// Sent: a request or an answer of ours has left, so that an end needs a notice.
	Sent      bool
	Rev       int64
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Peer is another node as its card describes it.
type Peer struct {
	Fingerprint string // of PublicKey: SHA-256, base32 lower case
	PublicKey   []byte // Ed25519, 32 bytes
	Recipient   string // age1…
	Inbox       string // URL
	Version     int    // highest protocol version that both share
}

// Invitation lets one agent of a peer skip the comparison of fingerprints. It
// never replaces the owner's decision.
type Invitation struct {
	ID         string
	OwnerID    string
	AgentID    string
	SecretHash string // SHA-256, hex, of the 128-bit secret
	ExpiresAt  time.Time
	UsedAt     time.Time // zero: not yet
	CreatedAt  time.Time
}
