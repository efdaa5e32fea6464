package engine

import (
	"encoding/json"
	"math"
	"sort"
	"strings"
	"time"

	"agentlink/policy"
)

// The oracle is a second reading of the requirement: it is written from the text
// of the product ("Modes", "Which grant counts", "How the node decides",
// "Disclosure capabilities") and from the protocol's chapter on policy, not from
// the Rego. Each function says which sentence it is. It shares neither code nor
// data structures with the engine.

// question is one request with everything that bears on it.
type question struct {
	now            time.Time
	mode           string
	disabled       bool
	grants         []policy.Grant
	contact        string
	connection     string
	structuredOnly bool
	freeText       map[string]bool
	fields         map[string]any
	amountField    string
	denyOnly       bool
}

type verdict struct {
	outcome, reason, grant string
}

// ask answers for one capability.
func (q question) ask(capability string) verdict {
	// "A disabled agent can do nothing: every policy check refuses it."
	if q.disabled {
		return verdict{"refuse", "agent_disabled", ""}
	}
	winner := q.whichGrantCounts(capability)
	var v verdict
	switch {
	case isMessageOrTaskWrite(capability):
		v = q.messageRow(winner)
	case isOwnOrKnown(capability, "disclose", 1):
		v = q.disclosureRow(winner)
	case capability == "connection.request":
		v = q.connectionRow(winner)
	case isOwnOrKnown(capability, "action", math.MaxInt):
		v = q.actionRow(winner)
		v = q.leavingTheTaskOutNeverWidens(capability, v)
	default:
		// "Anything else: refuse always."
		return verdict{"refuse", "unknown_capability", ""}
	}
	if v.outcome == "allow" && v.reason != "nothing_denies" && q.structuredOnly && q.freeText[capability] {
		v.outcome, v.reason = "hold", "structured_only"
	}
	if winner != nil && v.reason != "connection_not_active" {
		v.grant = winner.ID
	}
	return v
}

// "Messages and task writes."
func (q question) messageRow(winner *policy.Grant) verdict {
	switch {
	case q.connection != "active":
		return verdict{outcome: "refuse", reason: "connection_not_active"}
	case says(winner, "deny"):
		return verdict{outcome: "refuse", reason: "grant_denies"}
	case q.denyOnly:
		return verdict{outcome: "allow", reason: "nothing_denies"}
	case says(winner, "ask"):
		return verdict{outcome: "hold", reason: "grant_asks"}
	case q.mode == "manual":
		return verdict{outcome: "hold", reason: "mode_manual"}
	}
	return allowedBy(winner)
}

// "Disclosures."
func (q question) disclosureRow(winner *policy.Grant) verdict {
	switch {
	case q.connection != "active":
		return verdict{outcome: "refuse", reason: "connection_not_active"}
	case says(winner, "deny"):
		return verdict{outcome: "refuse", reason: "grant_denies"}
	case q.denyOnly:
		return verdict{outcome: "allow", reason: "nothing_denies"}
	case winner == nil:
		return verdict{outcome: "refuse", reason: "no_grant"}
	case says(winner, "ask"):
		return verdict{outcome: "hold", reason: "grant_asks"}
	case !q.constraintsMatch(*winner):
		return verdict{outcome: "hold", reason: "constraints_not_matched"}
	}
	return verdict{outcome: "allow", reason: "grant_allows"}
}

// "connection.request"; beyond the table the protocol holds revoked and rejected
// peers, and an ask, in every mode.
func (q question) connectionRow(winner *policy.Grant) verdict {
	switch {
	case says(winner, "deny"):
		return verdict{outcome: "refuse", reason: "grant_denies"}
	case q.denyOnly:
		return verdict{outcome: "allow", reason: "nothing_denies"}
	case q.connection == "revoked":
		return verdict{outcome: "hold", reason: "peer_revoked"}
	case q.connection == "rejected":
		return verdict{outcome: "hold", reason: "peer_rejected"}
	case says(winner, "ask"):
		return verdict{outcome: "hold", reason: "grant_asks"}
	case q.mode != "autonomous":
		return verdict{outcome: "hold", reason: "mode_not_autonomous"}
	}
	return allowedBy(winner)
}

// "Actions."
func (q question) actionRow(winner *policy.Grant) verdict {
	switch {
	case says(winner, "deny"):
		return verdict{outcome: "refuse", reason: "grant_denies"}
	case q.denyOnly:
		return verdict{outcome: "allow", reason: "nothing_denies"}
	case q.mode != "autonomous":
		return verdict{outcome: "hold", reason: "mode_not_autonomous"}
	case says(winner, "ask"):
		return verdict{outcome: "hold", reason: "grant_asks"}
	case winner == nil:
		return verdict{outcome: "hold", reason: "no_allow_grant"}
	case !q.constraintsMatch(*winner):
		return verdict{outcome: "hold", reason: "constraints_not_matched"}
	}
	return verdict{outcome: "allow", reason: "grant_allows"}
}

