package policy

import "time"

// Tally is how many decisions of a day had an outcome. Those that the node asked
// for again, before something left or ran, are among them.
type Tally struct {
	Day     time.Time // its beginning, UTC
	Outcome Outcome
	Count   int
}
