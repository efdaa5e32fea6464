// Package coordination holds what two people's agents do together: connections,
// messages and negotiated tasks, with the rules that keep both copies of a task
// true (docs/protocol.md, D1 to D13).
package coordination

import (
	"crypto/ed25519"
	"time"

	"agentlink/node"
)

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

// Ended says whether nothing comes of a connection any more.
func (s ConnectionStatus) Ended() bool { return s == ConnRejected || s == ConnRevoked }

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
	// KnownKey is the fingerprint of the key of ours that the contact goes by: what is
	// for it is signed with that one. "" is the only key that this node ever had.
	KnownKey string
	// KeyToldAt is when the contact was last told of a newer key of ours that its owner
	// has not decided about; zero where nothing is owed.
	KeyToldAt time.Time
	// KeyDeclined: the contact's owner does not accept our newer key.
	KeyDeclined bool
	// Offer is a new key that the contact's node has announced, until our owner decides.
	Offer *KeyOffer
	// RefusedKeys are the fingerprints of those that our owner has refused.
	RefusedKeys []string
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
	// Earlier are the keys that this one has replaced, the latest last. They open
	// nothing any more, and still say who signed an old receipt.
	Earlier []EarlierKey
}

// Key is the node's key with a fingerprint, if it has or had it; its present one
// otherwise.
func (p Peer) Key(fingerprint string) ed25519.PublicKey {
	for _, earlier := range p.Earlier {
		if earlier.Fingerprint == fingerprint {
			return earlier.PublicKey
		}
	}
	return p.PublicKey
}

// EarlierKey is a key that a contact's node had.
type EarlierKey struct {
	Fingerprint string
	PublicKey   []byte
	Until       time.Time // when our owner accepted the next one
}

// KeyOffer is a new key of a contact's node, announced with the one that is pinned.
type KeyOffer struct {
	Fingerprint string
	PublicKey   []byte
	Recipient   string
	// Via are the fingerprints of the keys between the pinned one and this.
	Via []string
	At  time.Time
	// Disputed is another new key that was announced with the pinned one and does not
	// follow from this. One of the two is a thief's, so that none can be accepted.
	Disputed string
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

// eachConnection visits every connection, the newest first.
func (s *Service) eachConnection(tx node.Tx, visit func(Connection) error) error {
	page := Page{Limit: connectionPage}
	for {
		connections, err := s.Store.Connections(tx, "", page)
		if err != nil {
			return err
		}
		for _, c := range connections {
			if err := visit(c); err != nil {
				return err
			}
		}
		if len(connections) < page.Limit {
			return nil
		}
		last := connections[len(connections)-1]
		page.BeforeAt, page.BeforeID = last.CreatedAt, last.ID
	}
}

// connectionPage is how many connections are read together.
const connectionPage = 100