// "If an action's parameters name no task, a contact's deny for that action still
// turns an automatic allow into hold."
func (q question) leavingTheTaskOutNeverWidens(capability string, v verdict) verdict {
	if q.contact != "" || v.reason != "grant_allows" {
		return v
	}
	for _, g := range q.grants {
		if g.Contact != "" && g.Mode == policy.Deny && q.inForce(g) && covers(g.Capability, capability) {
			return verdict{outcome: "hold", reason: "contact_denies_action"}
		}
	}
	return v
}

func allowedBy(winner *policy.Grant) verdict {
	if winner != nil {
		return verdict{outcome: "allow", reason: "grant_allows"}
	}
	return verdict{outcome: "allow", reason: "mode_allows"}
}

func says(winner *policy.Grant, mode policy.GrantMode) bool {
	return winner != nil && winner.Mode == mode
}

// "Only one grant applies to each capability. Your node picks it in this order."
func (q question) whichGrantCounts(capability string) *policy.Grant {
	var candidates []policy.Grant
	for _, g := range q.grants {
		if q.inForce(g) && covers(g.Capability, capability) && (g.Contact == "" || g.Contact == q.contact) {
			candidates = append(candidates, g)
		}
	}
	if len(candidates) == 0 {
		return nil
	}
	sort.SliceStable(candidates, func(i, j int) bool { return beats(candidates[i], candidates[j], capability) })
	return &candidates[0]
}

func beats(a, b policy.Grant, capability string) bool {
	if exactA, exactB := a.Capability == capability, b.Capability == capability; exactA != exactB {
		return exactA // 1
	}
	if len(a.Capability) != len(b.Capability) {
		return len(a.Capability) > len(b.Capability) // 2
	}
	if (a.Contact != "") != (b.Contact != "") {
		return a.Contact != "" // 3
	}
	strictness := "allow ask deny"
	return strings.Index(strictness, string(a.Mode)) > strings.Index(strictness, string(b.Mode)) // 4
}

// "A grant can have an expiry time, after which it is ignored."
func (q question) inForce(g policy.Grant) bool {
	return g.ExpiresAt.IsZero() || q.now.Before(g.ExpiresAt)
}

// "Wildcards that cover every capability with that prefix."
func covers(pattern, capability string) bool {
	prefix, isWildcard := strings.CutSuffix(pattern, "*")
	return pattern == capability || (isWildcard && strings.HasPrefix(capability, prefix))
}

func isMessageOrTaskWrite(capability string) bool {
	return capability == "message.send" || capability == "task.create" || capability == "task.propose" ||
		capability == "task.respond" || capability == "task.cancel"
}

// "You can also name your own disclose. or action. capability, using lowercase
// letters, digits, hyphens and underscores, plus dots for actions."
func isOwnOrKnown(capability, family string, segments int) bool {
	parts := strings.Split(capability, ".")
	if parts[0] != family || len(parts) < 2 || len(parts)-1 > segments || len(capability) > 128 {
		return false
	}
	for _, part := range parts[1:] {
		if part == "" || strings.Trim(part, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
		for _, r := range part {
			if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-_", r) {
				return false
			}
		}
	}
	return true
}

func (q question) constraintsMatch(g policy.Grant) bool {
	if g.Constraints.MaxAmount != nil {
		// "The request must carry an amount that is a number no larger than this."
		amount, isNumber := numberIn(q.fields[q.amountField])
		if !isNumber || amount < 0 || amount > *g.Constraints.MaxAmount {
			return false
		}
	}
	for field, values := range g.Constraints.AllowedValues {
		carried, present := q.fields[field]
		if !present {
			// "A constrained wildcard grant such as disclose.* ignores a constrained field
			// that the proposal does not contain. A constrained exact grant does not."
			if g.Capability == "disclose.*" {
				continue
			}
			return false
		}
		if !fits(carried, values) {
			return false
		}
	}
	return true
}

// "For each named field, the values that are allowed. For a list every entry must
// be allowed."
func fits(carried any, values []any) bool {
	var entries []any
	switch list := carried.(type) {
	case []any:
		entries = list
	case []string:
		for _, entry := range list {
			entries = append(entries, entry)
		}
	default:
		entries = []any{carried}
	}
	for _, entry := range entries {
		found := false
		for _, value := range values {
			found = found || sameScalar(entry, value)
		}
		if !found {
			return false
		}
	}
	return true
}

func sameScalar(a, b any) bool {
	if x, ok := numberIn(a); ok {
		y, ok := numberIn(b)
		return ok && x == y
	}
	switch x := a.(type) {
	case string:
		y, ok := b.(string)
		return ok && x == y
	case bool:
		y, ok := b.(bool)
		return ok && x == y
	}
	return false
}

// numberIn is a JSON number within ±(2^53 − 1).
func numberIn(value any) (float64, bool) {
	var f float64
	switch v := value.(type) {
	case float64:
		f = v
	case int:
		f = float64(v)
	case int64:
		f = float64(v)
	case json.Number:
		parsed, err := v.Float64()
		if err != nil {
			return 0, false
		}
		f = parsed
	default:
		return 0, false
	}
	return f, f >= -9007199254740991 && f <= 9007199254740991
}
