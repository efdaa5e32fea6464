package dashboard

import (
	"net/url"
	"slices"
	"strconv"
	"time"

	"agentlink/actions"
	"agentlink/approvals"
	"agentlink/dashboard/view"
	"agentlink/node"
)

func (d *Dashboard) approvalRoutes() []route {
	return []route{
		get("/approvals", (*visit).approvals), get("/approvals/:id", (*visit).approval),
		post("/approvals/:id", (*visit).decide),
	}
}

// pageSize is how many entries a list shows.
const pageSize = 50

// approvals lists what waits, or with ?status= what was decided.
func (v *visit) approvals() error {
	filter := approvals.Filter{Status: approvals.Status(v.c.Query("status", string(approvals.Pending))), Limit: pageSize + 1}
	if err := v.before(&filter.BeforeAt, &filter.BeforeID); err != nil {
		return err
	}
	if !slices.Contains(approvals.Statuses, filter.Status) {
		return node.BadFields(node.Field{Field: "status", Problem: "is not a status of an approval"})
	}
	page := view.ApprovalsPage{Status: string(filter.Status)}
	err := v.read(func(tx node.Tx) (err error) {
		if page.Frame, err = v.frame(tx, "Approvals", "/approvals"); err != nil {
			return err
		}
		page.Rows, page.Older, err = v.approvalRows(tx, filter)
		return err
	})
	if err != nil {
		return err
	}
	return v.show(view.Approvals(page))
}

func (v *visit) approvalRows(tx node.Tx, filter approvals.Filter) (rows []view.ApprovalRow, older string, err error) {
	names, err := v.d.agentNames(tx)
	if err != nil {
		return nil, "", err
	}
	list, err := v.d.Approvals.Approvals(tx, filter)
	if err != nil {
		return nil, "", err
	}
	if len(list) > pageSize {
		list = list[:pageSize]
		last := list[len(list)-1]
		at := last.CreatedAt
		if filter.Status == approvals.Pending {
			at = last.ExpiresAt
		}
		older = olderURL("/approvals", url.Values{"status": {string(filter.Status)}}, at, last.ID)
	}
	for _, a := range list {
		ask, err := v.ask(tx, names[a.AgentID], a)
		if err != nil {
			return nil, "", err
		}
		came, err := v.cameOf(tx, a)
		if err != nil {
			return nil, "", err
		}
		rows = append(rows, view.ApprovalRow{Ask: ask, Status: string(a.Status), Meaning: approvalMeaning(a.Status), At: decidedOr(a), Came: came})
	}
	return rows, older, nil
}

func decidedOr(a approvals.Approval) time.Time {
	if a.DecidedAt.IsZero() {
		return a.CreatedAt
	}
	return a.DecidedAt
}

func approvalMeaning(status approvals.Status) view.Meaning {
	switch status {
	case approvals.Pending, approvals.Approved:
		return view.Waits
	case approvals.Consumed:
		return view.OK
	case approvals.Rejected:
		return view.No
	}
	return view.Ended
}

// before reads where a list goes on.
func (v *visit) before(at *time.Time, id *string) error {
	if v.c.Query("id") == "" {
		return nil
	}
	micros, err := strconv.ParseInt(v.c.Query("at"), 10, 64)
	if err != nil || !node.ValidID(v.c.Query("id")) {
		return node.BadFields(node.Field{Field: "at", Problem: "is not a place in this list"})
	}
	*at, *id = time.UnixMicro(micros).UTC(), v.c.Query("id")
	return nil
}

func olderURL(path string, query url.Values, at time.Time, id string) string {
	query.Set("at", strconv.FormatInt(at.UnixMicro(), 10))
	query.Set("id", id)
	return path + "?" + query.Encode()
}

func (v *visit) approval() error { return v.showApproval("", "") }

