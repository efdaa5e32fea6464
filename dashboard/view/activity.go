package view

import (
	"strconv"
	"time"
)

// ActivityPage is the log, newest first.
type ActivityPage struct {
	Frame                              Frame
	Types, Agents, Contacts            []Option
	Type, Agent, Contact, Task, Search string // what is chosen, "" for all
	Rows                               []ActivityRow
	Older                              string
	// Looked says how far a search has looked; "" without one.
	Looked string
	// ByName leads from the rows that name a contact's connection to the decisions
	// that name the contact.
	ByName      string
	ContactName string
	Days        []Day
	Last        int64 // position of the last row
	Unopened    bool  // the data of a row does not open, so that none is shown
}

// ActivityRow is one row of the log.
type ActivityRow struct {
	URL      string
	Position int64
	What     Sentence
	Chip     string // the outcome of a decision
	Meaning  Meaning
	By       Sentence // who did it, and whom it concerns
	At       time.Time
}

func (r ActivityRow) number() string { return "#" + strconv.FormatInt(r.Position, 10) }

// ActivityRowPage is one row with all that it holds.
type ActivityRowPage struct {
	Frame          Frame
	Row            ActivityRow
	Type           string
	Actor, Via     string
	Agent          string
	AgentURL       string
	Contact        string
	ContactURL     string
	TaskUID        string
	TaskURL        string
	Subject        string
	SubjectURL     string
	Data           []Parameter
	Unopened       bool
	DataHash       string
	Previous, Hash string
	Decision       *Decision
	NewerURL       string
	OlderURL       string
}

// Decision is a decision of the rules, explained.
type Decision struct {
	Outcome  string
	Meaning  Meaning
	Stands   Sentence
	Facts    []Parameter
	Fields   []Parameter // the structured fields of the request
	Answers  []DecisionAnswer
	DenyOnly bool
	RulesRev int64
	Version  string
}

// DecisionAnswer is the word of the rules on one capability.
type DecisionAnswer struct {
	Capability string
	Outcome    string
	Meaning    Meaning
	Why        string
	Grant      Sentence // the grant that won; nil where none applied
	GrantURL   string
}

// VerifyPage is what came of verifying the log.
type VerifyPage struct {
	Frame   Frame
	Rows    int64
	Head    string
	Problem string // "" where the log is whole
	Deep    bool
}
