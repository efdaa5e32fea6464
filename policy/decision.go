package policy

import (
	"time"

	"agentlink/node"
)

// Outcome is the engine's answer for a capability, and for a whole request the
// strictest of its capabilities'.
type Outcome string

// The outcomes.
const (
	Allowed Outcome = "allow"
	Held    Outcome = "hold"
	Refused Outcome = "refuse"
)

// Outcomes lists them, the strictest first.
var Outcomes = []Outcome{Refused, Held, Allowed}

// Reason says why. The list is closed and shared with the Rego rules.
type Reason string

// The reasons. A comment names the outcome that each belongs to.
const (
	// Refusals.
	AgentDisabled       Reason = "agent_disabled"
	ConnectionNotActive Reason = "connection_not_active"
	GrantDenies         Reason = "grant_denies"
	NoGrant             Reason = "no_grant"
	UnknownCapability   Reason = "unknown_capability"
	EngineError         Reason = "engine_error"     // undefined, malformed, timed out or failing evaluation
	OwnRulesRefuse      Reason = "own_rules_refuse" // the owner's own rules say so
	OwnRulesFailed      Reason = "own_rules_failed" // they gave no answer
	// Holds.
	GrantAsks             Reason = "grant_asks"
	ModeManual            Reason = "mode_manual"
	ModeNotAutonomous     Reason = "mode_not_autonomous"
	NoAllowGrant          Reason = "no_allow_grant"
	ConstraintsNotMatched Reason = "constraints_not_matched"
	PeerRevoked           Reason = "peer_revoked"
	PeerRejected          Reason = "peer_rejected"
	StructuredOnly        Reason = "structured_only"
	ContactDeniesAction   Reason = "contact_denies_action" // the parameters name no task, and some contact's grant denies this action
	OwnRulesHold          Reason = "own_rules_hold"        // the owner's own rules say so
	// Allows.
	ModeAllows    Reason = "mode_allows"
	GrantAllows   Reason = "grant_allows"
	NothingDenies Reason = "nothing_denies" // asked with DenyOnly
)

// Reasons lists them all.
var Reasons = []Reason{
	AgentDisabled, ConnectionNotActive, GrantDenies, NoGrant, UnknownCapability, EngineError, OwnRulesRefuse, OwnRulesFailed,
	GrantAsks, ModeManual, ModeNotAutonomous, NoAllowGrant, ConstraintsNotMatched,
	PeerRevoked, PeerRejected, StructuredOnly, ContactDeniesAction, OwnRulesHold,
	ModeAllows, GrantAllows, NothingDenies,
}

// Request is what the engine is asked: one thing an agent wants to do, with the
// facts that the caller gathered. Facts about the agent and its grants the
// engine reads itself, in the same transaction.
type Request struct {
	AgentID string
	// Contact is the address of the remote agent concerned; "" for an action
	// whose parameters name no task.
	Contact string
	// Connection is the status of the connection to Contact: "active", another
	// status, or "" where there is none.
	Connection string
	// StructuredOnly is the owner's switch for this contact: free text is always held.
	StructuredOnly bool
	// FreeText lists those of Capabilities under which this request carries free
	// text that no field rule reads. Relevant with StructuredOnly alone.
	FreeText []string
	// Capabilities are all that the request needs, without duplicates.
	Capabilities []string
	// Fields are the structured fields of the request, by name: what
	// allowedValues is compared with. JSON values: nil, bool, string, numbers,
	// []any, []string, map[string]any. A number that JSON does not keep exactly
	// (NaN, beyond ±(2^53 − 1)) matches nothing; any other type is an EngineError.
	Fields map[string]any
	// AmountField names the member of Fields that maxAmount is compared with;
	// "" means that the request has none, and then maxAmount never matches.
	AmountField string
	// DenyOnly asks only whether something forbids it now: a disabled agent, a
	// connection that is not active, a deny grant. For what the owner approved
	// and for what was queued before (protocol D11, delivery, task.confirm).
	DenyOnly bool
	// Subject is what the decision is about, for the record: a message or run id.
	Subject string
	TaskUID string
	// At is when a request was made that is only made again, for the owner's own
	// rules; zero means now. Decide does not read it.
	At time.Time
}

// Answer is the engine's word on one capability.
type Answer struct {
	Capability string  `json:"capability"`
	Outcome    Outcome `json:"outcome"`
	Reason     Reason  `json:"reason"`
	GrantID    string  `json:"grantId,omitempty"` // the grant that won; "" when none applied
	// Constraints of the grant that won, and the outcome when the request does not
	// match them, or carries free text where StructuredOnly is on. Only in answers
	// to Capabilities, and there only where it can differ from Outcome.
	Constraints *Constraints `json:"constraints,omitempty"`
	Otherwise   Outcome      `json:"otherwise,omitempty"`
}

// Decision is the engine's word on a request.
type Decision struct {
	ID       string
	Outcome  Outcome
	Answers  []Answer // in the order of Request.Capabilities
	RulesRev int64    // of the agent
	Version  string   // of the rules: hex SHA-256 of the Rego in force, shortened to 16; with the owner's own rules "+" and 16 of theirs
}

// Denied lists the capabilities that were refused, with their reasons.
func (d Decision) Denied() (names []string, reasons map[string]Reason) {
	return d.with(Refused)
}

// NeedApproval lists the capabilities that the owner has to approve.
func (d Decision) NeedApproval() (names []string, reasons map[string]Reason) {
	return d.with(Held)
}

func (d Decision) with(outcome Outcome) ([]string, map[string]Reason) {
	names, reasons := []string{}, map[string]Reason{}
	for _, answer := range d.Answers {
		if answer.Outcome == outcome {
			names = append(names, answer.Capability)
			reasons[answer.Capability] = answer.Reason
		}
	}
	return names, reasons
}

// Refusal is the error that an agent gets for a refused request.
func (d Decision) Refusal() *node.Error {
	names, reasons := d.Denied()
	return &node.Error{
		Code: node.PolicyDenied, Message: "The owner's rules do not allow this.",
		Details: map[string]any{"denied": names, "reasons": reasons},
	}
}

// Strictest is the outcome of a whole request; without any answer it is Refused.
func Strictest(answers []Answer) Outcome {
	for _, outcome := range Outcomes {
		for _, answer := range answers {
			if answer.Outcome == outcome {
				return outcome
			}
		}
	}
	return Refused
}

// Decider decides and records the decision in one call that nothing can go
// around: the decision row and the audit row are written in the transaction.
// A request that cannot be evaluated is refused with EngineError; err is only
// for a store that fails.
type Decider interface {
	Decide(tx node.Tx, request Request) (Decision, error)
	// Capabilities answers for each capability without deciding anything: nothing
	// is recorded. Of the request it reads AgentID, Contact, Connection and
	// StructuredOnly.
	Capabilities(tx node.Tx, request Request, names []string) ([]Answer, error)
}
