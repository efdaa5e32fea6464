package hostile

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node/api/socket"
	"agentlink/node/nodetest"
)

// booking is the parameters of the action that a dinner is for.
func booking(uid, time string) map[string]any {
	return map[string]any{"venue": "Trattoria", "date": "2026-12-05", "time": time, "partySize": 2, "taskUid": uid}
}

// evening is everything that two agents say to each other about one dinner.
type evening struct {
	world    *world
	ana, ben *home
	uid      string
	approval string
}

func (e *evening) steps() []func() {
	contact := func(h, other *home) string { return h.with(other.agent.Address).ID }
	return []func(){
		func() {
			e.ana.post("/messages", map[string]any{"connectionId": contact(e.ana, e.ben), "text": "Shall we eat?"})
		},
		func() {
			e.ben.post("/messages", map[string]any{"connectionId": contact(e.ben, e.ana), "text": "On Saturday."})
		},
		func() {
			e.uid = e.ana.post("/tasks", map[string]any{
				"connectionId": contact(e.ana, e.ben), "type": "dinner.coordination", "title": "Dinner", "proposal": dinner("19:30"), "expiresInHours": 72,
			}).Text("taskUid")
		},
		func() { e.ben.post("/tasks/"+e.uid+"/proposals", map[string]any{"fields": dinner("20:30")}) },
		func() {
			e.ana.post("/tasks/"+e.uid+"/responses", map[string]any{"version": 2, "decision": "reject", "reason": "too late"})
		},
		func() { e.ana.post("/tasks/"+e.uid+"/proposals", map[string]any{"fields": dinner("20:00")}) },
		func() { e.ben.post("/tasks/"+e.uid+"/responses", map[string]any{"version": 3, "decision": "accept"}) },
		func() {
			e.approval = e.ana.post("/approvals", map[string]any{"action": "reservation.book", "parameters": booking(e.uid, "20:00")}).Text("approvalId")
		},
		func() {
			shown := socket.Approval{}
			if e.ana.Try(socket.ApprovalShow, socket.ByID{ID: e.approval}, &shown) == nil && shown.Status == approvals.Pending {
				_ = e.ana.Try(socket.ApprovalDecide, socket.DecideApproval{ID: shown.ID, Hash: shown.Hash, Approve: true}, nil)
			}
		},
		func() {
			e.ana.post("/actions", map[string]any{"action": "reservation.book", "parameters": booking(e.uid, "20:00"), "approvalId": e.approval})
		},
	}
}

// whole plays it to its end.
func (e *evening) whole(t *testing.T) {
	t.Helper()
	for _, step := range e.steps() {
		step()
		e.world.settle()
	}
	e.wantBooked(t)
}

func (e *evening) wantBooked(t *testing.T) {
	t.Helper()
	for _, h := range []*home{e.ana, e.ben} {
		if task := h.task(e.uid); task.Status != coordination.Confirmed || task.OutOfStep || task.Disagreement != "" {
			t.Fatalf("%s: the task is %s, out of step %v, disagreement %q", h.agent.Address, task.Status, task.OutOfStep, task.Disagreement)
		}
	}
}

// timesEach is how often each captured message comes again.
const timesEach = 100

// TestReplays (S17): every message of an evening, of both directions, a hundred
// times each, in any order, at once and days later. No row of either node
// changes, nothing is booked again, and each gets the answer that it got.
func TestReplays(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	e := &evening{world: w, ana: w.homes[0], ben: w.homes[1]}
	w.connect(e.ana, e.ben)
	e.whole(t)
	type captured struct {
		to *home
		post
	}
	var all []captured
	kinds := map[wire.Type]bool{}
	for _, h := range w.homes {
		for _, p := range h.door.seen() {
			if p.status == http.StatusOK {
				all, kinds[p.claims().Type] = append(all, captured{h, p}), true
			}
		}
	}
	if len(all) < 10 || len(kinds) < 7 {
		t.Fatalf("only %d messages of %d kinds", len(all), len(kinds))
	}
	times := timesEach
	if raceDetector {
		times /= 10
	}
	var order []captured
	for range times {
		order = append(order, all...)
	}
	random := rand.New(rand.NewPCG(5, 6))
	random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	before := [2]string{e.ana.looker.state(t), e.ben.looker.state(t)}
	for i, c := range order {
		if i == len(order)/2 {
			w.clock.Advance(5 * time.Hour)
		}
		status, answer := c.to.receives(c.envelope)
		if status != http.StatusOK || !bytes.Equal(answer, c.answer) {
			t.Fatalf("%s again: %d %s", c.claims().Type, status, answer)
		}
	}
	if after := [2]string{e.ana.looker.state(t), e.ben.looker.state(t)}; after != before {
		t.Error("something has changed")
	}
	w.settle()
	e.wantBooked(t)
	if runs := e.ana.rooms.count() + e.ben.rooms.count(); runs != 1 {
		t.Errorf("%d bookings", runs)
	}
	// To the other of the two they say nothing at all.
	for _, c := range all {
		other := e.ana
		if c.to == e.ana {
			other = e.ben
		}
		w.clock.Advance(10 * time.Second)
		if status, answer := other.receives(c.envelope); status != http.StatusUnauthorized && status != http.StatusBadRequest {
			t.Errorf("%s to its sender: %d %s", c.claims().Type, status, answer)
		}
	}
	t.Logf("%d messages of %d kinds, %d times each", len(all), len(kinds), times)
	e.ana.VerifyAudit()
	e.ben.VerifyAudit()
}

// receives is what a node says to an envelope, past its door.
func (h *home) receives(envelope []byte) (status int, answer []byte) {
	h.world.t.Helper()
	response, err := http.Post(h.Info.AgentsURL+wire.InboxPath, "application/jose", bytes.NewReader(envelope)) //nolint:noctx // a test's
	must(h.world.t, err)
	defer func() { _ = response.Body.Close() }()
	answer, err = io.ReadAll(response.Body)
	must(h.world.t, err)
	return response.StatusCode, answer
}

// TestDowngrade (S17): another version than the one that is pinned is refused,
// whatever it says, and stands in the log.
func TestDowngrade(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	h := w.homes[0]
	r := newRogue(t, h, "eve")
	r.connect()
	uid := r.creates()
	before := nodetest.Owner[socket.Task](h.Node, socket.TaskShow, socket.TaskRef{UID: uid}).Status
	for _, version := range []int{0, 2, 3, 1 << 30} {
		for _, e := range []wire.Envelope{r.claims(wire.Message), r.forTask(wire.TaskCancel, uid, 2, 0)} {
			e.V = version
			logged := h.logged()
			a := r.post(r.envelope(e, `{}`))
			refused := a.status == http.StatusBadRequest || a.ack.Status == wire.Rejected
			if !refused {
				t.Errorf("version %d, %s: %d %s", version, e.Type, a.status, a.body)
			}
			if version > 1 && h.logged() != logged+1 {
				t.Errorf("version %d, %s: it does not stand in the log", version, e.Type)
			}
		}
	}
	if after := h.task(uid).Status; after != before {
		t.Errorf("the task is %s", after)
	}
}

// logged is how many rejected messages the log tells of.
func (h *home) logged() int {
	h.world.t.Helper()
	return h.looker.count(h.world.t, "audit_log", "type IN ('message.rejected', 'task.message_rejected')")
}
