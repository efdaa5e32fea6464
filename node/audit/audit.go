// Package audit is the chained log of every decision and change, which is also
// the feed of events that agents and pages follow.
//
// Each row carries the hash of the one before it; the head is kept with a MAC
// under a key derived from the master key. Who can write to the database but
// does not hold that key cannot edit, drop, swap or cut rows unnoticed. A whole log
// with its head put back to an earlier state, or written anew by who holds the
// key, is found by comparing with what peers kept of the head: Show and Compare.
package audit

import (
	"crypto/cipher"
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

// Store keeps the log.
type Store interface {
	// KeepAudit keeps a row that has no place in the log yet, and tells how many
	// this transaction keeps by now. Once the transaction's function has returned
	// nil, and before the commit, write gets them all, in order; its error rolls
	// back.
	KeepAudit(tx node.Tx, row Row, write func(rows []Row) error) (waiting int64, err error)
	// LockHead gives the head and keeps other writers off it until the
	// transaction ends. An empty log has position 0 and GenesisHash.
	LockHead(tx node.Tx) (Head, error)
	// AppendAudit inserts the rows and moves the head, all of it or nothing.
	AppendAudit(tx node.Tx, rows []Row, head Head) error
	// AuditRows lists rows, in the order of their positions or from the newest.
	AuditRows(tx node.Tx, filter Filter) ([]Row, error)
	// AuditHead reads the head without a lock.
	AuditHead(tx node.Tx) (Head, error)
}

// Filter narrows a listing. The zero value lists everything.
type Filter struct {
	After        int64  // rows with a higher position
	Before       int64  // rows with a lower position; 0 means all
	Newest       bool   // the newest first
	AgentID      string // only rows that concern this agent
	ConnectionID string // only rows that name this connection
	TaskUID      string // only rows that name this task
	Types        []Type // only these types; none means all
	Limit        int    // at most this many; 0 means 100
	// Hashes leaves Data sealed and nil: enough for Verify.
	Hashes bool
}

// Log appends to the audit log.
type Log struct {
	store Store
	key   []byte
	shown cipher.AEAD // seals what peers keep of the head
}

// New makes a log. key is the subkey of the master key for the audit head.
func New(store Store, key []byte) *Log { return Renewed(store, key, key) }

// Renewed makes a log whose master key has followed another. first is the subkey of
// the first one: what peers keep of the head stays sealed under it.
func Renewed(store Store, key, first []byte) *Log {
	return &Log{store: store, key: key, shown: shownSeal(first)}
}

// Append adds one event to the log. It gets its place when everything else of
// the transaction is done, so that the head, which all writers need, is the last
// thing locked and is locked briefly. If the row cannot be written, the
// transaction fails with it.
func (l *Log) Append(tx node.Tx, event Event) error {
	_, err := l.keep(tx, event)
	return err
}

// AppendPlaced is Append for a caller that has to know the event's position
// before the end, as a receipt that states it does. It locks the head at once:
// what the transaction locks after it has to be its own already, or covered by a
// lock that it holds.
func (l *Log) AppendPlaced(tx node.Tx, event Event) (position int64, err error) {
	waiting, err := l.keep(tx, event)
	if err != nil {
		return 0, err
	}
	head, err := l.store.LockHead(tx)
	return head.Position + waiting, err
}

func (l *Log) keep(tx node.Tx, event Event) (waiting int64, err error) {
	row, err := newRow(tx, event)
	if err != nil {
		return 0, node.Wrap(err, "build an audit row")
	}
	return l.store.KeepAudit(tx, row, func(rows []Row) error { return l.write(tx, rows) })
}

// write gives the rows their places.
func (l *Log) write(tx node.Tx, rows []Row) error {
	head, err := l.store.LockHead(tx)
	if err != nil {
		return err
	}
	for i := range rows {
		rows[i].follow(head)
		head = Head{Position: rows[i].Position, Hash: rows[i].Hash}
	}
	head.MAC = l.mac(head)
	return l.store.AppendAudit(tx, rows, head)
}

// newRow is an event as a row without a place.
func newRow(tx node.Tx, event Event) (Row, error) {
	data := event.Data
	if data == nil {
		data = map[string]any{}
	}
	canonical, err := node.Canonical(data)
	if err != nil {
		return Row{}, err
	}
	sum := sha256.Sum256(canonical)
	return Row{
		At: tx.Now(), OwnerID: event.Actor.OwnerID, Type: event.Type,
		ActorKind: event.Actor.Kind, Via: event.Actor.Via, AgentID: event.AgentID,
		ConnectionID: event.ConnectionID, TaskUID: event.TaskUID, Subject: event.Subject,
		Data: canonical, DataHash: hex.EncodeToString(sum[:]),
	}, nil
}

// follow places the row behind the head.
func (r *Row) follow(head Head) {
	r.Position, r.Previous = head.Position+1, head.Hash
	r.Hash = r.computeHash()
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
