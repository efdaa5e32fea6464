package dashboard

import (
	"strings"

	"agentlink/dashboard/view"
	"agentlink/policy"
)

// turnsNow lists the answers that would be others, those that are alike in several
// places once.
func turnsNow(f policy.Foreseen) (rows []view.TurnRow) {
	type key struct {
		capability         string
		before, beforeElse policy.Outcome
		after, afterElse   policy.Outcome
		reason             policy.Reason
		limits             string // the grant whose limits are shown
	}
	at, where := map[key]int{}, [][]policy.Place{}
	for i, before := range f.Before {
		for j, was := range before.Answers {
			would := f.After[i].Answers[j]
			if !was.Differs(would) {
				continue
			}
			k := key{was.Capability, was.Outcome, was.Otherwise, would.Outcome, would.Otherwise, would.Reason, ""}
			if would.Otherwise != "" {
				k.limits = would.GrantID
			}
			row, known := at[k]
			if !known {
				row = len(rows)
				at[k] = row
				rows, where = append(rows, turnRow(was, would)), append(where, nil)
			}
			where[row] = append(where[row], before)
		}
	}
	for i := range rows {
		rows[i].Where = whereWords(rows[i].Capability, where[i], len(f.Before))
	}
	return rows
}

func turnRow(was, would policy.Answer) view.TurnRow {
	turn := view.TurnRow{
		Capability: was.Capability, Name: capabilityName(was.Capability), Before: answerChip(was), After: answerChip(would),
		Why: whyText(would.Reason) + ".", Limits: answerChip(would).Unless, Opens: opened(was.Outcome, would.Outcome),
	}
	if would.Otherwise == "" && was.Otherwise != "" && would.Outcome == policy.Allowed {
		turn.Limits = view.Sentence{view.Plain("Without limits from then on.")}
	}
	return turn
}

// whereWords says in which of all places something holds. A plan for one contact
// has one place, of which nothing needs to be said.
func whereWords(capability string, places []policy.Place, all int) view.Sentence {
	switch {
	case all == 1:
		return nil
	case len(places) == all:
		return view.Sentence{view.Plain("For everybody.")}
	}
	var words view.Sentence
	var contacts []string
	for _, place := range places {
		if place.Contacts == nil {
			words = view.Sentence{view.Plain(elsewhere(capability))}
		}
		contacts = append(contacts, place.Contacts...)
	}
	if len(contacts) == 0 {
		return words
	}
	if len(words) > 0 {
		words = append(words, view.Plain(" "))
	}
	return append(append(words, view.Plain("Towards ")), contactWords(contacts)...)
}

// elsewhere is the place that has no contact's grants.
func elsewhere(capability string) string {
	if strings.HasPrefix(capability, "action.") {
		return "Where it belongs to no task, and for contacts without grants of their own."
	}
	return "For contacts without grants of their own."
}

func opened(before, after policy.Outcome) bool {
	return before == policy.Refused && after == policy.Allowed
}
