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
	Came    Came
}

// Reason is why a capability needs the owner, and the grant that says so, if any.
type Reason struct {
	Name, Capability, Why string
	Grant                 Sentence
	GrantURL              string // "" where it is gone
}

// HeldTerms is what a held task write proposes or answers, and against the version
// before it.
type HeldTerms struct {
	Of      string // "" for nothing
	Rows    []Parameter
	Version int // whose Changes they are; 0 for none
	Changes []Change
}

// Came is what came of an approval.
type Came struct {
	Meaning      Meaning
	Word         string // "" for nothing
	Why          string
	Code         string // of a booking
	URL, URLName string
	ReceiptURL   string
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
	Reasons                        []Reason
	Warnings                       []string
	Text                           string // of a chat message
	Terms                          HeldTerms
	NeedsOverride, NeedsWord       bool
	Run                            bool // the node runs it as soon as it is approved
	Note                           string
	ExpiresAt, DecidedAt           time.Time
	TaskUID, TaskTitle, TaskStatus string
	TaskEnds                       time.Time
	Came                           Came
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
