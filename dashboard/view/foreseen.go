package view

import (
	"strconv"
	"time"
)

// ForeseenPage shows what a change of rules would do, and saves it.
type ForeseenPage struct {
	Frame       Frame
	Agent       Agent
	What        Sentence // the change
	Notes       []string // what else is to be known before saving
	Warnings    []string // what opens more than it seems to
	Constraints []Parameter
	Ends        []GrantRow // that are removed with it
	Turns       []TurnRow
	NothingNew  bool // it is so already
	Past        PastTurns
	Save        SaveForm
}

// TurnRow is one answer that would be another. Opens marks what is refused and
// would go ahead.
type TurnRow struct {
	Capability, Name string
	Where            Sentence // for whom; empty where that is plain
	Before, After    AnswerChip
	Why              string
	Limits           Sentence // where they change: what it is limited to then
	Opens            bool
}

// PastTurns is what would have been otherwise among the latest decisions.
type PastTurns struct {
	Since  time.Time
	Looked int
	Limit  int  // how many are looked at at most
	More   bool // there are older ones, which were not looked at
	Turned int
	Groups []TurnedGroup
}

// TurnedGroup is the decisions that would have been turned in the same way.
type TurnedGroup struct {
	Title string
	Count int
	Opens bool // refused before, allowed after
	Rows  []TurnedRow
	Rest  int // decisions in further rows, which are not listed
}

// TurnedRow is the decisions about the same thing towards the same contact.
type TurnedRow struct {
	Asked   string // what they asked for, as far as the answers differ
	Contact string // "" for none
	Count   int
	Times   []TurnedTime // the latest first
}

// TurnedTime is one decision.
type TurnedTime struct {
	At      time.Time
	Then    string // what was decided then, where the rules say otherwise today
	TaskURL string
}

// SaveForm saves the change, as it was shown.
type SaveForm struct {
	Action string
	Hidden []Hidden
	Word   string // on the button
	Fresh  bool   // asks for password or passkey first
	Back   string
}

// Hidden is a field that the owner does not see.
type Hidden struct{ Name, Value string }

func (p PastTurns) sentence() string {
	const touched = " of the last 30 days that it touches."
	switch {
	case p.Looked == 0:
		return "In the last 30 days the agent asked for nothing that this touches."
	case p.Looked == 1 && p.Turned == 0:
		return "It would not have turned the one decision" + touched
	case p.Looked == 1:
		return "It would have turned the one decision" + touched
	case p.Turned == 0:
		return "It would have turned none of the " + groupedNumber(p.Looked) + " decisions" + touched
	}
	return "It would have turned " + groupedNumber(p.Turned) + " of the " + groupedNumber(p.Looked) + " decisions" + touched
}

func times(count int) string {
	if count == 1 {
		return "Once"
	}
	return groupedNumber(count) + " times"
}

// groupedNumber writes 2000 as 2,000.
func groupedNumber(n int) string {
	text := strconv.Itoa(n)
	if n < 1000 {
		return text
	}
	return groupedNumber(n/1000) + "," + text[len(text)-3:]
}
