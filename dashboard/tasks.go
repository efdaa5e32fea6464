package dashboard

import (
	"net/url"
	"slices"
	"sort"

	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/dashboard/view"
	"agentlink/node"
)

func (d *Dashboard) taskRoutes() []route {
	return []route{
		get("/tasks", (*visit).tasks), get("/tasks/:uid", (*visit).task),
		get("/tasks/:uid/cancel", (*visit).askCancelTask), post("/tasks/:uid/cancel", (*visit).cancelTask),
		get("/tasks/:uid/receipt", (*visit).taskReceipt),
	}
}

// newestShown is how many tasks of a status the board shows.
const newestShown = 10

// columns are the parts of the board.
var columns = []struct {
	name, empty string
	statuses    []coordination.Status
}{
	{"Negotiating", "No task is being negotiated.", []coordination.Status{coordination.Open, coordination.Negotiating}},
	{"Agreed", "Nothing is agreed and still to be done.", []coordination.Status{coordination.Agreed, coordination.AwaitingApproval}},
	{"Confirmed", "Nothing has been carried out yet.", []coordination.Status{coordination.Confirmed}},
	{"Ended", "Nothing was cancelled or has expired.", []coordination.Status{coordination.CancelledTask, coordination.ExpiredTask}},
}

// tasks shows the board, or with ?status= the list of one status.
func (v *visit) tasks() error {
	page := view.TasksPage{Status: v.c.Query("status"), Agent: v.c.Query("agent"), Contact: v.c.Query("contact")}
	filter, err := taskFilter(page)
	if err != nil {
		return err
	}
	list := coordination.Page{Limit: pageSize + 1}
	if err := v.before(&list.BeforeAt, &list.BeforeID); err != nil {
		return err
	}
	err = v.read(func(tx node.Tx) (err error) {
		if page.Frame, err = v.frame(tx, "Tasks", "/tasks"); err != nil {
			return err
		}
		names, err := v.d.agentNames(tx)
		if err != nil {
			return err
		}
		page.Agents = agentOptions(names)
		if page.Contacts, page.ContactsCut, err = v.contactOptions(tx, names); err != nil {
			return err
		}
		if page.Status == "" {
			return v.board(tx, &page, filter, names)
		}
		return v.taskList(tx, &page, filter, list, names)
	})
	if err != nil {
		return err
	}
	return v.show(view.Tasks(page))
}

func taskFilter(page view.TasksPage) (coordination.TaskFilter, error) {
	filter := coordination.TaskFilter{Of: page.Agent, ConnectionID: page.Contact, Flagged: page.Status == view.Flagged}
	if !filter.Flagged {
		filter.Status = coordination.Status(page.Status)
	}
	switch {
	case filter.Status != "" && !slices.Contains(coordination.TaskStatuses, filter.Status):
		return filter, node.BadFields(node.Field{Field: "status", Problem: "is not a status of a task"})
	case filter.Of != "" && !node.ValidID(filter.Of):
		return filter, node.BadFields(node.Field{Field: "agent", Problem: "must be an agent's id"})
	case filter.ConnectionID != "" && !node.ValidID(filter.ConnectionID):
		return filter, node.BadFields(node.Field{Field: "contact", Problem: "must be a connection's id"})
	}
	return filter, nil
}

func agentOptions(names map[string]string) []view.Option {
	var options []view.Option
	for _, id := range sortedKeys(names) {
		options = append(options, view.Option{Value: id, Text: names[id]})
	}
	sort.SliceStable(options, func(i, j int) bool { return options[i].Text < options[j].Text })
	return options
}

// contactsOffered is how many contacts a filter offers, the newest.
const contactsOffered = 100

