// Package outbox keeps what waits to leave the node: envelopes today; webhooks,
// pushes and mail later. An item is queued in the transaction of the change that
// causes it, claimed under a lease by one worker of any replica, and tried again
// with a growing pause until it is settled.
package outbox

import (
	"time"

	"agentlink/node"
)

// Kind says what an item is, and so who prepares and sends it.
type Kind string

// Envelope is a message to a peer; Ref is the message id.
const Envelope Kind = "envelope"

// Item is one thing that waits.
type Item struct {
	ID      string
	OwnerID string
	AgentID string
	Kind    Kind
	// Lane orders items: of one lane only the lowest Order is in flight. Items of
	// other lanes are never held up by it.
	Lane  string
	Order int64
	Ref   string
	// NextAt is when it may be tried (again).
	NextAt   time.Time
	Attempts int
	// LeaseUntil is when another worker may take an item whose worker vanished.
	LeaseUntil time.Time
	// LeaseToken names the claim, so that a worker that overslept settles nothing.
	LeaseToken string
	CreatedAt  time.Time
}

// Limits of delivery.
const (
	Lease      = time.Minute
	FirstPause = time.Second
	MaxPause   = 15 * time.Minute
)

// Store keeps items.
type Store interface {
	InsertOutbox(tx node.Tx, item Item) error
	// DueOutbox gives the item that is to leave next: the one that has been due for
	// longest, is the head of its lane, and has nothing of its lane in flight. It
	// locks nothing; ok is false when nothing is due.
	DueOutbox(tx node.Tx) (item Item, ok bool, err error)
	// ClaimOutbox leases an item that is still to leave, and counts the attempt. ok
	// is false when another worker was faster.
	ClaimOutbox(tx node.Tx, id, token string, until time.Time) (item Item, ok bool, err error)
	// DeleteOutbox removes an item that this lease holds; false when it no longer does.
	DeleteOutbox(tx node.Tx, id, token string) (bool, error)
	// RescheduleOutbox ends the lease and sets the next try; false when the lease is gone.
	RescheduleOutbox(tx node.Tx, id, token string, next time.Time) (bool, error)
	// DropOutbox removes the item for (agent, kind, ref), leased or not.
	DropOutbox(tx node.Tx, agentID string, kind Kind, ref string) error
	// WakeOutbox makes the items of a lane due now.
	WakeOutbox(tx node.Tx, agentID, lane string) error
	// NextOutbox is when the next item is due; ok is false when there is none.
	NextOutbox(tx node.Tx) (at time.Time, ok bool, err error)
}

// Pause is how long to wait after the given number of attempts: doubling from
// FirstPause to MaxPause, with up to a quarter added so that peers are not all
// met at once. jitter is a random number in [0, 1). Added, since a message that
// meets no answer all day is to be tried a hundred times at most.
func Pause(attempts int, jitter float64) time.Duration {
	pause := MaxPause
	if attempts < 11 {
		pause = min(MaxPause, FirstPause<<max(0, attempts-1))
	}
	return pause + time.Duration(jitter*float64(pause)/4)
}
