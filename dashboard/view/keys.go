package view

import "time"

// NodeKeyPage is the node's own key, and replacing it.
type NodeKeyPage struct {
	Frame       Frame
	Fingerprint string
	Since       time.Time
	Earlier     []EarlierKeyRow // the latest first
}

// EarlierKeyRow is a key that the node had.
type EarlierKeyRow struct {
	Fingerprint string
	Until       time.Time
	ErasedAt    time.Time // zero while it is kept
	KeptUntil   time.Time
	Waiting     []KeyContact // who still goes by it
	More        bool         // there are others
}

// KeyContact is a contact that has not accepted the node's key.
type KeyContact struct {
	URL, Contact, Agent string
	Declined            bool
}

// NewKey is a new key that a contact's node has announced.
type NewKey struct {
	Fingerprint string
	Disputed    string // another one that contradicts it
	At          time.Time
}

// ContactKeyPage is where the owner decides about a contact's new key.
type ContactKeyPage struct {
	Frame              Frame
	ID, Contact, Agent string
	Known              string // fingerprint of the pinned key
	New                NewKey
}
