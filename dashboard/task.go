package dashboard

import (
	"encoding/json"
	"net/url"
	"time"

	"agentlink/actions"
	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/dashboard/view"
	"agentlink/node"
)

// seenTask is a task with all that its page tells of it.
type seenTask struct {
	coordination.Task
	agent      string // handle
	connection coordination.Connection
	log        []coordination.Message
	asks       []approvals.Approval
	runs       []actions.Run
	title      string
	outOfStep  string // why, where it is
	barred     bool   // something forbids to send the owed confirmation
}

func (v *visit) task() error {
	var page view.TaskPage
	err := v.read(func(tx node.Tx) (err error) {
		if page.Frame, err = v.frame(tx, "Task", "/tasks"); err != nil {
			return err
		}
		seen, err := v.seeTask(tx)
		if err != nil {
			return err
		}
		v.showTask(&page, seen)
		page.TwinURL, err = v.twin(tx, seen)
		return err
	})
	if err != nil {
		return err
	}
	return v.show(view.Task(page))
}

// findTask is the copy that an address names: two agents of this node have one
// each of the same task.
func (v *visit) findTask(tx node.Tx, agentID string) (coordination.Task, error) {
	uid := v.c.Params("uid")
	if !node.ValidID(uid) || (agentID != "" && !node.ValidID(agentID)) {
		return coordination.Task{}, node.Errorf(node.NotFound, "There is no such task.")
	}
	if agentID == "" {
		return v.d.Coordination.Task(tx, "", uid)
	}
	task, err := v.d.Coordination.Task(tx, agentID, uid)
	if node.CodeOf(err) == node.NotFound && err != nil {
		return v.heldTask(tx, agentID, uid, err)
	}
	return task, err
}

// heldTask finds a task that its own agent does not see yet.
func (v *visit) heldTask(tx node.Tx, agentID, uid string, otherwise error) (coordination.Task, error) {
	task, err := v.d.Coordination.Task(tx, "", uid)
	if err == nil && task.AgentID == agentID {
		return task, nil
	}
	return coordination.Task{}, otherwise
}

func (v *visit) seeTask(tx node.Tx) (seen seenTask, err error) {
	if seen.Task, err = v.findTask(tx, v.c.Query("agent")); err != nil {
		return seen, err
	}
	names, err := v.d.agentNames(tx)
	if err != nil {
		return seen, err
	}
	seen.agent, seen.title = names[seen.AgentID], seen.Copy.Title
	if seen.connection, err = v.d.Coordination.Connection(tx, "", seen.ConnectionID); err != nil {
		return seen, err
	}
	if seen.log, err = v.d.Coordination.TaskLog(tx, seen.Task); err != nil {
		return seen, err
	}
	seen.asks, err = v.d.Approvals.Approvals(tx, approvals.Filter{AgentID: seen.AgentID, TaskUID: seen.UID, Limit: pageSize})
	if err != nil {
		return seen, err
	}
	if seen.title == "" {
		seen.title = heldTitle(seen.asks)
	}
	if err := v.seeRuns(tx, &seen); err != nil {
		return seen, err
	}
	return seen, v.seeTroubles(tx, &seen)
}

// heldTitle is the title of a task whose start waits for the owner.
func heldTitle(asks []approvals.Approval) string {
	for _, a := range asks {
		var h held
		var content struct {
			Title string `json:"title"`
		}
		if a.Action == "task.create" && json.Unmarshal(a.Parameters, &h) == nil && json.Unmarshal(h.Content, &content) == nil {
			return content.Title
		}
	}
	return ""
}

// seeRuns finds what this node carried out, by the approvals that it used.
func (v *visit) seeRuns(tx node.Tx, seen *seenTask) error {
	for _, a := range seen.asks {
		if a.Kind != approvals.Action || a.Status != approvals.Consumed {
			continue
		}
		run, err := v.d.Actions.OfApproval(tx, seen.AgentID, a.ID)
		if ignoreNotFound(err) != nil {
			return err
		}
		if err == nil {
			seen.runs = append(seen.runs, run)
		}
	}
	return nil
}

