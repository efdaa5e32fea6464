// Package actions runs what has consequences: once, with an approval bound to
// its exact parameters or under an allow grant, and says what is known of the
// outcome.
package actions

import (
	"encoding/json"
	"time"
)

// Run is one execution of an action.
type Run struct {
	ID         string
	OwnerID    string
	AgentID    string
	Action     string          // reservation.book
	Parameters json.RawMessage // canonical JSON; sealed at rest
	ParamsHash string          // the approval hash over Action and Parameters
	TaskUID    string
	ApprovalID string // unique
	// Automatic: an allow grant stood for the owner.
	Automatic bool
	// Key is the caller's Idempotency-Key, unique for its agent; "" for none. Kept
	// as its keyed hash, and so not there when a run is read.
	Key   string
	State State
	// Reason says why the run has its outcome; the rest follows from it.
	Reason Reason
	// Result is the executor's answer, canonical JSON; sealed at rest.
	Result    json.RawMessage
	Simulated bool
	Code      string // confirmation code, sealed at rest
	// TaskConfirmation is "sent" or "failed"; "" without a task, and while it runs.
	TaskConfirmation string
	Receipt          string // signed, sealed at rest
	Salt             string // of the approval, sealed at rest
	Repeat           bool   // the owner approved a repetition of something that already ran
	ReservedAt       time.Time
	StartedAt        time.Time
	FinishedAt       time.Time
	// Settled: nothing is left to do for it, here or in its task.
	Settled bool
	// LeaseToken names who drives the run, LeaseUntil when another may.
	LeaseToken string
	LeaseUntil time.Time
}

// The values of TaskConfirmation.
const (
	ConfirmationSent   = "sent"
	ConfirmationFailed = "failed"
)

// Meaning is what the run's reason says.
func (r Run) Meaning() Meaning { return MeaningOf(r.Reason) }

// Outcome is what its agent is told.
func (r Run) Outcome() Outcome { return r.Meaning().Outcome }

// Proof is what a done rests on.
func (r Run) Proof() Proof {
	switch {
	case r.Outcome() != Done:
		return ProofNone
	case r.Simulated:
		return ProofSimulated
	}
	return ProofLocal
}
