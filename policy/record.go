package policy

import "time"

// Standing is what the rules know of an agent itself.
type Standing struct {
	AgentID, OwnerID string
	Mode             Mode
	Status           Status
	RulesRev         int64
	RulesStamp       string
	Handle           string
	// Overlay is the version of the owner's own rules that hold; "" for none.
	Overlay string
}

// Rules are an agent's standing and its grants at one moment, as the store reads
// them in one statement.
type Rules struct {
	Standing
	Grants []Rule
}

// Rule is a grant as the engine needs it: the contact stays sealed and is known
// by its key alone.
type Rule struct {
	GrantID     string
	ContactKey  string // "" for an agent-wide grant
	Capability  string
	Mode        GrantMode
	Constraints Constraints
	ExpiresAt   time.Time
}

// Facts are what a decision rested on beside the grants. They are kept with it,
// sealed, so that it can be explained and evaluated again.
type Facts struct {
	Mode           Mode           `json:"mode"`
	Status         Status         `json:"status"`
	Contact        string         `json:"contact,omitempty"`
	Connection     string         `json:"connection,omitempty"`
	StructuredOnly bool           `json:"structuredOnly,omitempty"`
	FreeText       []string       `json:"freeText,omitempty"`
	Capabilities   []string       `json:"capabilities"`
	Fields         map[string]any `json:"fields,omitempty"`
	AmountField    string         `json:"amountField,omitempty"`
	DenyOnly       bool           `json:"denyOnly,omitempty"`
}

// Request asks again what the facts were gathered for.
func (f Facts) Request(agentID string) Request {
	return Request{
		AgentID: agentID, Contact: f.Contact, Connection: f.Connection, StructuredOnly: f.StructuredOnly,
		FreeText: f.FreeText, Capabilities: f.Capabilities, Fields: f.Fields, AmountField: f.AmountField, DenyOnly: f.DenyOnly,
	}
}

// Record is a decision as it is kept.
type Record struct {
	Decision
	OwnerID string
	AgentID string
	At      time.Time
	Subject string
	TaskUID string
	Facts   Facts
}

// Change is a change of rules that is only imagined: what would a decision have
// been under it?
type Change struct {
	Mode   Mode   // "" leaves the agent's mode
	Status Status // "" leaves the agent's status
	// Set adds grants, each in place of the one with the same contact, capability
	// and mode; Remove leaves grants out, by id.
	Set    []Grant
	Remove []string
	// Overlay is the text of the owner's own rules in place of those that hold; nil
	// leaves them, "" is none.
	Overlay *string
}

// DryRun is the GrantID of an answer that an imagined grant without an id won.
const DryRun = "imagined"
