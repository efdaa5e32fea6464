package view

import "time"

// ApprovalsPage lists approvals of one status.
type ApprovalsPage struct {
	Frame  Frame
	Status string
	Rows   []ApprovalRow
	Older  string // address of the next page, "" at the end
}

// ApprovalRow is one approval in a list.
type ApprovalRow struct {
	Ask     Ask
	Status  string
	Meaning Meaning
	At      time.Time // decided, or asked
}

// ApprovalPage is one approval in full.
type ApprovalPage struct {
	Frame                          Frame
	ID, Agent, Action, Contact     string
	Status                         string
	Meaning                        Meaning
	Pending                        bool // it can be decided now
	Damaged                        bool
	What                           Sentence
	Parameters                     []Parameter
	Hash                           string
	Reasons, Warnings              []string
	NeedsOverride, NeedsWord       bool
	Run                            bool // the node runs it as soon as it is approved
	Note                           string
	ExpiresAt, DecidedAt           time.Time
	TaskUID, TaskTitle, TaskStatus string
	TaskEnds                       time.Time
	RunOutcome, RunCode, RunText   string
	Receipt                        string
}

// statuses are what the list can show, with their names.
var approvalStatuses = []struct{ Status, Name string }{
	{"pending", "Waiting"}, {"approved", "Approved, not used yet"}, {"consumed", "Used"}, {"rejected", "Rejected"}, {"expired", "Expired"},
}

func differs(rows []Parameter) bool {
	for _, row := range rows {
		if row.Differs {
			return true
		}
	}
	return false
}
