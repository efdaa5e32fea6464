package dashboard

import (
	"net/url"

	"agentlink/coordination"
	"agentlink/dashboard/view"
	"agentlink/node"
)

// A contact's page lists the latest of its tasks and messages.
const (
	tasksOfContact    = 8
	messagesOfContact = 3
)

func (v *visit) contact() error {
	var page view.ContactPage
	err := v.read(func(tx node.Tx) (err error) {
		if page.Frame, err = v.frame(tx, "Contact", "/contacts"); err != nil {
			return err
		}
		c, err := v.d.Coordination.Connection(tx, "", v.c.Params("id"))
		if err != nil {
			return err
		}
		names, err := v.d.agentNames(tx)
		if err != nil {
			return err
		}
		v.describeContact(&page, c, names[c.AgentID])
		if err := v.readContact(tx, &page, c, names); err != nil {
			return err
		}
		agent, err := v.d.Policy.Agent(tx, c.AgentID)
		if err != nil {
			return err
		}
		page.Grants, err = v.d.grantsEditor(tx, agent, c.Contact, contactURL(c.ID), v.now)
		return err
	})
	if err != nil {
		return err
	}
	return v.show(view.Contact(page))
}

// describeContact fills in what the connection itself says.
func (v *visit) describeContact(page *view.ContactPage, c coordination.Connection, agent string) {
	s := standingOf(c)
	page.ID, page.Contact, page.Agent, page.AgentURL = c.ID, c.Contact, agent, agentURL(c.AgentID)
	page.Meaning, page.Word, page.Means, page.Since = s.meaning, s.word, s.means, sinceOf(c)
	page.Note, page.NoteIsOurs = c.Note, c.Initiated
	page.Theirs, page.Ours = c.Peer.Fingerprint, v.d.Signer.Fingerprint()
	page.Invited, page.KeyChanged, page.StructuredOnly = c.Invited, c.KeyChanged, c.StructuredOnly
	v.describeKeys(page, c)
	page.Incoming = c.Status == coordination.PendingIncoming
	page.Active = c.Status == coordination.ConnActive && !c.KeyChanged
	page.CanEnd = !c.Status.Ended() && !page.Incoming
	page.Asked = asked(c.Status)
	page.GrantsURL = grantsURL(c.AgentID, c.Contact)
	page.KnowsURL, page.ThreadURL = ledgerURL(c.Contact), threadURL(c.ID)+"#latest"
	if c.Status == coordination.PendingOwner {
		page.ApprovalURL = "/approvals/" + c.ApprovalID
	}
}

// asked says whether a connection is still a request of ours.
func asked(status coordination.ConnectionStatus) bool {
	return status == coordination.PendingOwner || status == coordination.PendingOutgoing
}

// readContact adds what the contact knows, its tasks, the latest messages and
// earlier connections.
func (v *visit) readContact(tx node.Tx, page *view.ContactPage, c coordination.Connection, names map[string]string) error {
	counts, err := v.d.Coordination.CountDisclosures(tx, []string{c.Contact})
	if err != nil {
		return err
	}
	for _, count := range counts {
		page.Kinds = append(page.Kinds, view.KnownKind{
			URL: ledgerURL(c.Contact, count.Capability), Name: view.KindName(count.Capability), Told: count.Told, LastAt: count.LastAt,
		})
	}
	tasks, err := v.d.Coordination.Tasks(tx, "", coordination.TaskFilter{ConnectionID: c.ID}, coordination.Page{Limit: tasksOfContact + 1})
	if err != nil {
		return err
	}
	if len(tasks) > tasksOfContact {
		page.TasksURL = "/tasks?" + url.Values{"contact": {c.ID}}.Encode()
	}
	for _, task := range tasks[:min(len(tasks), tasksOfContact)] {
		page.Tasks = append(page.Tasks, taskLine(task))
	}
	last, err := v.d.Coordination.Messages(tx, "", c.ID, coordination.Page{Limit: messagesOfContact})
	if err != nil {
		return err
	}
	if page.Last, err = v.threadItems(tx, c, names[c.AgentID], last); err != nil {
		return err
	}
	page.Earlier, err = v.earlier(tx, c, names, contactURL)
	return err
}

// earlier lists the other connections of an agent with the same contact.
func (v *visit) earlier(tx node.Tx, c coordination.Connection, names map[string]string, address func(id string) string) (rows []view.ContactRow, err error) {
	known, err := v.d.Coordination.ConnectionsWith(tx, c.AgentID, c.Contact)
	for _, other := range known {
		if other.ID != c.ID {
			row := contactRow(names, other)
			row.URL = address(other.ID)
			rows = append(rows, row)
		}
	}
	return rows, err
}

func taskLine(task coordination.Task) view.TaskLine {
	line := view.TaskLine{URL: taskURL(task.AgentID, task.UID), Title: task.Copy.Title, At: task.UpdatedAt}
	if line.Title == "" {
		line.Title = task.Type
	}
	line.Word, line.Meaning = taskStatus(task)
	return line
}

// answerContact is the owner's answer to a request to connect.
func (v *visit) answerContact() error {
	answer, done := v.d.Coordination.AcceptConnection, "accepted"
	switch v.c.FormValue("decision") {
	case "accept":
	case "reject":
		answer, done = v.d.Coordination.RejectConnection, "rejected"
	default:
		return node.BadFields(node.Field{Field: "decision", Problem: "must be accept or reject"})
	}
	return v.changeContact(done, answer)
}

// changeContact changes a connection and shows it again.
func (v *visit) changeContact(done string, change func(tx node.Tx, actor node.Actor, id string) (coordination.Connection, error)) error {
	id := v.c.Params("id")
	err := v.write(func(tx node.Tx) error {
		c, err := v.d.Coordination.Connection(tx, "", id)
		if err == nil {
			_, err = change(tx, v.actor(c.AgentID), id)
		}
		return err
	})
	if err != nil {
		return err
	}
	return v.goTo(contactURL(id) + "?done=" + done)
}

// structured switches whether free text to the contact is always held.
func (v *visit) structured() error {
	only := v.c.FormValue("only")
	if only != "yes" && only != "no" {
		return node.BadFields(node.Field{Field: "only", Problem: "must be yes or no"})
	}
	return v.changeContact("saved", func(tx node.Tx, actor node.Actor, id string) (coordination.Connection, error) {
		return v.d.Coordination.SetStructuredOnly(tx, actor, id, only == "yes")
	})
}

// revokeForm says what the end of a connection means.
func (v *visit) revokeForm() error {
	var page view.RevokePage
	err := v.read(func(tx node.Tx) (err error) {
		if page.Frame, err = v.frame(tx, "End the connection", "/contacts"); err != nil {
			return err
		}
		c, err := v.d.Coordination.Connection(tx, "", v.c.Params("id"))
		if err != nil {
			return err
		}
		if c.Status.Ended() {
			return node.ConflictFor(node.ReasonBadState, "The connection has ended already.")
		}
		names, err := v.d.agentNames(tx)
		page.ID, page.Contact, page.Agent = c.ID, c.Contact, names[c.AgentID]
		page.Told, page.Asked = c.Status != coordination.PendingOwner, asked(c.Status)
		return err
	})
	if err != nil {
		return err
	}
	return v.show(view.Revoke(page))
}

func (v *visit) revoke() error {
	if v.c.FormValue("confirm") != "yes" {
		return node.BadFields(node.Field{Field: "confirm", Problem: "must be ticked to end the connection"})
	}
	return v.changeContact("revoked", v.d.Coordination.RevokeConnection)
}
