package dashboard

import (
	"strings"

	"agentlink/dashboard/view"
	"agentlink/policy"
)

// turnTitles are the ways in which a decision can be turned, those that open the
// most first.
var turnTitles = []struct {
	before, after policy.Outcome
	title         string
}{
	{policy.Refused, policy.Allowed, "Refused, and would have gone ahead"},
	{policy.Held, policy.Allowed, "Waited for you, and would have gone ahead without you"},
	{policy.Refused, policy.Held, "Refused, and would have waited for you"},
	{policy.Allowed, policy.Held, "Went ahead, and would have waited for you"},
	{policy.Held, policy.Refused, "Waited for you, and would have been refused"},
	{policy.Allowed, policy.Refused, "Went ahead, and would have been refused"},
}

// shownTurned is how many rows of a kind are listed, and how many times in a row.
const shownTurned = 20

func pastTurns(past policy.Past) view.PastTurns {
	shown := view.PastTurns{Since: past.Since, Looked: past.Looked, Limit: policy.MaxReplayed, More: past.More, Turned: len(past.Turned)}
	for _, kind := range turnTitles {
		group := view.TurnedGroup{Title: kind.title, Opens: opened(kind.before, kind.after)}
		at := map[[2]string]int{}
		for _, t := range past.Turned {
			if t.Before == kind.before && t.After == kind.after {
				addTurned(&group, at, t)
			}
		}
		for _, row := range group.Rows[min(len(group.Rows), shownTurned):] {
			group.Rest += row.Count
		}
		if group.Rows = group.Rows[:min(len(group.Rows), shownTurned)]; group.Count > 0 {
			shown.Groups = append(shown.Groups, group)
		}
	}
	return shown
}

// addTurned adds a decision to the row about the same thing and contact.
func addTurned(group *view.TurnedGroup, at map[[2]string]int, t policy.Turned) {
	var asked []string
	for _, turn := range t.Why {
		asked = append(asked, capabilityName(turn.After.Capability))
	}
	key := [2]string{strings.Join(asked, " · "), t.Facts.Contact}
	i, known := at[key]
	if !known {
		i = len(group.Rows)
		at[key] = i
		group.Rows = append(group.Rows, view.TurnedRow{Asked: key[0], Contact: key[1]})
	}
	row := &group.Rows[i]
	row.Count++
	group.Count++
	if len(row.Times) < shownTurned {
		row.Times = append(row.Times, turnedTime(t))
	}
}

func turnedTime(t policy.Turned) view.TurnedTime {
	at := view.TurnedTime{At: t.At}
	if t.TaskUID != "" {
		at.TaskURL = "/tasks/" + t.TaskUID
	}
	if t.Outcome != t.Before {
		at.Then = thenWords[t.Outcome]
	}
	return at
}

// thenWords are for decisions that the rules would make otherwise today.
var thenWords = map[policy.Outcome]string{
	policy.Allowed: "It went ahead, by the rules of that day.",
	policy.Held:    "It waited for you, by the rules of that day.",
	policy.Refused: "It was refused, by the rules of that day.",
}
