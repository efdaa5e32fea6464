package browsertest

import (
	"net/http"
	"strings"
	"testing"

	"agentlink/coordination"
	"agentlink/node/api/socket"
	"agentlink/node/nodetest"
	"agentlink/policy"
)

// household is a world in which a good deal has happened, so that each page has
// something of each kind to show.
type household struct {
	*world
	clerk, vera *nodetest.Agent
	tasks       map[string]string // uids by what they are for
}

func newHousehold(t testing.TB, change ...func(*world)) *household {
	t.Helper()
	h := &household{world: newWorld(t, change...), tasks: map[string]string{}}
	h.clerk = h.ada.CreateAgent("clerk", policy.Autonomous)
	h.vera = h.ben.CreateAgent("vera", policy.Autonomous)
	h.rules()
	h.refused()
	h.talks()
	h.dines()
	h.negotiates()
	h.waits()
	return h
}

func (h *household) rules() {
	h.t.Helper()
	h.allow(h.ada, h.scout, h.juno.Address, policy.DiscloseAvailability, policy.DisclosePreferences)
	h.ada.Grant(h.scout, h.juno.Address, policy.DiscloseBudget, policy.Deny)
	h.ada.Grant(h.scout, "", "task.*", policy.Allow)
	h.allow(h.ben, h.juno, h.scout.Address, policy.DiscloseAvailability)
	nodetest.Owner[socket.Agent](h.ada, socket.AgentStatus, socket.ChangeStatus{Agent: h.clerk.ID, Status: policy.Disabled})
}

// refused: the agent has once tried to tell what a grant denies.
func (h *household) refused() {
	h.t.Helper()
	h.start("Dinner, not too dear", dinner(map[string]any{"budgetPerPerson": 40})).Want(http.StatusForbidden)
}

// talks: messages in both directions, one that was rejected, and one that waits.
func (h *household) talks() {
	h.t.Helper()
	text := "Shall we have dinner on Friday? Da Piero has a table by the window."
	h.say(h.scout, h.ofScout.ID, text).Want(http.StatusCreated)
	nodetest.Eventually(h.t, "the message arrives", func() bool {
		return strings.Contains(string(h.juno.Get("/v1/agent/messages").Body), "Da Piero has a table")
	})
	h.say(h.juno, h.ofJuno.ID, "Friday is fine. Ben would rather eat at eight.").Want(http.StatusAccepted)
	h.ben.Approve(h.ben.Pending())
	h.say(h.juno, h.ofJuno.ID, "He also says that you still owe him a book.").Want(http.StatusAccepted)
	h.ben.Reject(h.ben.Pending())
	nodetest.Eventually(h.t, "the answer arrives", func() bool {
		return strings.Contains(string(h.scout.Get("/v1/agent/messages").Body), "rather eat at eight")
	})
}

// dines: a dinner that both accept, that is booked and confirmed.
func (h *household) dines() {
	h.t.Helper()
	uid := h.start("Dinner on Friday", dinner(map[string]any{"dietaryNotes": []string{"no peanuts", "one vegetarian"}})).Want(http.StatusAccepted).Text("taskUid")
	h.tasks["confirmed"] = uid
	h.ada.Approve(h.ada.Pending())
	arrives(h.juno, h.t, uid, "status", "negotiating")
	counter := dinner(map[string]any{"time": "20:00", "cuisine": nil})
	h.juno.Post("/v1/agent/tasks/"+uid+"/proposals", map[string]any{"fields": counter, "basedOnVersion": 1}).Want(http.StatusAccepted)
	h.ben.Approve(h.ben.Pending())
	h.accept(uid)
	asked := h.scout.Post("/v1/agent/approvals", map[string]any{"action": "reservation.book", "parameters": booking(uid, nil)}).Want(http.StatusCreated)
	h.ada.Approve(h.ada.Pending())
	h.scout.Post("/v1/agent/actions", map[string]any{"approvalId": asked.Text("approvalId")}).Want(http.StatusCreated)
	arrives(h.juno, h.t, uid, "status", "confirmed")
}

// accept lets scout accept the second version, once it is there.
func (h *household) accept(uid string) {
	h.t.Helper()
	nodetest.Eventually(h.t, "the second version is accepted", func() bool {
		return h.scout.Post("/v1/agent/tasks/"+uid+"/responses", map[string]any{"version": 2, "decision": "accept"}).Status == http.StatusCreated
	})
	arrives(h.juno, h.t, uid, "status", "agreed")
	arrives(h.scout, h.t, uid, "status", "agreed")
}

// negotiates: one task is still open, one is cancelled, one is agreed.
func (h *household) negotiates() {
	h.t.Helper()
	uid := h.start("Lunch with the whole family in the garden, if it does not rain", dinner(map[string]any{"time": "12:30", "partySize": 9})).Want(http.StatusCreated).Text("taskUid")
	h.tasks["negotiating"] = uid
	arrives(h.juno, h.t, uid, "status", "negotiating")
	cancelled := h.start("Breakfast", dinner(map[string]any{"time": "08:00"})).Want(http.StatusCreated).Text("taskUid")
	h.tasks["cancelled"] = cancelled
	arrives(h.juno, h.t, cancelled, "status", "negotiating")
	h.scout.Post("/v1/agent/tasks/"+cancelled+"/cancel", map[string]any{"reason": "Ada overslept."})
	arrives(h.juno, h.t, cancelled, "status", "cancelled")

	agreed := h.start("Supper on Sunday", dinner(map[string]any{"date": "2031-05-11"})).Want(http.StatusCreated).Text("taskUid")
	h.tasks["agreed"] = agreed
	arrives(h.juno, h.t, agreed, "status", "negotiating")
	counter := dinner(map[string]any{"date": "2031-05-11", "time": "20:00", "cuisine": nil})
	h.juno.Post("/v1/agent/tasks/"+agreed+"/proposals", map[string]any{"fields": counter, "basedOnVersion": 1}).Want(http.StatusAccepted)
	h.ben.Approve(h.ben.Pending())
	h.accept(agreed)
}

// waits: one of each thing that an owner decides, and one that was rejected.
func (h *household) waits() {
	h.t.Helper()
	h.scout.Post("/v1/agent/approvals", map[string]any{
		"action": "reservation.book", "parameters": booking(h.tasks["agreed"], map[string]any{"date": "2031-05-11", "partySize": 12}),
	}).Want(http.StatusCreated)
	h.ada.Reject(h.ada.Pending())
	h.scout.Post("/v1/agent/approvals", map[string]any{
		"action": "reservation.book", "parameters": booking(h.tasks["agreed"], map[string]any{"date": "2031-05-11", "time": "21:00"}),
	}).Want(http.StatusCreated)
	h.start("Dinner in June", dinner(map[string]any{
		"date": "2031-06-13", "dietaryNotes": []string{"no shellfish"}, "notes": "Ada's mother comes along; she is hard of hearing and likes a quiet corner.",
	})).Want(http.StatusAccepted)
	nodetest.Owner[socket.Connection](h.ada, socket.ConnectionSettings, socket.ChangeConnection{ID: h.ofScout.ID, StructuredOnly: true})
	h.say(h.scout, h.ofScout.ID, "I have asked about Sunday. Could you bring the book?").Want(http.StatusAccepted)

	nodetest.Owner[socket.Sent](h.ben, socket.ConnectionRequest, socket.RequestConnection{
		Agent: h.vera.ID, Address: h.scout.Address, Note: "Vera here, from the book club. May our agents talk?",
	})
	h.ada.ConnectionWith(h.vera.Address, coordination.PendingIncoming)
}
