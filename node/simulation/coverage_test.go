package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
)

// What happened, and how often, over all seeds of this process.
var seen = struct {
	sync.Mutex
	count map[string]int
}{count: map[string]int{}}

// happened counts an event.
func happened(event string) {
	seen.Lock()
	seen.count[event]++
	seen.Unlock()
}

// expected are the events that a run of some length has to have seen: a
// simulation in which one of them never happens proves less than it says.
var expected = []string{
	// network
	"an envelope is lost", "an answer is lost", "an envelope is late", "an envelope is duplicated", "envelopes are reordered",
	"the network parts", "the network heals", "a deadline passes", "no byte leaves: the network is cut",
	// processes and clocks
	"a process dies before a transaction", "a process dies after a transaction",
	"a process starts again", "a clock is behind", "a clock is ahead",
	// owners
	"the mode is manual", "the mode is assisted", "the mode is autonomous", "an agent is active", "an agent is disabled",
	"a connection is revoked", "an allow grant has an end", "a field leaves with an approval",
	"a decision is queued", "a decision is rejected", "a decision is failed",
	"a decision is refused: hash_mismatch", "a decision is refused: approval_expired", "an approval is answered at the instant of its end",
	"an approval ends consumed", "an approval ends rejected", "an approval ends expired",
	// writes and runs
	"a write is queued", "a write is pending_approval", "a write is refused",
	"a message is delivered", "a message is rejected", "a message is failed",
	"a message is failed: version_conflict", // D1, D2
	"a message is rejected: approval_expired", "a message is failed: stale_version",
	// ends
	"a task ends confirmed", "a task ends cancelled", "a task ends expired",
	"copies are out of step",
}

// rare are those that only a longer run has to have seen: of the first kind some
// in each 500 histories, of the second one or two.
var rare = map[int][]string{
	1_000: {
		"a decision is running", "a decision is approved", "an action runs under a rule", "an action runs with an approval",
	},
	5_000: {
		"a process dies before the executor", "a process dies after the executor", "an expired task is corrected",
		"both sides flag confirmed_vs_cancelled", "both sides flag double_run",
	},
}

// wantCovered fails for every expected event that never happened.
func wantCovered(t *testing.T, histories int) {
	t.Helper()
	seen.Lock()
	defer seen.Unlock()
	want := slices.Clone(expected)
	for from, events := range rare {
		if histories >= from {
			want = append(want, events...)
		}
	}
	for _, event := range want {
		if seen.count[event] == 0 {
			t.Errorf("over all seeds it never happened that %s", event)
		}
	}
}

// report tells what happened, and how often.
func report(t *testing.T) {
	t.Helper()
	seen.Lock()
	defer seen.Unlock()
	var text strings.Builder
	for _, event := range slices.Sorted(maps.Keys(seen.count)) {
		fmt.Fprintf(&text, "\n%9d  %s", seen.count[event], event)
	}
	t.Logf("what happened, and how often:%s", text.String())
}
