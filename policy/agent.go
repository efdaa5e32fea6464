// Package policy holds the owner's rules: agents with their modes, grants, and
// the words in which requests are asked and answered. The rules themselves
// stand in Rego (package rego); package engine evaluates them.
package policy

import "time"

// Mode sets how much an agent may do on its own.
type Mode string

// The modes.
const (
	Manual     Mode = "manual"
	Assisted   Mode = "assisted"
	Autonomous Mode = "autonomous"
)

// Modes lists every mode, the most careful first.
var Modes = []Mode{Manual, Assisted, Autonomous}

// Status says whether an agent may act at all.
type Status string

// The statuses of an agent.
const (
	Active   Status = "active"
	Disabled Status = "disabled"
)

// Statuses lists every status of an agent.
var Statuses = []Status{Active, Disabled}

// Agent is a program of the owner's, known to the node.
type Agent struct {
	ID      string
	OwnerID string
	Handle  string // unique on the node, ≤ 64 characters
	Name    string // for people, ≤ 120 characters; sealed at rest
	Mode    Mode
	Status  Status
	// KeyHash is the SHA-256 of the agent's key, hex. KeyGeneration rises when
	// the key is replaced; tokens of an earlier generation no longer open anything.
	KeyHash       string
	KeyGeneration int64
	// RulesRev rises with every change that can turn a decision: mode, status,
	// grants, structuredOnly. Whatever remembers rules is keyed by it, together with
	// RulesStamp, an id of its own for each rise: two transactions may both raise
	// the number to the same value where the first of them rolls back.
	RulesRev   int64
	RulesStamp string
	// Tools are the groups of tools that the agent sees over MCP, in the order of
	// ToolGroups.
	Tools     []ToolGroup
	CreatedAt time.Time
}
