package dashboard

import (
	"encoding/json"
	"fmt"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/dashboard/view"
	"agentlink/node"
)

// steps is the timeline: each message of our copy, what it says, whether it
// arrived, and for each proposal how it differs from the version before it.
func (s *seenTask) steps() []view.Step {
	var steps []view.Step
	versions := map[int]json.RawMessage{}
	for _, m := range s.log {
		step := view.Step{Who: s.who(s.by(m)), Owner: m.Author == "owner", At: m.CreatedAt}
		if step.Owner && m.Direction == coordination.Out {
			step.Who, step.Owner = "You", false
		}
		step.Meaning, step.Delivery = delivery(m)
		if m.Void {
			step.VoidWhy = voidWords(m.VoidReason)
		}
		proposal := s.say(&step, m)
		if proposal != nil {
			s.compare(&step, *proposal, versions)
			if !m.Void {
				versions[proposal.Version] = proposal.Fields
			}
		}
		steps = append(steps, step)
	}
	return steps
}

func (s *seenTask) by(m coordination.Message) coordination.Role {
	if m.Direction == coordination.In {
		return s.Role.Other()
	}
	return s.Role
}

// compare sets a step's terms beside the version before it.
func (s *seenTask) compare(step *view.Step, p wire.Proposal, versions map[int]json.RawMessage) {
	step.Version, step.Terms = p.Version, labelled(p.Fields, s.labels())
	before, known := versions[p.Version-1]
	if step.First = !known; known {
		step.Changes = differences(before, p.Fields, s.labels())
	}
}

// say puts a message into words, and gives the proposal that it carries, if any.
func (s *seenTask) say(step *view.Step, m coordination.Message) *wire.Proposal {
	step.What = "sent something that cannot be read"
	switch m.Type {
	case wire.TaskCreate:
		var create wire.Create
		if !readable(m, &create) {
			return nil
		}
		if step.What = "started the task"; create.Proposal != nil {
			step.What = "started the task with a first proposal"
		}
		return create.Proposal
	case wire.TaskPropose:
		var proposal wire.Proposal
		if !readable(m, &proposal) {
			return nil
		}
		step.What = fmt.Sprintf("proposed version %d", proposal.Version)
		return &proposal
	case wire.TaskRespond:
		var response wire.Response
		if readable(m, &response) {
			verb := map[string]string{wire.Accept: "accepted", wire.Reject: "rejected"}[response.Decision]
			step.What, step.Reason = fmt.Sprintf("%s version %d", verb, response.Version), response.Reason
		}
	case wire.TaskCancel:
		var cancel wire.Cancel
		if readable(m, &cancel) {
			step.What, step.Reason = "cancelled the task", cancel.Reason
		}
	case wire.TaskConfirm:
		var confirm wire.Confirm
		if readable(m, &confirm) {
			step.What, step.Code = "confirmed that it is carried out", confirm.Code
		}
	}
	return nil
}

func readable(m coordination.Message, into any) bool { return node.Decode(m.Content, into) == nil }

// delivery says whether the other side has a message of ours.
func delivery(m coordination.Message) (view.Meaning, string) {
	if m.Direction == coordination.In {
		return "", ""
	}
	switch m.Status {
	case coordination.MsgDelivered:
		return view.OK, "delivered"
	case coordination.MsgRejected:
		if m.Code == string(node.ReasonApprovalExpired) { // nobody said no
			return view.Ended, "expired: " + why(m.Code)
		}
		return view.No, "rejected: " + why(m.Code)
	case coordination.MsgFailed:
		return view.No, "not sent: " + why(m.Code)
	}
	if m.AttemptedAt.IsZero() {
		return view.Neutral, "not sent yet"
	}
	return view.Neutral, "sent, not answered yet"
}

// voidWords says why a message does not count.
func voidWords(reason string) string {
	if reason == wire.CodeVersionConflict {
		return "crossed, superseded"
	}
	return "does not count: " + why(reason)
}
