// Package audit is the chained log of every decision and change, which is also
// the feed of events that agents and pages follow.
//
// Each row carries the hash of the one before it; the head is kept with a MAC
// under a key derived from the master key. Who can write to the database but
// does not hold that key cannot edit, drop, swap or cut rows unnoticed. What it
// does not show is a whole log with its head put back to an earlier state.
package audit

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"agentlink/node"
)

// Event is what happened, before it has a place in the log.
type Event struct {
	Type         Type
	Actor        node.Actor
	AgentID      string // the agent concerned; "" for the node itself
	ConnectionID string
	TaskUID      string
	// Subject is the id of the approval, message, run, grant … concerned.
	Subject string
	// Data is what else is worth knowing. It is sealed at rest, and never holds
	// message bodies, keys or tokens.
	Data map[string]any
}

// Row is an event at its place in the log.
type Row struct {
	Position     int64 // 1, 2, 3 … without gaps, in the order of commits
	At           time.Time
	OwnerID      string
	Type         Type
	ActorKind    node.ActorKind
	Via          string
	AgentID      string
	ConnectionID string
	TaskUID      string
	Subject      string
	Data         []byte // canonical JSON; "{}" when there is nothing
	DataHash     string // SHA-256 of Data, hex: so that the chain is checked without opening anything
	Previous     string // hash of the row before, hex; the first row has GenesisHash
	Hash         string
}

// Head is the last row of the log as the node remembers it.
type Head struct {
	Position int64
	Hash     string
	MAC      string // HMAC-SHA256 over position and hash, hex
}

// GenesisHash stands before the first row.
const GenesisHash = "0000000000000000000000000000000000000000000000000000000000000000"

// Store keeps the log. LockHead is the last lock that a transaction takes.
type Store interface {
	// LockHead gives the head and keeps other writers off it until the
	// transaction ends. An empty log has position 0 and GenesisHash.
	LockHead(tx node.Tx) (Head, error)
	// AppendAudit inserts the row and moves the head, both or neither.
	AppendAudit(tx node.Tx, row Row, head Head) error
	// AuditRows lists rows after a position, in order.
	AuditRows(tx node.Tx, filter Filter) ([]Row, error)
	// AuditHead reads the head without a lock.
	AuditHead(tx node.Tx) (Head, error)
}

// Filter narrows a listing. The zero value lists everything.
type Filter struct {
	After   int64  // rows with a higher position
	AgentID string // only rows that concern this agent
	Types   []Type // only these types; none means all
	Limit   int    // at most this many; 0 means 100
	// Hashes leaves Data sealed and nil: enough for Verify.
	Hashes bool
}

// Log appends to the audit log.
type Log struct {
	store Store
	key   []byte
}

// New makes a log. key is the subkey of the master key for the audit head.
func New(store Store, key []byte) *Log { return &Log{store: store, key: key} }

// Append writes one event in the caller's transaction. If the row cannot be
// written the change fails with it.
func (l *Log) Append(tx node.Tx, event Event) (position int64, err error) {
	head, err := l.store.LockHead(tx)
	if err != nil {
		return 0, err
	}
	row, err := newRow(tx, head, event)
	if err != nil {
		return 0, node.Wrap(err, "build an audit row")
	}
	next := Head{Position: row.Position, Hash: row.Hash}
	next.MAC = l.mac(next)
	if err := l.store.AppendAudit(tx, row, next); err != nil {
		return 0, err
	}
	return row.Position, nil
}

func newRow(tx node.Tx, head Head, event Event) (Row, error) {
	data := event.Data
	if data == nil {
		data = map[string]any{}
	}
	canonical, err := node.Canonical(data)
	if err != nil {
		return Row{}, err
	}
	sum := sha256.Sum256(canonical)
	row := Row{
		Position: head.Position + 1, At: tx.Now(), OwnerID: event.Actor.OwnerID, Type: event.Type,
		ActorKind: event.Actor.Kind, Via: event.Actor.Via, AgentID: event.AgentID,
		ConnectionID: event.ConnectionID, TaskUID: event.TaskUID, Subject: event.Subject,
		Data: canonical, DataHash: hex.EncodeToString(sum[:]), Previous: head.Hash,
	}
	row.Hash = row.computeHash()
	return row, nil
}

// computeHash covers every column but Hash itself; Data enters by its hash.
func (r Row) computeHash() string {
	canonical := node.MustCanonical(map[string]any{
		"position": r.Position, "at": r.At.UnixMicro(), "owner": r.OwnerID, "type": r.Type,
		"actor": r.ActorKind, "via": r.Via, "agent": r.AgentID, "connection": r.ConnectionID,
		"task": r.TaskUID, "subject": r.Subject, "data": r.DataHash, "previous": r.Previous,
	})
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}

func (l *Log) mac(head Head) string {
	mac := hmac.New(sha256.New, l.key)
	fmt.Fprintf(mac, "%d\n%s", head.Position, head.Hash)
	return hex.EncodeToString(mac.Sum(nil))
}
