package view

import (
	"strconv"
	"strings"
	"time"
)

// KnowsPage is who knows what: contacts by kinds of detail.
type KnowsPage struct {
	Frame Frame
	Kinds []string // names of the columns
	Rows  []KnowsRow
	Older string
}

// KnowsRow is one contact, with a cell for each kind.
type KnowsRow struct {
	URL, Contact string
	Ended        bool // no agent is connected with it any more
	Cells        []KnowsCell
}

// Rule is what the rules say of a detail that would be told now.
type Rule string

// The rules of a cell.
const (
	RuleNone  Rule = ""      // nothing can leave: not connected
	RuleDeny  Rule = "deny"  // it would be refused
	RuleAsk   Rule = "ask"   // it would wait for the owner
	RuleAllow Rule = "allow" // it can be told without asking
)

// KnowsCell is what a contact knows of one kind.
type KnowsCell struct {
	URL  string
	Told int
	Rule Rule
}

// class is the look of a cell: what was told counts more than what may be.
func (c KnowsCell) class() string {
	switch {
	case c.Told > 0:
		return "cell told"
	case c.Rule == RuleAllow:
		return "cell free"
	case c.Rule == RuleAsk:
		return "cell asked"
	}
	return "cell"
}

// words is a cell for those who do not see it.
func (c KnowsCell) words() string {
	next := map[Rule]string{RuleAllow: "can go without asking", RuleAsk: "asks you each time", RuleDeny: "refused"}[c.Rule]
	first := "never told"
	switch {
	case c.Told == 1:
		first = "told once"
	case c.Told > 1:
		first = "told " + countText(c.Told) + " times"
	}
	if next == "" {
		return first
	}
	return first + ", " + next
}

// LedgerPage is what one contact was told, of every kind or of one.
type LedgerPage struct {
	Frame   Frame
	Contact string
	Kind    string // "" for every kind
	AllURL  string // the contact's whole ledger, where this page shows one kind
	Entries []LedgerEntry
	Older   string
}

// LedgerEntry is the fields that one message told.
type LedgerEntry struct {
	At                 time.Time
	Agent              string
	TaskURL, TaskTitle string
	Meaning            Meaning
	Word               string // whether it arrived
	Why                string // why it was allowed
	ApprovalURL        string
	Fields             []Parameter
}

// KindName is the name of a kind of detail, from its capability.
func KindName(capability string) string {
	name := strings.TrimPrefix(capability, "disclose.")
	if name == "" {
		return "Other details"
	}
	return strings.ToUpper(name[:1]) + strings.ReplaceAll(name[1:], "_", " ")
}

func fieldCount(count int) string {
	if count == 1 {
		return "1 detail"
	}
	return strconv.Itoa(count) + " details"
}
