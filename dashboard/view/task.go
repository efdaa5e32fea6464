package view

import "time"

// TaskPage is one task: where it stands, what was agreed, and how it came to that.
type TaskPage struct {
	Frame          Frame
	UID, AgentID   string
	Title          string
	Agent, Contact string
	ContactURL     string
	Type           string // its label
	Role           string // what our side is: initiator or responder
	Status         string
	Meaning        Meaning
	Ended          bool
	Stands         Sentence
	Flags          []Flag
	TermsOf        string // which version Terms are, and what it is
	Terms          []Parameter
	Acceptances    []Acceptance
	Steps          []Step
	Asks           []TaskAsk
	Runs           []TaskRun
	Confirmation   *Booking
	// ReceiptURL is where the receipt of the confirmation is, "" without one.
	ReceiptURL    string
	Started, Ends time.Time
	TwinURL       string // the other side's copy, where that is ours too
	CancelURL     string // "" where it cannot be cancelled now
	NoCancel      string // why not
	ActivityURL   string
}

// Flag is something that is wrong with a task.
type Flag struct {
	Name     string
	What, Do Sentence // what it means, and what the owner can do
	Bookings []Booking
	Links    []Link
}

// Booking is what a side carried out.
type Booking struct {
	Who       string
	Action    string
	Code      string
	At        time.Time
	Simulated bool
}

// Acceptance is where one side stands on the terms.
type Acceptance struct {
	Who     string
	Text    string
	At      time.Time
	Meaning Meaning
	Word    string // whether the other side has it; "" where that is no question
}

// Step is one message of the timeline.
type Step struct {
	Who      string
	Owner    bool // a person wrote it, not an agent
	What     string
	At       time.Time
	Meaning  Meaning
	Delivery string // "" for what came in
	VoidWhy  string // why it does not count; "" where it does
	Reason   string // the text that came with it
	Code     string
	First    bool // its terms are the first: there is nothing to compare them with
	Changes  []Change
	Version  int // of its terms, 0 where it has none
	Terms    []Parameter
}

// Change is a field that differs from the version before.
type Change struct {
	Label    string
	Kind     ChangeKind
	Was, Now string
}

// ChangeKind says how a field differs.
type ChangeKind string

// The kinds of change.
const (
	Added   ChangeKind = "added"
	Changed ChangeKind = "changed"
	Removed ChangeKind = "removed"
)

// TaskAsk is an approval that was asked for in a task.
type TaskAsk struct {
	URL     string
	Action  string
	Status  string
	Meaning Meaning
	At      time.Time
}

// TaskRun is one execution of the task's action on this node.
type TaskRun struct {
	Action, Outcome, Text string
	Meaning               Meaning
	Code                  string
	At                    time.Time
	ApprovalURL           string
	ReceiptURL            string // "" without a receipt
}

// CancelTaskPage asks whether a task is really to be cancelled.
type CancelTaskPage struct {
	Frame   Frame
	URL     string // of the task
	AgentID string
	Title   string
	Contact string
	Status  string // as the page shows it: another one by then is not cancelled
	Agreed  bool
}
