package dashboard

import (
	"slices"
	"strconv"
	"time"

	"agentlink/policy"
)

// warnings are what a plan opens beyond what one may expect.
func warnings(f policy.Foreseen, grants []policy.Grant) (list []string) {
	if count := openedContacts(f, grants); f.Set != nil && f.Set.Contact == "" && count > 0 {
		list = append(list, "It opens for "+plural(count, "contact")+", although grants of their own hold it back today: a grant for the exact capability counts before a contact's wildcard.")
	}
	for _, end := range f.Ends {
		if f.Set != nil && !f.Set.ExpiresAt.IsZero() && end.ExpiresAt.IsZero() {
			list = append(list, "The "+string(end.Mode)+" is removed for good. It does not come back when this "+string(f.Set.Mode)+" ends.")
		}
	}
	return list
}

// openedContacts counts the contacts for whom something goes ahead that a grant of
// their own holds back today.
func openedContacts(f policy.Foreseen, grants []policy.Grant) (count int) {
	for i, before := range f.Before {
		for j, was := range before.Answers {
			own := slices.ContainsFunc(grants, func(g policy.Grant) bool { return g.ID == was.GrantID && g.Contact != "" })
			if own && was.Outcome != policy.Allowed && f.After[i].Answers[j].Outcome == policy.Allowed {
				count += len(before.Contacts)
				break
			}
		}
	}
	return count
}

// notes are what keeps a plan from doing what one may expect.
func notes(f policy.Foreseen, grants []policy.Grant, now time.Time) (list []string) {
	if f.AsIfEnabled {
		list = append(list, f.Agent.Handle+" is disabled and can do nothing. What follows is what would hold once you enable it.")
	}
	if f.Set == nil {
		return list
	}
	list = append(list, neighbours(f, grants, now)...)
	if count := untouched(f); count > 0 {
		list = append(list, "For "+plural(count, "contact")+" nothing changes: grants that count before this one say something else.")
	}
	if f.Set.Mode == policy.Allow {
		list = append(list, modeHolds(f)...)
	}
	return list
}

// neighbours are the grants of the same capability and contact that stay.
func neighbours(f policy.Foreseen, grants []policy.Grant, now time.Time) (list []string) {
	order := func(mode policy.GrantMode) int { return slices.Index(policy.GrantModes, mode) }
	for _, g := range grants {
		live := g.ExpiresAt.IsZero() || now.Before(g.ExpiresAt)
		stays := !slices.ContainsFunc(f.Ends, func(end policy.Grant) bool { return end.ID == g.ID })
		if g.Contact != f.Set.Contact || g.Capability != f.Set.Capability || g.Mode == f.Set.Mode || !live || !stays {
			continue
		}
		if order(g.Mode) < order(f.Set.Mode) {
			list = append(list, "The "+string(g.Mode)+" for the same capability stays and counts before this "+string(f.Set.Mode)+".")
		} else {
			list = append(list, "The "+string(g.Mode)+" for the same capability stays beneath, and counts again once this "+string(f.Set.Mode)+" is gone.")
		}
	}
	return list
}

// untouched counts the contacts for whom nothing changes, where something does for
// those without grants of their own.
func untouched(f policy.Foreseen) (count int) {
	changes := func(i int) bool {
		for j, was := range f.Before[i].Answers {
			if was.Differs(f.After[i].Answers[j]) {
				return true
			}
		}
		return false
	}
	if !changes(0) {
		return 0
	}
	for i, place := range f.Before {
		if !changes(i) {
			count += len(place.Contacts)
		}
	}
	return count
}

// heldByMode are the reasons that lie in the mode, whatever a grant allows.
var heldByMode = map[policy.Reason]string{
	policy.ModeManual:        " is in manual mode: messages and tasks wait for you all the same.",
	policy.ModeNotAutonomous: " is not autonomous: connecting and actions wait for you all the same.",
}

// modeHolds says where the mode holds what a grant allows.
func modeHolds(f policy.Foreseen) (list []string) {
	for _, answer := range f.After[0].Answers {
		if words, held := heldByMode[answer.Reason]; held && !slices.Contains(list, f.Agent.Handle+words) {
			list = append(list, f.Agent.Handle+words)
		}
	}
	return list
}

func plural(count int, one string) string {
	if count == 1 {
		return "one " + one
	}
	return strconv.Itoa(count) + " " + one + "s"
}
