package view

import "time"

// TasksPage is the board of all tasks, or the list of those of one status.
type TasksPage struct {
	Frame    Frame
	Status   string // "" for the board, a status, or Flagged
	Agents   []Option
	Contacts []Option
	Agent    string // what is chosen of Agents, "" for all
	Contact  string
	Flagged  TaskColumn // those that need a look
	Columns  []TaskColumn
	Cards    []TaskCard // the list of a status
	Older    string
	// ContactsCut: there are more contacts than are offered.
	ContactsCut bool
}

// Flagged stands in the place of a status for the tasks that need a look.
const Flagged = "flagged"

// TaskColumn is a part of the board.
type TaskColumn struct {
	Name  string
	Empty string // what it says without a card
	Cards []TaskCard
	// More leads to all tasks of a status where the board shows the newest only.
	More []Link
}

// Link is a text that leads somewhere.
type Link struct{ Text, URL string }

// TaskCard is one task on the board.
type TaskCard struct {
	URL            string
	Title          string
	Agent, Contact string
	Status         string
	Meaning        Meaning
	Flags          []string // names of what is wrong with it
	Version        int      // of the latest proposal, 0 for none
	At             time.Time
}

// taskStatuses are what the list can show, with their names.
var taskStatuses = []struct{ Status, Name string }{
	{"", "Board"}, {Flagged, "Needs a look"}, {"open", "Open"}, {"negotiating", "Negotiating"}, {"agreed", "Agreed"},
	{"awaiting_approval", "Awaiting approval"}, {"confirmed", "Confirmed"}, {"cancelled", "Cancelled"}, {"expired", "Expired"},
}
