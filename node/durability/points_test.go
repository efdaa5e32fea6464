package durability

import "strings"

// point is where a node dies.
type point struct {
	flow, name string
	// statement begins the one at which it dies, in a transaction that has run all
	// of after; over says that it dies when the statement is done.
	statement string
	after     []string
	over      bool
	skip      int // how often it passes first
	// effect is an executor, before or after whose effect it dies.
	effect string
}

// at says whether a call is the point's.
func (p point) at(statement string, seen []string) bool {
	if p.statement == "" || !strings.HasPrefix(statement, p.statement) {
		return false
	}
	for _, earlier := range p.after {
		if !holds(seen, earlier) {
			return false
		}
	}
	return true
}

func holds(seen []string, beginning string) bool {
	for _, statement := range seen {
		if strings.HasPrefix(statement, beginning) {
			return true
		}
	}
	return false
}

// The transactions, by a statement that only they run.
var (
	sends    = []string{"INSERT INTO idempotency", "INSERT INTO messages"}
	claims   = []string{"UPDATE outbox AS o SET lease_until"}
	settles  = []string{"DELETE FROM outbox WHERE id"}
	receives = []string{"INSERT INTO answers"}
	asks     = []string{"INSERT INTO idempotency", "INSERT INTO approvals"}
	decides  = []string{"UPDATE approvals SET status = $1, override"}
	reserves = []string{"INSERT INTO runs"}
	runs     = []string{"UPDATE runs SET state"}
	expires  = []string{"UPDATE tasks SET rev", "UPDATE tasks SET status"}
	lapses   = []string{"UPDATE approvals SET rev", "UPDATE approvals SET status"}
)

// points are all of them. What a point is not reached by is a failure of the test.
var points = []point{
	{flow: "send", name: "send: before the message is written", statement: "INSERT INTO messages", after: sends[:1]},
	{flow: "send", name: "send: after it is written", statement: "INSERT INTO messages", after: sends[:1], over: true},
	{flow: "send", name: "send: before it is queued", statement: "INSERT INTO outbox", after: sends},
	{flow: "send", name: "send: before it is logged", statement: "INSERT INTO audit_log", after: sends},
	{flow: "send", name: "send: before the commit", statement: "COMMIT", after: sends},
	{flow: "send", name: "send: after the commit, before the answer", statement: "COMMIT", after: sends, over: true},

	{flow: "deliver", name: "deliver: before the envelope is kept", statement: "UPDATE messages SET status", after: claims},
	{flow: "deliver", name: "deliver: before claim and envelope are committed", statement: "COMMIT", after: claims},
	{flow: "deliver", name: "deliver: after they are committed, before it is sent", statement: "COMMIT", after: claims, over: true},
	{flow: "deliver", name: "deliver: after it was sent, before that is committed", statement: "COMMIT", after: settles},
	{flow: "deliver", name: "deliver: after that is committed", statement: "COMMIT", after: settles, over: true},

	{flow: "receive", name: "receive: before the answer is kept", statement: "INSERT INTO answers"},
	{flow: "receive", name: "receive: after it is kept", statement: "INSERT INTO answers", over: true},
	{flow: "receive", name: "receive: before the commit", statement: "COMMIT", after: receives},
	{flow: "receive", name: "receive: after the commit, before the answer", statement: "COMMIT", after: receives, over: true},

	{flow: "decide", name: "decide: before the decision is written", statement: "UPDATE approvals SET status = $1, override"},
	{flow: "decide", name: "decide: after it is written", statement: "UPDATE approvals SET status = $1, override", over: true},
	{flow: "decide", name: "decide: before what was held is queued", statement: "INSERT INTO outbox", after: decides},
	{flow: "decide", name: "decide: before the commit", statement: "COMMIT", after: decides},
	{flow: "decide", name: "decide: after the commit, before the answer", statement: "COMMIT", after: decides, over: true},

	{flow: "run", name: "run: before the request for an approval is committed", statement: "COMMIT", after: asks},
	{flow: "run", name: "run: after it is committed", statement: "COMMIT", after: asks, over: true},
	{flow: "run", name: "run: before the reservation is committed", statement: "COMMIT", after: reserves},
	{flow: "run", name: "run: after it is committed", statement: "COMMIT", after: reserves, over: true},
	{flow: "run", name: "run: before the beginning is committed", statement: "COMMIT", after: runs},
	{flow: "run", name: "run: after it is committed", statement: "COMMIT", after: runs, over: true},
	{flow: "run", name: "run: before the effect", effect: "reservation.book"},
	{flow: "run", name: "run: after the effect", effect: "reservation.book", over: true},
	{flow: "run", name: "run: before the end is committed", statement: "COMMIT", after: runs, skip: 1},
	{flow: "run", name: "run: after the end is committed, before the answer", statement: "COMMIT", after: runs, skip: 1, over: true},
	{flow: "run", name: "run: before an effect that cannot be repeated", effect: "calendar.hold"},
	{flow: "run", name: "run: after an effect that cannot be repeated", effect: "calendar.hold", over: true},

	{flow: "expire", name: "expire: before a task's end is committed", statement: "COMMIT", after: expires},
	{flow: "expire", name: "expire: after it is committed", statement: "COMMIT", after: expires, over: true},
	{flow: "expire", name: "expire: before an approval's end is committed", statement: "COMMIT", after: lapses},
	{flow: "expire", name: "expire: after it is committed", statement: "COMMIT", after: lapses, over: true},
}

// The points of a new node's first start.
func init() {
	for _, table := range []string{"outbox", "approvals", "tasks", "runs"} {
		for _, over := range []bool{false, true} {
			name := "migrate: before the table " + table
			if over {
				name = "migrate: after the table " + table
			}
			points = append(points, point{flow: "migrate", name: name, statement: "CREATE TABLE " + table + " ", over: over})
		}
	}
}
