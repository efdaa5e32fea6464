package engine

import (
	"math/rand/v2"
	"testing"

	"agentlink/policy"
)

// TestLeavingTheTaskOutNeverWidens (S7): under random rules, an action that names no
// task never runs by itself where a contact's deny would refuse it with the task.
func TestLeavingTheTaskOutNeverWidens(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.store.forget = true
	g := generator{rand.New(rand.NewPCG(7, 20260601))}
	alone, refused, both := 0, 0, 0
	for range randomCases / 10 {
		mode, grants := g.mode(), g.grants()
		if g.IntN(2) == 0 {
			mode = policy.Autonomous
		}
		b.setRules(mode, grants...)
		request := policy.Request{Capabilities: []string{one(g, policy.ActionReservationBook, policy.ActionCalendarHold, "action.pay", "action.reservation.table.move")}, Fields: g.request(agentID).Fields}
		without := b.decide(t, request)
		denied := false
		for _, contact := range []string{"anna@a.example", "bert@b.example:7411"} {
			with := request
			with.Contact, with.Connection = contact, "active"
			denied = denied || b.decide(t, with).Outcome == policy.Refused
		}
		if without.Outcome == policy.Allowed {
			alone++
		}
		if denied {
			refused++
		}
		if without.Outcome == policy.Allowed && denied {
			t.Fatalf("%s runs by itself without a task, and is refused with one\nmode %s, grants: %s", request.Capabilities[0], mode, shown(grants))
		}
		if denied && without.Outcome == policy.Held {
			both++
		}
	}
	if least := randomCases / 1000; alone < least || refused < least || both < least {
		t.Errorf("only %d allowed without a task, %d refused with one, %d held for that", alone, refused, both)
	}
}
