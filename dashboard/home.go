package dashboard

import (
	"sort"
	"strconv"
	"time"

	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/dashboard/view"
	"agentlink/node"
	"agentlink/node/audit"
)

func (d *Dashboard) homeRoutes() []route {
	return []route{
		get("/", (*visit).home), get("/more", (*visit).more),
		get("/part/waiting", (*visit).partWaiting), get("/part/news", (*visit).partNews),
	}
}

// shownAtHome is how many things that wait the first page lists.
const shownAtHome = 20

func (v *visit) home() error {
	var page view.HomePage
	err := v.read(func(tx node.Tx) (err error) {
		if page.Frame, err = v.frame(tx, "Home", "/"); err != nil {
			return err
		}
		if page.Asks, err = v.asks(tx, shownAtHome); err != nil {
			return err
		}
		if page.Happened, err = v.happened(tx); err != nil {
			return err
		}
		if page.Restored, err = v.restored(tx); err != nil {
			return err
		}
		page.Health, err = v.health(tx)
		return err
	})
	if err != nil {
		return err
	}
	page.More = page.Frame.Waiting > len(page.Asks)
	return v.show(view.Home(page))
}

func (v *visit) more() error {
	var frame view.Frame
	err := v.read(func(tx node.Tx) (err error) {
		frame, err = v.frame(tx, "More", "/more")
		return err
	})
	if err != nil {
		return err
	}
	return v.show(view.More(frame))
}

// asks lists what waits for the owner, soonest expiry first.
func (v *visit) asks(tx node.Tx, limit int) ([]view.Ask, error) {
	names, err := v.d.agentNames(tx)
	if err != nil {
		return nil, err
	}
	pending, err := v.d.Approvals.Approvals(tx, approvals.Filter{Status: approvals.Pending, Limit: limit})
	if err != nil {
		return nil, err
	}
	var asks []view.Ask
	for _, a := range pending {
		ask, err := v.ask(tx, names[a.AgentID], a)
		if err != nil {
			return nil, err
		}
		asks = append(asks, ask)
	}
	requests, err := v.d.Coordination.Incoming(tx, coordination.Page{Limit: limit})
	for _, c := range requests {
		asks = append(asks, requestAsk(names[c.AgentID], c))
	}
	if err != nil {
		return nil, err
	}
	offers, err := v.d.Coordination.KeyOffers(tx, coordination.Page{Limit: limit})
	for _, c := range offers {
		asks = append(asks, keyAsk(c))
	}
	sort.SliceStable(asks, func(i, j int) bool { return asks[i].Sooner(asks[j]) })
	return asks[:min(limit, len(asks))], err
}

func (v *visit) ask(tx node.Tx, agent string, a approvals.Approval) (view.Ask, error) {
	ask := view.Ask{URL: "/approvals/" + a.ID, ExpiresAt: a.ExpiresAt, Why: because(a)}
	if a.Damaged {
		ask.What = view.Sentence{view.Plain("This approval was changed from outside. It opens nothing.")}
		return ask, nil
	}
	task, err := v.taskOf(tx, a)
	if err != nil {
		return ask, err
	}
	explained, err := v.d.Actions.Explain(tx, a)
	ask.What = sentence(agent, task.Copy.Title, a, explained)
	if a.Kind == approvals.Action && task.Copy.Title != "" {
		ask.What = append(ask.What, view.Plain(" – for "), view.Bold(task.Copy.Title))
	}
	return ask, err
}

func requestAsk(agent string, c coordination.Connection) view.Ask {
	why := "compare the fingerprint before you accept"
	if c.Invited {
		why = "came with an invitation of yours"
	}
	return view.Ask{
		URL: "/contacts/" + c.ID, Why: why,
		What: view.Sentence{view.Bold(c.Contact), view.Plain(" asks to connect with "), view.Bold(agent)},
	}
}

// keyAsk is a contact whose node announces a new key.
func keyAsk(c coordination.Connection) view.Ask {
	why := "compare the new fingerprint before you accept"
	if c.Offer.Disputed != "" {
		why = "two keys contradict each other"
	}
	return view.Ask{
		URL: contactURL(c.ID) + "/key", Why: why,
		What: view.Sentence{view.Plain("The node of "), view.Bold(c.Contact), view.Plain(" announces a new key")},
	}
}

// lookBack is how many rows of the log the first page looks at.
const lookBack = 300

// happened says what happened since the owner was last here.
func (v *visit) happened(tx node.Tx) ([]view.Happening, error) {
	head, err := v.d.Events.AuditHead(tx)
	if err != nil {
		return nil, err
	}
	rows, err := v.d.Events.AuditRows(tx, audit.Filter{
		After: max(0, head.Position-lookBack), Limit: lookBack, Types: happenings(),
	})
	var list []view.Happening
	var latest []audit.Row
	counts := map[audit.Type]int{}
	for i := len(rows) - 1; i >= 0; i-- {
		row := rows[i]
		if !v.visitor.LastVisit.IsZero() && row.At.Before(v.visitor.LastVisit) {
			break
		}
		if counts[row.Type]++; counts[row.Type] == 1 {
			list, latest = append(list, view.Happening{Type: string(row.Type), At: row.At}), append(latest, row)
		}
	}
	for i := range list {
		h := &list[i]
		what := told[audit.Type(h.Type)]
		h.Meaning, h.Word, h.URL = what.meaning, what.word, what.url
		h.Text = strconv.Itoa(counts[audit.Type(h.Type)]) + " " + what.one
		if counts[audit.Type(h.Type)] > 1 {
			h.Text = strconv.Itoa(counts[audit.Type(h.Type)]) + " " + what.many
		} else if nameErr := v.nameOne(tx, h, latest[i]); nameErr != nil {
			return nil, nameErr
		}
	}
	return list, err
}

