package seal

import (
	"crypto/rand"
	"log/slog"
)

// Use names what a key is derived for. No two uses share a key.
type Use string

// The uses of the master key.
const (
	UseRows     Use = "rows"     // NewBox
	UseRowMAC   Use = "row-mac"  // MACs of rows whose state matters
	UseApproval Use = "approval" // the hash of an approval's parameters
	UseTokens   Use = "tokens"   // secrets of access that are not signed by the node's key
	UseAudit    Use = "audit"    // the head of the audit log
	UseCursor   Use = "cursor"   // cursors of listings
	UseSessions Use = "sessions" // the owner's sessions
	UseSearch   Use = "search"   // the search index
)

// Master is the master key: 32 random bytes from which every other key of the
// node is derived. It prints as nothing but its name.
type Master struct {
	key []byte
	// first is the first one that the node had; nil where key is.
	first []byte
}

const masterSize = 32

// NewMaster makes a master key.
func NewMaster() Master {
	key := make([]byte, masterSize)
	rand.Read(key) // never fails: the program ends first
	return Master{key: key}
}

// Key derives the key for one use: HKDF-SHA256, 32 bytes. A Master that was
// neither made nor loaded panics: its keys would be known to everybody.
func (m Master) Key(use Use) []byte {
	if len(m.key) != masterSize {
		panic("seal: this is no master key")
	}
	return subkey(m.key, "master/"+string(use))
}

// Next makes the master key that is to follow this one.
func (m Master) Next() Master {
	next := NewMaster()
	next.first = m.First().key
	return next
}

// First is the node's first master key. What is found again by a keyed hash, and what
// contacts keep for the node, stays under keys of its; they open no row, and no row is
// believed for them.
func (m Master) First() Master {
	if m.first == nil {
		return m
	}
	return Master{key: m.first}
}

// Box makes the box that seals the values of rows.
func (m Master) Box() *Box {
	box := NewBox(m.Key(UseRows))
	box.lookupKey = lookupKey(m.First().Key(UseRows))
	return box
}

// String implements fmt.Stringer, GoString fmt.GoStringer and LogValue
// slog.LogValuer, so that no log shows the key.
func (Master) String() string { return "(master key)" }

// GoString implements fmt.GoStringer.
func (m Master) GoString() string { return m.String() }

// LogValue implements slog.LogValuer.
func (m Master) LogValue() slog.Value { return slog.StringValue(m.String()) }
