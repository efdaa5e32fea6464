package dashboard

import (
	"fmt"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/dashboard/view"
)

// taskStatus is the status of a task as its owner reads it.
func taskStatus(task coordination.Task) (word string, meaning view.Meaning) {
	switch {
	case task.Held && task.Status.Ended():
		return "never started", view.Ended
	case task.Held:
		return "waits to be started", view.Waits
	}
	return view.Words(string(task.Status)), statusMeanings[task.Status]
}

var statusMeanings = map[coordination.Status]view.Meaning{
	coordination.Open: view.Neutral, coordination.Negotiating: view.Neutral, coordination.Agreed: view.OK,
	coordination.AwaitingApproval: view.Waits, coordination.Confirmed: view.OK, coordination.CancelledTask: view.Ended, coordination.ExpiredTask: view.Ended,
}

// stands says in a sentence where a task stands.
func (s *seenTask) stands() view.Sentence {
	title := s.title
	if title == "" {
		title = s.Type
	}
	begin := view.Sentence{view.Bold(title), view.Plain(" with "), view.Bold(s.Contact), view.Plain(" – ")}
	return append(begin, s.standing()...)
}

func (s *seenTask) standing() view.Sentence {
	switch {
	case s.Held && s.Status.Ended():
		return view.Sentence{view.Plain("it never started, and nothing of it has left this node")}
	case s.Held:
		return view.Sentence{view.Plain("it has not started; that waits for you")}
	}
	switch s.Status {
	case coordination.Negotiating:
		return s.negotiating()
	case coordination.Agreed, coordination.AwaitingApproval:
		return s.agreed()
	case coordination.Confirmed:
		return s.confirmed()
	case coordination.CancelledTask:
		return s.cancelled()
	case coordination.ExpiredTask:
		return s.expired()
	}
	return view.Sentence{view.Plain("it is open, and nobody has proposed anything yet")}
}

// who names a side.
func (s *seenTask) who(role coordination.Role) string {
	if role == s.Role {
		return s.agent
	}
	return s.Contact
}

func (s *seenTask) negotiating() view.Sentence {
	latest := s.Copy.Latest()
	if latest == nil {
		return view.Sentence{view.Plain("no proposal stands; somebody has to make one")}
	}
	version := fmt.Sprintf("version %d", latest.Version)
	if latest.Status == coordination.ProposalRejected {
		return view.Sentence{view.Bold(s.who(latest.RejectedBy)), view.Plain(" rejected " + version + "; nobody has proposed another one yet")}
	}
	return view.Sentence{
		view.Bold(s.who(latest.Author)), view.Plain(" proposed " + version + ", and "),
		view.Bold(s.who(latest.Author.Other())), view.Plain(" has not answered yet"),
	}
}

func (s *seenTask) agreed() view.Sentence {
	said := view.Sentence{view.Plain(fmt.Sprintf("both accepted version %d", s.Copy.Accepted))}
	add := func(words ...view.Word) { said = append(said, words...) }
	taskType, _ := coordination.TypeOf(s.Type)
	switch {
	case s.RunID != "":
		add(view.Plain("; "), view.Bold(taskType.Action), view.Plain(" is being carried out now"))
	case s.Status == coordination.AwaitingApproval:
		add(view.Plain("; "), view.Bold(taskType.Action), view.Plain(" was asked for and waits for approval on this node; the other side sees the task as agreed"))
	case !s.acceptanceArrived():
		add(view.Plain("; nothing runs until "), view.Bold(s.Contact), view.Plain(" has answered that our acceptance arrived"))
	case taskType.Action == "":
		add(view.Plain(", and that is all there was to do"))
	default:
		add(view.Plain("; "), view.Bold(taskType.Action), view.Plain(" is up to "), view.Bold(s.who(taskType.ExecutingRole)))
	}
	return said
}

// acceptanceArrived says whether the acceptance is the peer's, or ours and known
// to have arrived.
func (s *seenTask) acceptanceArrived() bool {
	accepted := s.Copy.AcceptedProposal()
	if accepted == nil || accepted.Author == s.Role {
		return true
	}
	m, ok := s.message(s.Copy.AcceptedBy)
	return ok && m.Status == coordination.MsgDelivered
}

