package store

import (
	"agentlink/node/audit"
)

// auditQuery lists rows by the index of one column, the narrowest that the
// filter names: each ends with the position, so that a page costs the same
// however long the log is. The concatenations keep a planner from the others,
// which it would have to sort.
func auditQuery(filter audit.Filter) (query string, args []any) {
	w := &where{}
	w.and("position > ?", filter.After)
	if filter.Before != 0 {
		w.and("position < ?", filter.Before)
	}
	kind := ""
	if len(filter.Types) == 1 {
		kind = string(filter.Types[0])
	}
	leads := false
	for _, c := range []struct{ column, value string }{
		{"task_uid", filter.TaskUID}, {"connection_id", filter.ConnectionID}, {"type", kind}, {"agent_id", filter.AgentID},
	} {
		switch {
		case c.value == "":
		case leads:
			w.and("("+c.column+" || '') = ?", c.value)
		default:
			leads = true
			w.and(c.column+" = ? AND "+c.column+" <> ''", c.value)
		}
	}
	w.oneOfTypes(filter.Types)
	order := " ORDER BY position LIMIT ?"
	if filter.Newest {
		order = " ORDER BY position DESC LIMIT ?"
	}
	limit := filter.Limit
	if limit == 0 {
		limit = 100
	}
	w.write(order, limit)
	return "SELECT " + auditColumns + " FROM audit_log" + w.String(), w.args
}

func (w *where) oneOfTypes(types []audit.Type) {
	if len(types) < 2 {
		return
	}
	w.write(" AND (type || '') IN (")
	for i, kind := range types {
		w.write([]string{"?", ", ?"}[min(i, 1)], string(kind))
	}
	w.write(")")
}
