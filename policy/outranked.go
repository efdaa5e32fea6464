package policy

import (
	"slices"
	"strings"
	"time"
)

// Outranked is a grant that covers a capability and does not count, and why.
type Outranked struct {
	Grant Grant
	By    Rank
}

// Rank is a rule of precedence, see package rego. The list is closed.
type Rank string

// The ranks, the first rule first.
const (
	Exact   Rank = "exact"   // the exact capability before a wildcard
	Longer  Rank = "longer"  // a longer wildcard before a shorter one
	Closer  Rank = "closer"  // the contact's grant before an agent-wide one
	Sterner Rank = "sterner" // deny before ask before allow
)

// Outranks lists the grants that would say something else than the one that won
// an answer towards a contact, and the rule by which it won. It only explains: the
// winner is the engine's.
func Outranks(answer Answer, contact string, grants []Grant, now time.Time) []Outranked {
	at := slices.IndexFunc(grants, func(g Grant) bool { return g.ID == answer.GrantID })
	if answer.GrantID == "" || at < 0 {
		return nil
	}
	winner := grants[at]
	var list []Outranked
	for _, g := range grants {
		if g.Mode == winner.Mode || g.expired(now) || (g.Contact != "" && g.Contact != contact) || !coveredBy(answer.Capability, []string{g.Capability}) {
			continue
		}
		list = append(list, Outranked{g, rank(winner, g)})
	}
	return list
}

func rank(winner, other Grant) Rank {
	switch {
	case winner.Capability != other.Capability && !strings.HasSuffix(winner.Capability, ".*"):
		return Exact
	case winner.Capability != other.Capability:
		return Longer
	case winner.Contact != other.Contact:
		return Closer
	}
	return Sterner
}
