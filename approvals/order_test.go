package approvals_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"agentlink/approvals"
)

// TestDecideHitsItsID: 2 to 20 wait and are decided in any order, 1,000 decisions in
// all; each decides the one that it names, and no other.
func TestDecideHitsItsID(t *testing.T) {
	t.Parallel()
	w, rng := newWorld(t), rand.New(rand.NewPCG(5, 6))
	decided := 0
	for round := 0; decided < 1000; round++ {
		waiting := make([]approvals.Approval, 2+rng.IntN(19))
		for i := range waiting {
			r := request(approvals.Action)
			r.Parameters = json.RawMessage(fmt.Sprintf(`{"round":%d,"n":%d}`, round, i))
			waiting[i] = w.ask(r)
		}
		want := map[string]approvals.Status{}
		for _, i := range rng.Perm(len(waiting)) {
			yes := rng.IntN(2) == 0
			w.must(w.decide(approvals.Decision{ID: waiting[i].ID, Hash: waiting[i].Hash, Approve: yes}))
			want[waiting[i].ID] = map[bool]approvals.Status{true: approvals.Approved, false: approvals.Rejected}[yes]
			decided++
			for _, other := range waiting {
				status := approvals.Pending
				if known, done := want[other.ID]; done {
					status = known
				}
				if got := w.approval(other.ID).Status; got != status {
					t.Fatalf("after a decision on another, one is %s, want %s", got, status)
				}
			}
		}
	}
}
