package dashboard

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"agentlink/dashboard/view"
	"agentlink/policy"
)

// outcomes are the answers of the rules in the owner's words.
var outcomes = map[policy.Outcome]struct {
	meaning    view.Meaning
	word, verb string
}{
	policy.Allowed: {view.OK, "Goes ahead", "it goes ahead"},
	policy.Held:    {view.Waits, "Waits for you", "it waits for you"},
	policy.Refused: {view.No, "Refused", "it is refused"},
}

func answerChip(a policy.Answer) view.AnswerChip {
	words := outcomes[a.Outcome]
	chip := view.AnswerChip{Meaning: words.meaning, Word: words.word}
	if a.Otherwise == "" {
		return chip
	}
	if a.Constraints == nil {
		chip.Unless = view.Sentence{view.Plain("With free text " + outcomes[a.Otherwise].verb + ".")}
		return chip
	}
	chip.Unless = view.Sentence{view.Plain("Only where ")}
	for i, limit := range constraintWords(*a.Constraints) {
		if i > 0 {
			chip.Unless = append(chip.Unless, view.Plain(" and "))
		}
		chip.Unless = append(chip.Unless, view.Bold(limit.Name+" "+limit.Value))
	}
	chip.Unless = append(chip.Unless, view.Plain(" – otherwise "+outcomes[a.Otherwise].verb+"."))
	return chip
}

// constraintWords are the constraints of a grant, one for each row.
func constraintWords(c policy.Constraints) (rows []view.Parameter) {
	if c.MaxAmount != nil {
		rows = append(rows, view.Parameter{Name: "the amount", Value: "is at most " + strconv.FormatFloat(*c.MaxAmount, 'f', -1, 64)})
	}
	for _, field := range sortedKeys(c.AllowedValues) {
		var values []string
		for _, value := range c.AllowedValues[field] {
			values = append(values, scalar(value))
		}
		rows = append(rows, view.Parameter{Name: field, Value: "is " + strings.Join(values, " or ")})
	}
	return rows
}

func scalar(value any) string {
	switch v := value.(type) {
	case string:
		return "“" + v + "”"
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// whyText is a reason as the beginning of a sentence of its own.
func whyText(reason policy.Reason) string {
	words := whyWords[reason]
	return strings.ToUpper(words[:1]) + words[1:]
}

// ofGrants are the reasons that lie in the grant that counts. The others hold
// whatever the grants say.
var ofGrants = map[policy.Reason]bool{
	policy.GrantAllows: true, policy.GrantAsks: true, policy.GrantDenies: true, policy.ConstraintsNotMatched: true,
}

// answerRow says what holds for a capability towards a contact, and why.
func answerRow(a policy.Answer, contact string, grants []policy.Grant, now time.Time) view.AnswerRow {
	row := view.AnswerRow{Capability: a.Capability, Name: capabilityName(a.Capability), Answer: answerChip(a), Why: whyText(a.Reason)}
	at := slices.IndexFunc(grants, func(g policy.Grant) bool { return g.ID == a.GrantID })
	if at < 0 || !ofGrants[a.Reason] {
		return row
	}
	winner := grants[at]
	row.Grant = &view.GrantName{Capability: winner.Capability, Mode: string(winner.Mode), Contact: winner.Contact}
	for _, beaten := range policy.Outranks(a, contact, grants, now) {
		row.Notes = append(row.Notes, outranked(winner, beaten))
	}
	return row
}

var rankWords = map[policy.Rank]string{
	policy.Exact:   "a grant for the exact capability counts before a wildcard",
	policy.Longer:  "the longer wildcard counts before the shorter one",
	policy.Closer:  "a contact's grant counts before an agent-wide one",
	policy.Sterner: "deny counts before ask, and ask before allow",
}

// outranked says why a grant does not count here, and where that may surprise, how
// it could be.
func outranked(winner policy.Grant, o policy.Outranked) view.Sentence {
	whose := "The agent-wide "
	if o.Grant.Contact != "" {
		whose = "The contact's own "
	}
	words := view.Sentence{
		view.Plain(whose), view.Bold(o.Grant.Capability), view.Plain(" " + string(o.Grant.Mode) + " does not count: " + rankWords[o.By]),
	}
	if winner.Contact == "" && o.Grant.Contact != "" {
		words = append(words, view.Plain(", even an agent-wide one before a contact's"))
	}
	return append(words, view.Plain("."))
}

func answersTowards(answers []policy.Answer, contact string, grants []policy.Grant, now time.Time) []view.AnswerRow {
	rows := make([]view.AnswerRow, len(answers))
	for i, a := range answers {
		rows[i] = answerRow(a, contact, grants, now)
	}
	return rows
}

// answersEverywhere says what holds agent-wide, and for which contacts something
// else does. The first place is that of contacts without grants of their own.
func answersEverywhere(places []policy.Place, grants []policy.Grant, now time.Time) []view.AnswerRow {
	rows := answersTowards(places[0].Answers, "", grants, now)
	for i, wide := range places[0].Answers {
		for _, e := range exceptions(places[1:], i, wide) {
			words := append(view.Sentence{view.Plain(outcomes[e.answer.Outcome].word + " towards ")}, contactWords(e.contacts)...)
			words = append(words, view.Plain(" – "+whyWords[e.answer.Reason]+"."))
			if unless := answerChip(e.answer).Unless; len(unless) > 0 {
				words = append(append(words, view.Plain(" ")), unless...)
			}
			rows[i].Notes = append(rows[i].Notes, words)
		}
	}
	return rows
}

// exception is an answer that holds for some contacts instead of the agent-wide one.
type exception struct {
	answer   policy.Answer
	contacts []string
}

// exceptions puts together the contacts with the same answer to a capability.
func exceptions(places []policy.Place, capability int, wide policy.Answer) (list []exception) {
	for _, place := range places {
		a := place.Answers[capability]
		if !a.Differs(wide) {
			continue
		}
		at := slices.IndexFunc(list, func(e exception) bool {
			return !e.answer.Differs(a) && e.answer.Reason == a.Reason && a.Constraints == nil && e.answer.Constraints == nil
		})
		if at < 0 {
			at = len(list)
			list = append(list, exception{answer: a})
		}
		list[at].contacts = append(list[at].contacts, place.Contacts...)
	}
	return list
}

// namedContacts is how many contacts a sentence names.
const namedContacts = 3

// contactWords names contacts: the first ones, and how many more.
func contactWords(contacts []string) (words view.Sentence) {
	named, rest := contacts[:min(len(contacts), namedContacts)], len(contacts)-namedContacts
	for i, contact := range named {
		switch {
		case i > 0 && i == len(named)-1 && rest <= 0:
			words = append(words, view.Plain(" and "))
		case i > 0:
			words = append(words, view.Plain(", "))
		}
		words = append(words, view.Bold(contact))
	}
	switch {
	case rest == 1:
		words = append(words, view.Plain(" and one more"))
	case rest > 1:
		words = append(words, view.Plain(" and "+strconv.Itoa(rest)+" more"))
	}
	return words
}