// twin is where the other side's copy is, if that is on this node too.
func (v *visit) twin(tx node.Tx, seen seenTask) (string, error) {
	contact, err := node.ParseAddress(seen.Contact)
	if err != nil || contact.Host != v.d.Info.Host {
		return "", nil
	}
	agent, err := v.d.Policy.AgentByHandle(tx, contact.Handle)
	if err != nil {
		return "", ignoreNotFound(err)
	}
	if _, err := v.d.Coordination.Task(tx, agent.ID, seen.UID); err != nil {
		return "", ignoreNotFound(err)
	}
	return taskURL(agent.ID, seen.UID), nil
}

func (v *visit) showTask(page *view.TaskPage, seen seenTask) {
	page.UID, page.AgentID, page.Title, page.Agent, page.Contact = seen.UID, seen.AgentID, seen.title, seen.agent, seen.Contact
	page.ContactURL = "/contacts/" + url.PathEscape(seen.ConnectionID)
	page.Type, page.Role, page.Ended = typeLabel(seen.Type), string(seen.Role), seen.Status.Ended()
	page.Status, page.Meaning = taskStatus(seen.Task)
	page.Stands, page.Flags = seen.stands(), seen.flags()
	page.Acceptances, page.Steps = seen.acceptances(), seen.steps()
	page.Started, page.Ends = seen.CreatedAt, seen.Deadline
	page.ActivityURL = "/activity?" + url.Values{"task": {seen.UID}, "agent": {seen.AgentID}}.Encode()
	page.TermsOf, page.Terms = seen.terms()
	for _, a := range seen.asks {
		page.Asks = append(page.Asks, view.TaskAsk{
			URL: "/approvals/" + a.ID, Action: a.Action, Status: view.Words(string(a.Status)), Meaning: approvalMeaning(a.Status), At: a.CreatedAt,
		})
	}
	for _, run := range seen.runs {
		page.Runs = append(page.Runs, runOf(run))
	}
	if confirmed := seen.Copy.Confirmation; confirmed != nil && (confirmed.By != seen.Role || len(seen.runs) == 0) {
		booking := seen.booking(*confirmed)
		page.Confirmation = &booking
		if confirmed.Receipt != "" {
			page.ReceiptURL = "/tasks/" + seen.UID + "/receipt?" + url.Values{"agent": {seen.AgentID}}.Encode()
		}
	}
	if page.NoCancel = seen.noCancel(v.now); page.NoCancel == "" && !page.Ended {
		page.CancelURL = "/tasks/" + seen.UID + "/cancel?" + url.Values{"agent": {seen.AgentID}}.Encode()
	}
}

func typeLabel(name string) string {
	if t, known := coordination.TypeOf(name); known {
		return t.Label
	}
	return name
}

func runOf(run actions.Run) view.TaskRun {
	shown := view.TaskRun{
		Action: run.Action, Outcome: view.Words(string(run.Outcome())), Text: run.Meaning().Text, Meaning: runMeaning(run.Outcome()),
		Code: run.Code, At: run.ReservedAt, ApprovalURL: "/approvals/" + run.ApprovalID,
	}
	if run.Receipt != "" {
		shown.ReceiptURL = shown.ApprovalURL + "/receipt"
	}
	return shown
}

func runMeaning(outcome actions.Outcome) view.Meaning {
	switch outcome {
	case actions.Done:
		return view.OK
	case actions.InProgress:
		return view.Neutral
	case actions.DidNotRun:
		return view.Ended
	}
	return view.No
}

// noCancel says why an unfinished task cannot be cancelled now, or "".
func (s *seenTask) noCancel(now time.Time) string {
	switch {
	case s.Status.Ended():
		return ""
	case s.Held:
		return "It has not started: reject its approval, and it never will."
	case s.RunID != "":
		return "It cannot be cancelled while the action is being carried out."
	case s.OutOfStep:
		return "It cannot be cancelled any more, since the two copies no longer follow one another. It ends at its deadline."
	case s.InDoubt:
		return "It cannot be cancelled until it is known whether the last message arrived."
	case !now.Before(s.Deadline):
		return "Its time is over."
	case s.connection.Status != coordination.ConnActive || s.connection.KeyChanged:
		return "It cannot be cancelled without an active connection. It ends at its deadline."
	}
	return ""
}
