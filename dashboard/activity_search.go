package dashboard

import (
	"fmt"
	"strings"

	"agentlink/dashboard/view"
	"agentlink/node"
	"agentlink/node/audit"
)

// The data of rows is sealed, so that a search opens each row that passes the
// filter; it looks at so many at once, and says how far it has come.
const (
	searchReach = 2000
	searchPage  = 200
)

// found is what a search has come to.
type found struct {
	rows     []audit.Row
	next     int64 // where to go on; 0 at the end of the log
	looked   int
	unopened bool
	err      error
}

// search goes back from the newest row that passes a filter until it has a page.
func (v *visit) search(tx node.Tx, teller *teller, filter audit.Filter, text string) (f found) {
	text = strings.ToLower(text)
	for filter.Limit = searchPage; ; {
		rows, unopened, err := v.rows(tx, filter)
		if f.unopened = f.unopened || unopened; err != nil {
			f.err = err
			return f
		}
		for i, row := range rows {
			f.looked++
			words, err := teller.words(row)
			if err != nil {
				f.err = err
				return f
			}
			if strings.Contains(words, text) {
				f.rows = append(f.rows, row)
			}
			if last := i == len(rows)-1 && len(rows) < searchPage; !last && (len(f.rows) == pageSize || f.looked == searchReach) {
				f.next = row.Position
				return f
			}
		}
		if len(rows) < searchPage {
			return f
		}
		filter.Before = rows[len(rows)-1].Position
	}
}

func (f found) words() string {
	if f.next == 0 {
		return fmt.Sprintf("Looked at %d rows, back to the beginning.", f.looked)
	}
	return fmt.Sprintf("Looked at %d rows, back to #%d. There are older ones.", f.looked, f.next)
}

// words is all that a row can be found by, in lower case.
func (t *teller) words(row audit.Row) (string, error) {
	contact, err := t.contact(row.ConnectionID)
	if err != nil {
		return "", err
	}
	return strings.ToLower(strings.Join([]string{
		fmt.Sprint("#", row.Position), string(row.Type), typeWords(row.Type), view.Words(string(row.Type)), string(row.ActorKind), row.Via, t.agents[row.AgentID], contact,
		row.AgentID, row.ConnectionID, row.TaskUID, row.Subject, row.Hash, string(row.Data),
	}, "\n")), nil
}
