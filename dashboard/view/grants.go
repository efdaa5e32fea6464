package view

import (
	"net/url"
	"time"
)

// GrantsPage is the grants of an agent, for one contact or as a whole, with what
// they come to.
type GrantsPage struct {
	Frame      Frame
	Agent      Agent
	ContactURL string // "" where there is no connection
	Grants     GrantsEditor
	Answers    []AnswerRow // towards the contact
}

// GrantsEditor lists grants and takes a new or changed one. It stands on the
// agent's page, on the page of grants and on a contact's.
type GrantsEditor struct {
	AgentURL string
	Handle   string
	Contact  string // "" for the agent-wide grants
	Back     string // where saving leads, "" for the page of grants
	Now      time.Time
	Own      []GrantRow
	Wide     []GrantRow // of a contact: the agent-wide ones, which can count too
	Form     GrantForm
}

// GrantRow is one grant.
type GrantRow struct {
	ID          string
	Capability  string
	Name        string // in plain words
	Meaning     Meaning
	Word        string // allow, ask or deny
	Constraints []Parameter
	Until       time.Time // zero: for good
	Over        bool
}

// GrantForm is the form for a grant, with what was chosen.
type GrantForm struct {
	Grant       string // id of the grant that is changed, "" for a new one
	Capability  string
	Mode        string
	For         string // one of Spans
	Until       string // 2006-01-02T15:04, UTC
	Beside      bool   // stricter grants stay
	Constraints []Parameter
	Known       []Known
}

// Known is a capability or a wildcard that a form offers.
type Known struct{ Capability, Name string }

// Span is a time for which a grant holds.
type Span struct {
	Value, Name string
	Long        time.Duration
}

// Spans are those that a form offers; "until" takes an exact time.
var Spans = []Span{
	{"", "Until I remove it", 0}, {"1h", "For an hour", time.Hour}, {"1d", "For a day", 24 * time.Hour}, {"7d", "For a week", 7 * 24 * time.Hour},
	{"30d", "For 30 days", 30 * 24 * time.Hour}, {"until", "Until the time below", 0},
}

var grantModes = []struct{ Value, Name, Means string }{
	{"allow", "Allow", "without asking you"},
	{"ask", "Ask", "after you approve"},
	{"deny", "Deny", "not at all"},
}

// address is the page of these grants, or what stands beneath it, for a grant.
func (e GrantsEditor) address(part, grant string) string {
	query := url.Values{}
	if e.Contact != "" && grant == "" {
		query.Set("contact", e.Contact)
	}
	if grant != "" {
		query.Set("grant", grant)
	}
	if e.Back != "" {
		query.Set("back", e.Back)
	}
	address := e.AgentURL + "/grants" + part
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	return address
}
