package view

import (
	"strconv"
	"time"
)

// HomePage is the first page.
type HomePage struct {
	Frame    Frame
	Asks     []Ask
	More     bool // there are more than are listed
	Happened []Happening
	Health   Health
	Restored Restored // zero: not lately
}

// Restored is a restore that the owner has to know of.
type Restored struct {
	At, BackupFrom time.Time
}

// Ask is one thing that waits for the owner.
type Ask struct {
	URL       string
	What      Sentence
	Why       string
	ExpiresAt time.Time // zero: it waits for ever
}

// Sooner says whether an ask has to be answered before another.
func (a Ask) Sooner(b Ask) bool {
	switch {
	case a.ExpiresAt.IsZero():
		return false
	case b.ExpiresAt.IsZero():
		return true
	}
	return a.ExpiresAt.Before(b.ExpiresAt)
}

// Happening is what happened since the last visit.
type Happening struct {
	Type    string
	Meaning Meaning
	Word    string
	Text    string
	Name    string // of the one task or contact, in place of Text
	URL     string
	At      time.Time
}

// Health is how the node is.
type Health struct {
	Rows        int64 // of the audit log
	Undelivered int   // messages that have waited for minutes
}

func (p HomePage) headline() string {
	switch p.Frame.Waiting {
	case 0:
		return "Nothing waits for you"
	case 1:
		return "One thing waits for you"
	}
	if p.Frame.Waiting <= 12 {
		return []string{"Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten", "Eleven", "Twelve"}[p.Frame.Waiting-2] + " things wait for you"
	}
	return countText(p.Frame.Waiting) + " things wait for you"
}

func (h Health) text() string {
	if h.Undelivered == 0 {
		return "All well. The log has " + strconv.FormatInt(h.Rows, 10) + " rows."
	}
	return countText(h.Undelivered) + " messages have not arrived yet: the other node does not answer."
}
