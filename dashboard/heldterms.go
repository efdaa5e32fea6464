package dashboard

import (
	"encoding/json"
	"fmt"

	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/dashboard/view"
)

// heldTerms is what a held task write proposes, or what it answers: under the
// labels of its kind of task, and beside the version before it.
func heldTerms(a approvals.Approval, task coordination.Task) (terms view.HeldTerms) {
	var h held
	if a.Kind != approvals.Message || json.Unmarshal(a.Parameters, &h) != nil {
		return terms
	}
	taskType, _ := coordination.TypeOf(task.Type)
	switch h.Type {
	case wire.TaskCreate:
		var create struct {
			TaskType string         `json:"taskType"`
			Proposal *wire.Proposal `json:"proposal"`
		}
		if json.Unmarshal(h.Content, &create) == nil && create.Proposal != nil {
			taskType, _ = coordination.TypeOf(create.TaskType)
			terms.Of, terms.Rows = "What it tells them", askedRows(create.Proposal.Fields, taskType, a)
		}
	case wire.TaskPropose:
		var proposal wire.Proposal
		if json.Unmarshal(h.Content, &proposal) != nil {
			return terms
		}
		terms.Of, terms.Rows = fmt.Sprintf("What version %d says", proposal.Version), askedRows(proposal.Fields, taskType, a)
		if before := task.Copy.Version(proposal.Version - 1); before != nil {
			terms.Version, terms.Changes = proposal.Version, differences(before.Fields, proposal.Fields, taskType.Labels)
		}
	case wire.TaskRespond:
		var response wire.Response
		if json.Unmarshal(h.Content, &response) != nil {
			return terms
		}
		// What is answered is named by its digest; terms of another one would mislead.
		if proposal := task.Copy.Version(response.Version); proposal != nil && proposal.Digest == response.Digest {
			terms.Of, terms.Rows = fmt.Sprintf("What version %d says", response.Version), labelled(proposal.Fields, taskType.Labels)
		}
	}
	return terms
}

// heldChat is a held chat message: to whom, and its text with its lines. The text
// of anything else is "".
func heldChat(agent string, a approvals.Approval) (what view.Sentence, text string) {
	var h held
	var chat wire.Chat
	if a.Kind != approvals.Message || json.Unmarshal(a.Parameters, &h) != nil || h.Type != wire.Message || json.Unmarshal(h.Content, &chat) != nil {
		return nil, ""
	}
	return view.Sentence{view.Bold(agent), view.Plain(" writes to "), view.Bold(h.Recipient)}, chat.Text
}

// askedRows marks the fields for whose kind of detail the owner is asked.
func askedRows(raw json.RawMessage, taskType coordination.TaskType, a approvals.Approval) (rows []view.Parameter) {
	fields := fieldsOf(raw)
	for _, name := range sortedKeys(fields) {
		_, asked := a.Held[taskType.Disclosures[name]]
		for _, r := range flat(label(name, taskType.Labels), fields[name]) {
			rows = append(rows, view.Parameter{Name: r.Path, Value: r.Value, Asked: asked})
		}
	}
	return rows
}