func (v *visit) contactOptions(tx node.Tx, names map[string]string) (options []view.Option, cut bool, err error) {
	list, err := v.d.Coordination.Connections(tx, "", coordination.Page{Limit: contactsOffered + 1})
	for _, c := range list[:min(len(list), contactsOffered)] {
		text := c.Contact + " – " + names[c.AgentID]
		if c.Status != coordination.ConnActive {
			text += " (" + view.Words(string(c.Status)) + ")"
		}
		options = append(options, view.Option{Value: c.ID, Text: text})
	}
	return options, len(list) > contactsOffered, err
}

func (v *visit) board(tx node.Tx, page *view.TasksPage, filter coordination.TaskFilter, names map[string]string) (err error) {
	flagged := filter
	flagged.Flagged = true
	page.Flagged = view.TaskColumn{Name: "Needs a look"}
	if err := v.fill(tx, &page.Flagged, flagged, view.Flagged, names); err != nil {
		return err
	}
	for _, c := range columns {
		column := view.TaskColumn{Name: c.name, Empty: c.empty}
		for _, status := range c.statuses {
			filter.Status = status
			if err := v.fill(tx, &column, filter, string(status), names); err != nil {
				return err
			}
		}
		sort.SliceStable(column.Cards, func(i, j int) bool { return column.Cards[i].At.After(column.Cards[j].At) })
		page.Columns = append(page.Columns, column)
	}
	return nil
}

// fill adds the newest tasks that pass a filter to a column.
func (v *visit) fill(tx node.Tx, column *view.TaskColumn, filter coordination.TaskFilter, status string, names map[string]string) error {
	list, err := v.d.Coordination.Tasks(tx, "", filter, coordination.Page{Limit: newestShown + 1})
	if len(list) > newestShown {
		list = list[:newestShown]
		column.More = append(column.More, view.Link{Text: "All " + view.Words(status), URL: "/tasks?" + taskQuery(filter, status).Encode()})
	}
	if err == nil {
		column.Cards, err = v.addCards(tx, column.Cards, list, names)
	}
	return err
}

func (v *visit) addCards(tx node.Tx, cards []view.TaskCard, list []coordination.Task, names map[string]string) ([]view.TaskCard, error) {
	for _, task := range list {
		card := taskCard(task, names)
		if card.Title == "" {
			asks, err := v.d.Approvals.Approvals(tx, approvals.Filter{AgentID: task.AgentID, TaskUID: task.UID})
			if err != nil {
				return nil, err
			}
			card.Title = heldTitle(asks)
		}
		cards = append(cards, card)
	}
	return cards, nil
}

func taskQuery(filter coordination.TaskFilter, status string) url.Values {
	query := url.Values{"status": {status}}
	if filter.Of != "" {
		query.Set("agent", filter.Of)
	}
	if filter.ConnectionID != "" {
		query.Set("contact", filter.ConnectionID)
	}
	return query
}

func (v *visit) taskList(tx node.Tx, page *view.TasksPage, filter coordination.TaskFilter, part coordination.Page, names map[string]string) error {
	list, err := v.d.Coordination.Tasks(tx, "", filter, part)
	if len(list) > pageSize {
		list = list[:pageSize]
		last := list[len(list)-1]
		page.Older = olderURL("/tasks", taskQuery(filter, page.Status), last.CreatedAt, last.UID)
	}
	if err == nil {
		page.Cards, err = v.addCards(tx, nil, list, names)
	}
	return err
}

func taskCard(task coordination.Task, names map[string]string) view.TaskCard {
	card := view.TaskCard{
		URL: taskURL(task.AgentID, task.UID), Title: task.Copy.Title, Agent: names[task.AgentID], Contact: task.Contact,
		At: task.CreatedAt, Flags: flagNames(task),
	}
	card.Status, card.Meaning = taskStatus(task)
	if latest := task.Copy.Latest(); latest != nil {
		card.Version = latest.Version
	}
	return card
}

// taskURL is the page of an agent's copy of a task.
func taskURL(agentID, uid string) string {
	return "/tasks/" + url.PathEscape(uid) + "?" + url.Values{"agent": {agentID}}.Encode()
}
