package dashboard

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"agentlink/dashboard/view"
	"agentlink/policy"
)

// contactOf is the contact that a plan is for; "" for the agent as a whole.
func contactOf(s policy.Steps) string {
	switch {
	case s.Set != nil:
		return s.Set.Contact
	case len(s.Ends) > 0:
		return s.Ends[0].Contact
	}
	return ""
}

// planWords says a plan in one sentence.
func planWords(s policy.Steps) view.Sentence {
	handle := view.Bold(s.Agent.Handle)
	switch {
	case s.Mode != "":
		return view.Sentence{handle, view.Plain(" becomes "), view.Bold(string(s.Mode)), view.Plain(" – it " + modeWords[s.Mode].says + ".")}
	case s.Set == nil:
		words := view.Sentence{view.Plain("The grant "), view.Bold(s.Ends[0].Capability + " " + string(s.Ends[0].Mode)), view.Plain(" of "), handle}
		return append(whom(words, s.Ends[0].Contact), view.Plain(" ends."))
	}
	g := *s.Set
	may, how := " may ", ""
	switch g.Mode {
	case policy.Allow:
		how = " without asking you"
	case policy.Ask:
		how = " once you approve it"
	case policy.Deny:
		may = " may not "
	}
	words := whom(view.Sentence{handle, view.Plain(may), view.Bold(lowerFirst(capabilityName(g.Capability)))}, g.Contact)
	words = append(words, view.Plain(how))
	if !g.ExpiresAt.IsZero() {
		words = append(words, view.Plain(", until "+g.ExpiresAt.UTC().Format("2 Jan 2006, 15:04")+" UTC"))
	}
	return append(words, view.Plain("."))
}

func whom(words view.Sentence, contact string) view.Sentence {
	if contact == "" {
		return words
	}
	return append(words, view.Plain(" towards "), view.Bold(contact))
}

func saveWord(s policy.Steps) string {
	switch {
	case s.Mode != "":
		return "Make it " + string(s.Mode)
	case s.Set == nil:
		return "Remove the grant"
	}
	return "Save this grant"
}

// nothingNew says whether a plan writes what is there already.
func nothingNew(s policy.Steps, grants []policy.Grant) bool {
	switch {
	case s.Mode != "":
		return s.Mode == s.Agent.Mode
	case s.Set == nil || len(s.Ends) > 0 || s.Set.ID == "":
		return false
	}
	at := slices.IndexFunc(grants, func(g policy.Grant) bool { return g.ID == s.Set.ID })
	return at >= 0 && grants[at].ExpiresAt.Equal(s.Set.ExpiresAt)
}

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

// modeHolds says where the mode holds what a grant allows.
func modeHolds(f policy.Foreseen) (list []string) {
	seen := map[policy.Reason]bool{}
	for _, answer := range f.After[0].Answers {
		if seen[answer.Reason] {
			continue
		}
		seen[answer.Reason] = true
		switch answer.Reason {
		case policy.ModeManual:
			list = append(list, f.Agent.Handle+" is in manual mode: messages and tasks wait for you all the same.")
		case policy.ModeNotAutonomous:
			list = append(list, f.Agent.Handle+" is not autonomous: connecting and actions wait for you all the same.")
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

// withDone adds the word for what was just done to an address.
func withDone(path, word string) string {
	if strings.Contains(path, "?") {
		return path + "&done=" + word
	}
	return path + "?done=" + word
}