func (s *seenTask) message(id string) (coordination.Message, bool) {
	for _, m := range s.log {
		if m.ID == id {
			return m, true
		}
	}
	return coordination.Message{}, false
}

func (s *seenTask) confirmed() view.Sentence {
	c := s.Copy.Confirmation
	if c == nil {
		return view.Sentence{view.Plain("it is confirmed")}
	}
	said := view.Sentence{view.Bold(s.who(c.By)), view.Plain(" carried out "), view.Bold(c.Action)}
	if c.Code != "" {
		said = append(said, view.Plain(" with the code "), view.Bold(c.Code))
	}
	if c.Simulated {
		said = append(said, view.Plain(" – it was simulated, and nothing outside was touched"))
	}
	return said
}

func (s *seenTask) cancelled() view.Sentence {
	if s.Copy.EndedBy == "" {
		return view.Sentence{view.Plain("it is cancelled, since its start did not reach the other side")}
	}
	said := view.Sentence{view.Bold(s.who(s.Copy.EndedBy)), view.Plain(" cancelled it")}
	if s.Copy.CancelReason != "" {
		return append(said, view.Plain(" and gave a reason – "), view.Bold(s.Copy.CancelReason))
	}
	return said
}

func (s *seenTask) expired() view.Sentence {
	if s.Copy.Accepted > 0 {
		return view.Sentence{view.Plain(fmt.Sprintf("its time ran out: both had accepted version %d, and nobody carried it out in time", s.Copy.Accepted))}
	}
	return view.Sentence{view.Plain("its time ran out before both sides agreed")}
}

// terms is what both sides accepted, or else what is on the table.
func (s *seenTask) terms() (of string, rows []view.Parameter) {
	proposal, what := s.Copy.AcceptedProposal(), "accepted by both sides"
	if proposal == nil {
		if proposal = s.Copy.Latest(); proposal == nil {
			return "", nil
		}
		what = map[coordination.ProposalStatus]string{coordination.ProposalRejected: "rejected"}[proposal.Status]
		if what == "" {
			what = "not accepted yet"
		}
	}
	return fmt.Sprintf("Version %d, %s", proposal.Version, what), labelled(proposal.Fields, s.labels())
}

func (s *seenTask) labels() map[string]string {
	taskType, _ := coordination.TypeOf(s.Type)
	return taskType.Labels
}

// acceptances is where both sides stand on the accepted version, or else on the
// latest.
func (s *seenTask) acceptances() []view.Acceptance {
	p := s.Copy.AcceptedProposal()
	if p == nil {
		p = s.Copy.Latest()
	}
	if p == nil {
		return nil
	}
	version := fmt.Sprintf("version %d", p.Version)
	author := s.acceptance(p.Author, "proposed "+version, p.MessageID)
	answer := view.Acceptance{Who: s.who(p.Author.Other()), Text: "has not answered " + version + " yet"}
	switch p.Status {
	case coordination.ProposalAccepted:
		answer = s.acceptance(p.Author.Other(), "accepted "+version, s.Copy.AcceptedBy)
	case coordination.ProposalRejected:
		answer = s.acceptance(p.RejectedBy, "rejected "+version, s.rejection(p.Version))
	}
	return []view.Acceptance{author, answer}
}

func (s *seenTask) acceptance(by coordination.Role, text, messageID string) view.Acceptance {
	a := view.Acceptance{Who: s.who(by), Text: text}
	if m, ok := s.message(messageID); ok {
		a.At = m.CreatedAt
		a.Meaning, a.Word = delivery(m)
	}
	return a
}

// rejection is the id of the message that rejected a version.
func (s *seenTask) rejection(version int) string {
	for _, m := range s.log {
		var response wire.Response
		if m.Type == wire.TaskRespond && !m.Void && readable(m, &response) && response.Version == version && response.Decision == wire.Reject {
			return m.ID
		}
	}
	return ""
}
