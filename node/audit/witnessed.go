package audit

import (
	"slices"

	"agentlink/node"
)

// What becomes of asking a contact that gives no heads.
const (
	Unreachable Verdict = "unreachable"
	Refused     Verdict = "refused" // it does not know us as an active contact
	TooOld      Verdict = "too_old" // its node keeps no heads
)

// bad are the verdicts that an owner has to look at.
var bad = []Verdict{Restored, NotOurs, Fewer, Differs}

// Witnessed is the log compared with what all contacts keep of it.
type Witnessed struct {
	Log      Report        `json:"log"` // the log by itself; what it says of rows counts only where it is whole
	Contacts []WitnessedBy `json:"contacts"`
}

// WitnessedBy is what came of one contact.
type WitnessedBy struct {
	Contact      string `json:"contact"`
	Address      string `json:"agent"` // of our agent
	ConnectionID string `json:"connectionId"`
	Comparison
}

// OK says whether the log is whole and nothing that a contact keeps speaks against
// it. It is true where nobody was asked.
func (w Witnessed) OK() bool {
	return w.Log.OK() && !slices.ContainsFunc(w.Contacts, func(c WitnessedBy) bool { return slices.Contains(bad, c.Verdict) })
}

// Count counts the contacts of some verdicts.
func (w Witnessed) Count(which ...Verdict) (count int) {
	for _, c := range w.Contacts {
		if slices.Contains(which, c.Verdict) {
			count++
		}
	}
	return count
}

// Event is what the log says of the comparison.
func (w Witnessed) Event(owner node.Actor) Event {
	return Event{Type: Compared, Actor: owner, Data: map[string]any{
		"whole": w.Log.OK(), "asked": len(w.Contacts), "agree": w.Count(Agrees), "speakAgainst": w.Count(bad...),
		"withoutAnswer": w.Count(Unreachable, Refused, TooOld, Nothing),
	}}
}
