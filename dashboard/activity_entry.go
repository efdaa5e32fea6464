package dashboard

import (
	"net/url"
	"strconv"
	"strings"

	"agentlink/dashboard/view"
	"agentlink/node"
	"agentlink/node/audit"
)

// activityEntry is one row with all that it holds.
func (v *visit) activityEntry() error {
	var page view.ActivityRowPage
	err := v.read(func(tx node.Tx) (err error) {
		if page.Frame, err = v.frame(tx, "Activity", "/activity"); err != nil {
			return err
		}
		row, err := v.findRow(tx, &page)
		if err != nil {
			return err
		}
		return v.showRow(tx, &page, row)
	})
	if err != nil {
		return err
	}
	return v.show(view.ActivityEntry(page))
}

func (v *visit) findRow(tx node.Tx, page *view.ActivityRowPage) (audit.Row, error) {
	missing := node.Errorf(node.NotFound, "The log has no such row.")
	position, err := strconv.ParseInt(v.c.Params("position"), 10, 64)
	if err != nil || position < 1 || position > page.Frame.Seen {
		return audit.Row{}, missing
	}
	rows, unopened, err := v.rows(tx, audit.Filter{After: position - 1, Limit: 1})
	if err != nil {
		return audit.Row{}, err
	}
	if len(rows) == 0 || rows[0].Position != position {
		return audit.Row{}, missing
	}
	page.Unopened = unopened
	if position > 1 {
		page.OlderURL = "/activity/" + strconv.FormatInt(position-1, 10)
	}
	if position < page.Frame.Seen {
		page.NewerURL = "/activity/" + strconv.FormatInt(position+1, 10)
	}
	return rows[0], nil
}

func (v *visit) showRow(tx node.Tx, page *view.ActivityRowPage, row audit.Row) error {
	teller, err := v.newTeller(tx)
	if err != nil {
		return err
	}
	if page.Row, err = teller.tell(row); err != nil {
		return err
	}
	if page.Contact, err = teller.contact(row.ConnectionID); err != nil {
		return err
	}
	page.Type, page.Actor, page.Via, page.Agent = string(row.Type), teller.actor(row, page.Contact), row.Via, teller.agents[row.AgentID]
	page.TaskUID, page.Subject = row.TaskUID, row.Subject
	page.DataHash, page.Previous, page.Hash = row.DataHash, row.Previous, row.Hash
	if page.Agent != "" {
		page.AgentURL = "/agents/" + url.PathEscape(row.AgentID)
	}
	if page.Contact != "" {
		page.ContactURL = "/contacts/" + url.PathEscape(row.ConnectionID)
	}
	if err := v.linkRow(tx, page, row); err != nil {
		return err
	}
	if len(row.Data) > len("{}") {
		page.Data = view.Rows(row.Data)
	}
	if row.Type == audit.PolicyDecided {
		page.Decision, err = v.explain(tx, row.Subject)
	}
	return err
}

// linkRow leads to what a row names, where that has a page.
func (v *visit) linkRow(tx node.Tx, page *view.ActivityRowPage, row audit.Row) error {
	if row.TaskUID != "" {
		if _, err := v.d.Coordination.Task(tx, "", row.TaskUID); err == nil {
			page.TaskURL = taskURL(row.AgentID, row.TaskUID)
		} else if ignoreNotFound(err) != nil {
			return err
		}
	}
	group, _, _ := strings.Cut(string(row.Type), ".")
	switch group {
	case "approval":
		page.SubjectURL = "/approvals/" + url.PathEscape(row.Subject)
	case "action":
		run, err := v.d.Actions.Find(tx, row.AgentID, row.Subject)
		if err == nil {
			page.SubjectURL = "/approvals/" + run.ApprovalID
		}
		return ignoreNotFound(err)
	case "connection":
		page.SubjectURL = page.ContactURL
	case "agent":
		page.SubjectURL = page.AgentURL
	}
	return nil
}
