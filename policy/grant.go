package policy

import "time"

// GrantMode is what a grant sets a capability to.
type GrantMode string

// The modes of a grant.
const (
	Allow GrantMode = "allow"
	Ask   GrantMode = "ask"
	Deny  GrantMode = "deny"
)

// GrantModes lists them, the strictest first.
var GrantModes = []GrantMode{Deny, Ask, Allow}

// Grant sets one capability, or a wildcard of them, for an agent: towards one
// contact, or as a whole. Unique by (agent, contact, capability, mode), so that
// a temporary allow can lie beside a permanent deny.
type Grant struct {
	ID      string
	OwnerID string
	AgentID string
	// Contact is the address of the remote agent; "" makes the grant agent-wide.
	// It outlives the connection: a contact that comes back meets its old grants.
	Contact    string
	Capability string // a capability or a pattern, see ValidPattern
	Mode       GrantMode
	// Constraints narrow an allow. They mean nothing on ask and deny.
	Constraints Constraints
	// ExpiresAt ends the grant; zero means never. now ≥ ExpiresAt is over.
	ExpiresAt time.Time
	CreatedAt time.Time
}

// Constraints narrow an allow grant.
type Constraints struct {
	// MaxAmount: the request must carry an amount, a JSON number ≥ 0, no larger
	// than this. nil means no limit.
	MaxAmount *float64 `json:"maxAmount,omitempty"`
	// AllowedValues: for each named field the values allowed, strings, numbers or
	// booleans. Of a list every entry must be allowed.
	AllowedValues map[string][]any `json:"allowedValues,omitempty"`
}

// Empty says whether nothing is constrained.
func (c Constraints) Empty() bool { return c.MaxAmount == nil && len(c.AllowedValues) == 0 }
