package view

import "time"

// RulesPage shows the owner's own rules, takes other ones, and says what these
// would have done.
type RulesPage struct {
	Frame
	Hold     bool // there are some
	Number   int64
	Version  string
	Since    time.Time
	Text     string // in the form
	Longest  int    // bytes
	Problems []string
	// Looked: the text compiles, and this is what it would have done. Removes: it is
	// empty.
	Looked, Removes bool
	Agents          []RulesAgent
}

// RulesAgent is what would have become of an agent's decisions.
type RulesAgent struct {
	Handle string
	Past   PastTurns
}
