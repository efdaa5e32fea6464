package dashboard

import (
	"encoding/json"
	"strconv"
	"strings"

	"agentlink/dashboard/view"
	"agentlink/node"
	"agentlink/policy"
)

// explain says why the rules decided as they did: what they knew, and for each
// capability the reason and the grant that won. nil where the decision is no
// longer kept.
func (v *visit) explain(tx node.Tx, decisionID string) (*view.Decision, error) {
	record, err := v.d.Decisions.Explain(tx, decisionID)
	if err != nil {
		return nil, ignoreNotFound(err)
	}
	grants, err := v.d.Policy.Grants(tx, record.AgentID, nil)
	if err != nil {
		return nil, err
	}
	byID := map[string]policy.Grant{}
	for _, g := range grants {
		byID[g.ID] = g
	}
	d := &view.Decision{DenyOnly: record.Facts.DenyOnly, RulesRev: record.RulesRev, Version: record.Version, Facts: factRows(record.Facts)}
	d.Outcome, d.Meaning = outcomeWords(record.Outcome)
	if len(record.Facts.Fields) > 0 {
		raw, err := json.Marshal(record.Facts.Fields)
		if err != nil {
			return nil, node.Wrap(err, "write the fields of a decision")
		}
		d.Fields = view.Rows(raw)
	}
	for _, answer := range record.Answers {
		d.Answers = append(d.Answers, answerOf(answer, record.AgentID, byID))
	}
	return d, nil
}

func answerOf(answer policy.Answer, agentID string, grants map[string]policy.Grant) view.DecisionAnswer {
	a := view.DecisionAnswer{Capability: answer.Capability, Why: whyWords[answer.Reason]}
	a.Outcome, a.Meaning = outcomeWords(answer.Outcome)
	if a.Why == "" {
		a.Why = view.Words(string(answer.Reason))
	}
	if answer.GrantID == "" {
		return a
	}
	grant, known := grants[answer.GrantID]
	if !known {
		a.Grant = view.Sentence{view.Plain("one that was removed since, "), view.Bold(answer.GrantID)}
		return a
	}
	a.Grant, a.GrantURL = wonBy(grant), grantsURL(agentID, grant.Contact)
	return a
}

// wonBy is a grant as it is now; what it constrains may have changed since.
func wonBy(g policy.Grant) view.Sentence {
	said := view.Sentence{view.Plain(string(g.Mode) + " "), view.Bold(g.Capability)}
	if g.Contact == "" {
		said = append(said, view.Plain(" for all contacts"))
	} else {
		said = append(said, view.Plain(" for "), view.Bold(g.Contact))
	}
	if !g.Constraints.Empty() {
		said = append(said, view.Plain(", with constraints"))
	}
	return said
}

// factRows are what a decision rested on, in the owner's words.
func factRows(f policy.Facts) []view.Parameter {
	rows := []view.Parameter{{Name: "The agent’s mode", Value: string(f.Mode)}, {Name: "The agent’s status", Value: string(f.Status)}}
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, view.Parameter{Name: name, Value: value})
		}
	}
	add("Contact", f.Contact)
	add("Connection", view.Words(f.Connection))
	if f.StructuredOnly {
		add("Free text to this contact", "always waits for you")
		add("Free text under", strings.Join(f.FreeText, ", "))
	}
	if f.AmountField != "" {
		add("Amount", amount(f))
	}
	return rows
}

func amount(f policy.Facts) string {
	switch value := f.Fields[f.AmountField].(type) {
	case nil:
		return "none (" + f.AmountField + " is not given)"
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64) + " (" + f.AmountField + ")"
	default:
		return text(value) + " (" + f.AmountField + ")"
	}
}
