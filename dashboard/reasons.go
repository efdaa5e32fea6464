package dashboard

import (
	"strings"

	"agentlink/approvals"
	"agentlink/dashboard/view"
	"agentlink/node"
	"agentlink/policy"
)

// reasonWord is why a capability needed the owner.
func reasonWord(reason string) string {
	if words, known := whyWords[policy.Reason(reason)]; known {
		return words
	}
	return view.Words(reason)
}

// because says in a line why an approval waits.
func because(a approvals.Approval) string {
	lines := make([]string, 0, len(a.Held))
	for _, capability := range sortedKeys(a.Held) {
		lines = append(lines, capabilityName(capability)+": "+reasonWord(a.Held[capability]))
	}
	return strings.Join(lines, " · ")
}

// reasons say for each capability why an approval waits, with the grant that
// held it.
func (v *visit) reasons(tx node.Tx, a approvals.Approval) ([]view.Reason, error) {
	answers, err := v.heldBy(tx, a)
	if err != nil {
		return nil, err
	}
	grants, err := v.d.Policy.Grants(tx, a.AgentID, nil)
	if err != nil {
		return nil, err
	}
	byID := map[string]policy.Grant{}
	for _, g := range grants {
		byID[g.ID] = g
	}
	list := make([]view.Reason, 0, len(a.Held))
	for _, capability := range sortedKeys(a.Held) {
		reason := view.Reason{Name: capabilityName(capability), Capability: capability, Why: reasonWord(a.Held[capability])}
		if answer, known := answers[capability]; known && ofGrants[answer.Reason] {
			won := answerOf(answer, a.AgentID, byID)
			reason.Grant, reason.GrantURL = won.Grant, won.GrantURL
		}
		list = append(list, reason)
	}
	return list, nil
}

// heldBy finds the answers of the rules by which an approval came to wait: they
// were written at the same moment. None, where they are no longer kept.
func (v *visit) heldBy(tx node.Tx, a approvals.Approval) (map[string]policy.Answer, error) {
	records, err := v.d.Tally.DecisionsAt(tx, a.AgentID, a.CreatedAt)
	for _, record := range records {
		answers := map[string]policy.Answer{}
		for _, answer := range record.Answers {
			if a.Held[answer.Capability] == string(answer.Reason) {
				answers[answer.Capability] = answer
			}
		}
		if len(answers) == len(a.Held) {
			return answers, err
		}
	}
	return nil, err
}
