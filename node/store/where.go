package store

import (
	"strconv"
	"strings"

	"agentlink/coordination"
)

// where gathers the conditions of a list and their arguments, numbered in the
// order of their appearance.
type where struct {
	text strings.Builder
	args []any
}

// and adds a condition; each ? in it takes the next argument.
func (w *where) and(condition string, args ...any) *where {
	word := " AND "
	if w.text.Len() == 0 {
		word = " WHERE "
	}
	w.text.WriteString(word)
	w.write(condition, args...)
	return w
}

// write adds text that is no condition: an order, a limit.
func (w *where) write(text string, args ...any) *where {
	for _, char := range text {
		if char != '?' {
			w.text.WriteRune(char)
			continue
		}
		w.args = append(w.args, args[0])
		args = args[1:]
		w.text.WriteString("$" + strconv.Itoa(len(w.args)))
	}
	return w
}

// values adds a row to an INSERT.
func (w *where) values(args ...any) {
	head := ", ("
	if len(w.args) == 0 {
		head = " VALUES ("
	}
	w.write(head+"?"+strings.Repeat(", ?", len(args)-1)+")", args...)
}

// page continues a list, newest first, after the entry that a page names.
func (w *where) page(page coordination.Page, id string) *where {
	if page.BeforeID != "" {
		w.and("(created_at, "+id+") < (?, ?)", micros(page.BeforeAt), page.BeforeID)
	}
	return w.write(" ORDER BY created_at DESC, "+id+" DESC LIMIT ?", limitOf(page.Limit))
}

// limitOf keeps the size of a page between 1 and 101: one more than a door
// shows, so that it knows whether there is another page.
func limitOf(limit int) int { return min(max(limit, 1), 101) }

func (w *where) String() string { return w.text.String() }