// nameOne names the task or contact of what has happened once, and leads there.
func (v *visit) nameOne(tx node.Tx, h *view.Happening, row audit.Row) error {
	switch {
	case row.TaskUID != "" && h.URL == "/tasks":
		task, err := v.d.Coordination.Task(tx, row.AgentID, row.TaskUID)
		if err != nil {
			return ignoreNotFound(err)
		}
		h.Name, h.URL = task.Copy.Title, taskURL(row.AgentID, row.TaskUID)
	case row.ConnectionID != "" && h.URL == "/contacts":
		c, err := v.d.connectionName(tx, row.ConnectionID)
		if err != nil || c.ID == "" {
			return err
		}
		h.Name, h.URL = c.Contact, contactURL(c.ID)
	}
	return nil
}

// told is what the first page tells of the log.
var told = map[audit.Type]struct {
	meaning              view.Meaning
	word, one, many, url string
}{
	audit.TaskConfirmed:         {view.OK, "Confirmed", "task", "tasks", "/tasks"},
	audit.TaskAgreed:            {view.OK, "Agreed", "task", "tasks", "/tasks"},
	audit.TaskExpired:           {view.Ended, "Expired", "task", "tasks", "/tasks"},
	audit.TaskCancelled:         {view.Ended, "Cancelled", "task", "tasks", "/tasks"},
	audit.TaskDisagreement:      {view.No, "Disagrees", "task whose copies differ", "tasks whose copies differ", "/tasks"},
	audit.TaskOutOfStep:         {view.No, "Out of step", "task", "tasks", "/tasks"},
	audit.TaskConfirmFailed:     {view.No, "Not told", "confirmation is owed", "confirmations are owed", "/tasks"},
	audit.MessageReceived:       {view.Neutral, "Received", "message", "messages", "/messages"},
	audit.MessageDelivered:      {view.OK, "Delivered", "message", "messages", "/messages"},
	audit.MessageFailed:         {view.No, "Failed", "message", "messages", "/messages"},
	audit.ActionExecuted:        {view.OK, "Carried out", "action", "actions", "/activity"},
	audit.ActionUnknown:         {view.No, "Uncertain", "action may have run", "actions may have run", "/activity"},
	audit.ApprovalExpired:       {view.Ended, "Expired", "approval", "approvals", "/approvals?status=expired"},
	audit.ConnectionActive:      {view.OK, "Connected", "contact", "contacts", "/contacts"},
	audit.ConnectionRevoked:     {view.Ended, "Ended", "connection", "connections", "/contacts"},
	audit.ConnectionKeyChanged:  {view.No, "Key changed", "contact", "contacts", "/contacts"},
	audit.ConnectionKeyDeclined: {view.No, "New key refused", "contact", "contacts", "/contacts"},
	audit.ConnectionLogDiffers:  {view.No, "Log set back", "contact", "contacts", "/activity?type=connection.log_differs"},
	audit.OwnerAuthFailed:       {view.No, "Refused", "sign-in", "sign-ins", "/activity"},
}

func happenings() []audit.Type {
	types := make([]audit.Type, 0, len(told))
	for t := range told {
		types = append(types, t)
	}
	return types
}

// health is one line on how the node is.
func (v *visit) health(tx node.Tx) (view.Health, error) {
	head, err := v.d.Events.AuditHead(tx)
	if err != nil {
		return view.Health{}, err
	}
	stuck, err := v.d.Coordination.Undelivered(tx, v.now.Add(-stuckAfter), maxCounted)
	return view.Health{Rows: head.Position, Undelivered: stuck}, err
}

// stuckAfter is when a message that has not arrived is worth a word.
const stuckAfter = 5 * time.Minute

func (v *visit) partWaiting() error {
	var waiting int
	err := v.read(func(tx node.Tx) (err error) {
		waiting, err = v.d.waiting(tx)
		return err
	})
	if err != nil {
		return err
	}
	return v.show(view.CountOf(waiting))
}

// partNews says whether something has happened since a page was made.
func (v *visit) partNews() error {
	seen, err := strconv.ParseInt(v.c.Query("seen"), 10, 64)
	if err != nil || seen < 0 {
		return node.BadFields(node.Field{Field: "seen", Problem: "must be a number"})
	}
	var fresh []audit.Row
	err = v.read(func(tx node.Tx) (err error) {
		fresh, err = v.d.Events.AuditRows(tx, audit.Filter{After: seen, Limit: 1, Types: audit.Feed, Hashes: true})
		return err
	})
	if err != nil {
		return err
	}
	return v.show(view.NewsOf(len(fresh)))
}
