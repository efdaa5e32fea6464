package dashboard

import (
	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/dashboard/view"
	"agentlink/node"
)

// cameOf says what came of an approval that was decided or has expired; nothing
// while it is open.
func (v *visit) cameOf(tx node.Tx, a approvals.Approval) (view.Came, error) {
	if a.Status.Open() || a.Damaged {
		return view.Came{}, nil
	}
	switch a.Kind {
	case approvals.Message:
		m, err := v.d.Coordination.Message(tx, a.AgentID, a.Subject)
		if err != nil {
			return view.Came{}, ignoreNotFound(err)
		}
		came := view.Came{Why: why(m.Code), URL: threadURL(m.ConnectionID), URLName: "The thread"}
		came.Meaning, came.Word = arrival(m)
		return came, nil
	case approvals.Connection:
		c, err := v.d.Coordination.Connection(tx, a.AgentID, a.Subject)
		if err != nil {
			return view.Came{}, ignoreNotFound(err)
		}
		s := standingOf(c)
		return view.Came{Meaning: s.meaning, Word: s.word, URL: contactURL(c.ID), URLName: "The contact"}, nil
	}
	run, err := v.d.Actions.OfApproval(tx, "", a.ID)
	if err != nil {
		return view.Came{}, ignoreNotFound(err)
	}
	came := view.Came{Meaning: runMeaning(run.Outcome()), Word: view.Words(string(run.Outcome())), Why: run.Meaning().Text, Code: run.Code}
	if run.Receipt != "" {
		came.ReceiptURL = "/approvals/" + a.ID + "/receipt"
	}
	return came, nil
}

// taskOf is the copy of the task that an approval belongs to; an empty one where
// there is none.
func (v *visit) taskOf(tx node.Tx, a approvals.Approval) (coordination.Task, error) {
	if a.TaskUID == "" {
		return coordination.Task{}, nil
	}
	task, err := v.d.Coordination.Task(tx, a.AgentID, a.TaskUID)
	if node.CodeOf(err) == node.NotFound && err != nil {
		task, err = v.d.Coordination.Task(tx, "", a.TaskUID)
	}
	return task, ignoreNotFound(err)
}