// showApproval shows the form again where there is a problem with it, with the
// note that was typed.
func (v *visit) showApproval(problem, note string) error {
	var page view.ApprovalPage
	err := v.read(func(tx node.Tx) (err error) {
		if page.Frame, err = v.frame(tx, "Approval", "/approvals"); err != nil {
			return err
		}
		return v.readApproval(tx, &page)
	})
	if err != nil {
		return err
	}
	page.Frame.Problem = problem
	if page.Pending {
		page.Note = note
	}
	return v.show(view.Approval(page))
}

func (v *visit) readApproval(tx node.Tx, page *view.ApprovalPage) error {
	a, err := v.d.Approvals.Approval(tx, "", v.c.Params("id"))
	if err != nil {
		return err
	}
	names, err := v.d.agentNames(tx)
	if err != nil {
		return err
	}
	page.ID, page.Agent, page.Action, page.Contact, page.TaskUID = a.ID, names[a.AgentID], a.Action, a.Contact, a.TaskUID
	page.Status, page.Meaning, page.Damaged = string(a.Status), approvalMeaning(a.Status), a.Damaged
	page.Hash, page.Note, page.ExpiresAt, page.DecidedAt = a.Hash, a.Note, a.ExpiresAt, a.DecidedAt
	page.Pending = a.Status == approvals.Pending && v.now.Before(a.ExpiresAt) && !a.Damaged
	if page.Reasons, err = v.reasons(tx, a); err != nil || a.Damaged {
		return err
	}
	task, err := v.taskOf(tx, a)
	if err != nil {
		return err
	}
	explained, err := v.d.Actions.Explain(tx, a)
	if err != nil {
		return err
	}
	page.What, page.Terms = sentence(page.Agent, task.Copy.Title, a, explained), heldTerms(a, task)
	if what, text := heldChat(page.Agent, a); text != "" {
		page.What, page.Text = what, text
	}
	page.TaskTitle, page.TaskStatus, page.TaskEnds = task.Copy.Title, string(task.Status), task.Deadline
	page.Parameters = withDifferences(view.Rows(a.Parameters), explained.Difference)
	page.Run = a.OnApproval == approvals.Run && a.Kind == approvals.Action
	for _, warning := range explained.Warnings {
		page.Warnings = append(page.Warnings, warning.Text)
		page.NeedsOverride = page.NeedsOverride || warning.Kind == actions.NotExecutingRole
		page.NeedsWord = page.NeedsWord || warning.Kind == actions.AlreadyRan
	}
	page.Came, err = v.cameOf(tx, a)
	return err
}

func ignoreNotFound(err error) error {
	if node.CodeOf(err) == node.NotFound {
		return nil
	}
	return err
}

// withDifferences marks in place what is not as the accepted proposal says.
func withDifferences(rows []view.Parameter, differences []actions.Difference) []view.Parameter {
	for _, d := range differences {
		for i := range rows {
			if rows[i].Name == d.Parameter {
				rows[i].Differs, rows[i].Was = true, text(d.Accepted)
			}
		}
	}
	return rows
}

// decide takes the owner's decision: the form carries the hash that was shown.
func (v *visit) decide() error {
	decision := approvals.Decision{
		ID: v.c.Params("id"), Hash: v.c.FormValue("hash"), Approve: v.c.FormValue("decision") == "approve",
		Note: v.c.FormValue("note"), Override: v.c.FormValue("override") == "yes", Word: v.c.FormValue("word"),
	}
	if word := v.c.FormValue("decision"); word != "approve" && word != "reject" {
		return node.BadFields(node.Field{Field: "decision", Problem: "must be approve or reject"})
	}
	var effect approvals.Effect
	err := v.write(func(tx node.Tx) (err error) {
		effect, err = v.d.Approvals.Decide(tx, v.actor(""), decision)
		return err
	})
	if problem, ok := v.correctable(err); err != nil && ok {
		return v.showApproval(problem, decision.Note)
	}
	if err != nil {
		return err
	}
	return v.goTo("/approvals/" + effect.Approval.ID + "?done=" + doneWord(effect.Outcome))
}

func doneWord(outcome string) string {
	switch outcome {
	case approvals.OutcomeFailed:
		return "failed"
	case approvals.OutcomeRejected:
		return "rejected"
	}
	return "approved"
}
