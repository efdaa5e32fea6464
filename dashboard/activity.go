package dashboard

import (
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"agentlink/coordination"
	"agentlink/dashboard/view"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/policy"
)

func (d *Dashboard) activityRoutes() []route {
	return []route{
		get("/activity", (*visit).activity), get("/activity/:position", (*visit).activityEntry),
		post("/activity/verify", (*visit).verifyLog), post("/activity/export", (*visit).exportLog).with(fresh),
	}
}

// Tally looks at decisions as they are kept; store.Store implements it.
type Tally interface {
	// DecisionsAt lists what an agent's requests of one moment were answered.
	DecisionsAt(tx node.Tx, agentID string, at time.Time) ([]policy.Record, error)
	// DecisionTally counts those of each day (UTC) and outcome from a day on.
	DecisionTally(tx node.Tx, since time.Time) ([]policy.Tally, error)
}

// chartDays is how many days the chart shows, today among them.
const chartDays = 30

// activity lists the log, newest first.
func (v *visit) activity() error {
	page := view.ActivityPage{
		Type: v.c.Query("type"), Agent: v.c.Query("agent"), Contact: v.c.Query("contact"), Task: v.c.Query("task"), Search: strings.TrimSpace(v.c.Query("q")),
	}
	filter, err := v.activityFilter(page)
	if err != nil {
		return err
	}
	err = v.read(func(tx node.Tx) (err error) {
		if page.Frame, err = v.frame(tx, "Activity", "/activity"); err != nil {
			return err
		}
		page.Last = page.Frame.Seen
		if err := v.activityChoices(tx, &page); err != nil {
			return err
		}
		if page.Days, err = v.days(tx); err != nil {
			return err
		}
		return v.activityRows(tx, &page, filter)
	})
	if err != nil {
		return err
	}
	return v.show(view.Activity(page))
}

func (v *visit) activityFilter(page view.ActivityPage) (audit.Filter, error) {
	filter := audit.Filter{Newest: true, AgentID: page.Agent, ConnectionID: page.Contact, TaskUID: page.Task, Limit: pageSize + 1}
	var bad []node.Field
	if page.Type != "" {
		if filter.Types = []audit.Type{audit.Type(page.Type)}; !slices.Contains(audit.Types, filter.Types[0]) {
			bad = append(bad, node.Field{Field: "type", Problem: "is not a type of event"})
		}
	}
	for _, id := range []struct{ field, value string }{{"agent", page.Agent}, {"contact", page.Contact}, {"task", page.Task}} {
		if id.value != "" && !node.ValidID(id.value) {
			bad = append(bad, node.Field{Field: id.field, Problem: "must be a whole id"})
		}
	}
	if before := v.c.Query("before"); before != "" {
		var err error
		if filter.Before, err = strconv.ParseInt(before, 10, 64); err != nil || filter.Before < 1 {
			bad = append(bad, node.Field{Field: "before", Problem: "is not a place in this list"})
		}
	}
	if bad != nil {
		return filter, node.BadFields(bad...)
	}
	return filter, nil
}

func (v *visit) activityChoices(tx node.Tx, page *view.ActivityPage) error {
	names, err := v.d.agentNames(tx)
	if err != nil {
		return err
	}
	page.Agents, page.Types = agentOptions(names), typeOptions
	if page.Contacts, _, err = v.contactOptions(tx, names); err != nil || page.Contact == "" {
		return err
	}
	chosen, err := v.d.Coordination.Connection(tx, "", page.Contact)
	if err != nil {
		return err
	}
	page.ContactName = chosen.Contact
	page.ByName = "/activity?" + url.Values{"type": {string(audit.PolicyDecided)}, "agent": {chosen.AgentID}, "q": {chosen.Contact}}.Encode()
	if !slices.ContainsFunc(page.Contacts, func(o view.Option) bool { return o.Value == chosen.ID }) {
		page.Contacts = append(page.Contacts, view.Option{Value: chosen.ID, Text: chosen.Contact + " – " + names[chosen.AgentID]})
	}
	return nil
}

func (v *visit) activityRows(tx node.Tx, page *view.ActivityPage, filter audit.Filter) error {
	teller, err := v.newTeller(tx)
	if err != nil {
		return err
	}
	var rows []audit.Row
	var next int64
	if page.Search == "" {
		rows, page.Unopened, err = v.rows(tx, filter)
		if len(rows) > pageSize {
			rows = rows[:pageSize]
			next = rows[pageSize-1].Position
		}
	} else {
		found := v.search(tx, teller, filter, page.Search)
		rows, next, err = found.rows, found.next, found.err
		page.Looked, page.Unopened = found.words(), found.unopened
	}
	if err != nil {
		return err
	}
	if next > 0 {
		page.Older = olderActivity(*page, next)
	}
	for _, row := range rows {
		told, err := teller.tell(row)
		if err != nil {
			return err
		}
		page.Rows = append(page.Rows, told)
	}
	return nil
}

// rows lists rows. Where the data of one does not open, all come without: one
// such row must not keep the owner from the others.
func (v *visit) rows(tx node.Tx, filter audit.Filter) (rows []audit.Row, unopened bool, err error) {
	rows, err = v.d.Events.AuditRows(tx, filter)
	var problem *audit.UnopenedError
	if errors.As(err, &problem) {
		filter.Hashes = true
		rows, err = v.d.Events.AuditRows(tx, filter)
		return rows, true, err
	}
	return rows, false, err
}

func olderActivity(page view.ActivityPage, before int64) string {
	query := url.Values{"before": {strconv.FormatInt(before, 10)}}
	for name, value := range map[string]string{"type": page.Type, "agent": page.Agent, "contact": page.Contact, "task": page.Task, "q": page.Search} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return "/activity?" + query.Encode()
}

// days is the decisions of the last days, each day once.
func (v *visit) days(tx node.Tx) ([]view.Day, error) {
	today := v.now.UTC().Truncate(24 * time.Hour)
	first := today.AddDate(0, 0, 1-chartDays)
	tally, err := v.d.Tally.DecisionTally(tx, first)
	days := make([]view.Day, chartDays)
	for i := range days {
		days[i].Day = first.AddDate(0, 0, i)
	}
	for _, t := range tally {
		i := int(t.Day.Sub(first) / (24 * time.Hour))
		if i < 0 || i >= chartDays {
			continue // a clock that was wrong
		}
		switch t.Outcome {
		case policy.Allowed:
			days[i].Allowed += t.Count
		case policy.Held:
			days[i].Held += t.Count
		case policy.Refused:
			days[i].Refused += t.Count
		}
	}
	return days, err
}

// connectionName gives the contact of a connection; "" where it is not there.
func (d *Dashboard) connectionName(tx node.Tx, id string) (coordination.Connection, error) {
	connection, err := d.Coordination.Connection(tx, "", id)
	return connection, ignoreNotFound(err)
}
