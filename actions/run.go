// Package actions runs what has consequences: once, with an approval bound to
// its exact parameters or under an allow grant, and says what is known of the
// outcome.
package actions

import (
	"encoding/json"
	"time"
)

// State is where a run stands.
type State string

// The states of a run.
const (
	Reserved  State = "reserved" // approval consumed and request claimed, committed
	Running   State = "running"  // the executor may have begun
	Succeeded State = "succeeded"
	Failed    State = "failed"
	Unknown   State = "unknown" // it began, and nobody knows how it ended
)

// Outcome is what an agent is told of a run.
type Outcome string

// The outcomes.
const (
	Done           Outcome = "done"              // carried out and checked
	NeedsReview    Outcome = "needs_review"      // stopped before anything was written; a person decides
	NotSureIfSaved Outcome = "not_sure_if_saved" // it may have been written; a person checks
	DidNotRun      Outcome = "did_not_run"       // this call wrote nothing
	InProgress     Outcome = "running"           // the only one that is not final
)

// Run is one execution of an action.
type Run struct {
	ID         string
	OwnerID    string
	AgentID    string
	Action     string          // reservation.book
	Parameters json.RawMessage // sealed at rest
	ParamsHash string
	TaskUID    string
	ApprovalID string // unique
	State      State
	Outcome    Outcome
	Reason     string // closed list, see reasons.go
	// Result is the executor's answer; sealed at rest.
	Result    json.RawMessage
	Simulated bool
	Code      string // confirmation code, sealed at rest
	// TaskConfirmation is "sent" or "failed"; "" without a task.
	TaskConfirmation string
	Receipt          string // signed, sealed at rest
	Salt             string
	Repeat           bool // the owner approved a repetition of something that already ran
	ReservedAt       time.Time
	StartedAt        time.Time
	FinishedAt       time.Time
}
