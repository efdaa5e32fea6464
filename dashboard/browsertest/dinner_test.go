package browsertest

import (
	"net/http"
	"testing"

	"agentlink/coordination"
	"agentlink/node/nodetest"
	"agentlink/policy"
)

// Two owners, two browsers, two agents: they connect, settle a dinner and book
// it, and everything that a person decides is decided by a click.
func TestDinnerByClicks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, alone)
	ada, ben := signedIn(t, w.ada), signedIn(t, w.ben)
	ada.visit("/")
	ben.visit("/")
	ada.connected()
	ben.connected()
	w.connectByClicks(ada, ben)
	w.allow(w.ada, w.scout, w.juno.Address, policy.DiscloseAvailability, policy.DisclosePreferences)
	w.allow(w.ben, w.juno, w.scout.Address, policy.DiscloseAvailability)

	uid := w.start("Dinner on Friday", dinner(map[string]any{"dietaryNotes": []string{"no peanuts"}})).Want(http.StatusAccepted).Text("taskUid")
	ada.decides("scout starts Dinner on Friday with "+w.juno.Address, "no peanuts")
	arrives(w.juno, t, uid, "status", "negotiating")

	counter := dinner(map[string]any{"time": "20:00", "cuisine": nil})
	w.juno.Post("/v1/agent/tasks/"+uid+"/proposals", map[string]any{"fields": counter, "basedOnVersion": 1}).Want(http.StatusAccepted)
	ben.decides("juno proposes version 2", "20:00")
	(&household{world: w}).accept(uid)

	w.scout.Post("/v1/agent/approvals", map[string]any{
		"action": "reservation.book", "parameters": booking(uid, nil), "onApproval": "run",
	}).Want(http.StatusCreated)
	ada.decides("scout will book Da Piero for 4", "The node runs it as soon as you approve")
	arrives(w.juno, t, uid, "status", "confirmed")
	code := w.juno.Get("/v1/agent/tasks/" + uid).Text("confirmation.content.code")
	for _, b := range []*tab{ada, ben} {
		b.visit("/tasks")
		b.follow("Dinner on Friday")
		b.says("confirmed", code)
	}
	w.ada.VerifyAudit()
	w.ben.VerifyAudit()
}

// connectByClicks: scout asks, Ada approves, Ben accepts.
func (w *world) connectByClicks(ada, ben *tab) {
	w.t.Helper()
	w.scout.Post("/v1/agent/connections", map[string]any{"address": w.juno.Address, "note": "Dinner on Friday?"}).Want(http.StatusAccepted)
	ada.decides("scout asks to connect with " + w.juno.Address)
	ben.says("Something has changed")
	ben.follow("Something has changed")
	ben.says(w.scout.Address+" asks to connect with juno", "compare the fingerprint")
	ben.follow(w.scout.Address + " asks to connect with juno")
	ben.says("Dinner on Friday?", "Compare the fingerprints")
	ben.follow("Accept")
	ben.says("Accepted")
	w.ofScout = w.ada.ConnectionWith(w.juno.Address, coordination.ConnActive)
	w.ofJuno = w.ben.ConnectionWith(w.scout.Address, coordination.ConnActive)
}

// decides follows what waits at home, reads it, and approves it.
func (b *tab) decides(what string, texts ...string) {
	b.t.Helper()
	if b.path() != "/" {
		b.follow("Home")
	}
	b.until("it waits at home: "+what, `(() => {
		if (document.body.innerText.includes(`+quote(what)+`)) return true;
		const fresh = document.querySelector("#news a");
		if (fresh) fresh.click();
		return false;
	})()`)
	b.settled()
	b.follow(what)
	b.says(texts...)
	b.follow("Approve once")
	b.says("Approved.")
}

// An owner ends a connection; both sides say so, and nothing more is sent.
func TestRevoke(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ada := signedIn(t, w.ada)
	ada.visit("/contacts")
	ada.follow(w.juno.Address)
	ada.follow("End the connection")
	ada.says("will no longer reach each other")
	ada.press("End it now") // the box is empty
	ada.says("End the connection with")
	if w.ada.ConnectionWith(w.juno.Address, coordination.ConnActive).ID == "" {
		t.Fatal("it ended without the box")
	}
	ada.press("End the connection with")
	ada.follow("End it now")
	ada.says("The connection has ended")
	w.ben.ConnectionWith(w.scout.Address, coordination.ConnRevoked)
	w.say(w.scout, w.ofScout.ID, "Hello?").Want(http.StatusForbidden)
	ben := signedIn(t, w.ben)
	ben.visit("/contacts")
	ben.says(w.scout.Address, "ended")
}

func (w *world) say(agent *nodetest.Agent, connection, text string) nodetest.Answer {
	w.t.Helper()
	return agent.Post("/v1/agent/messages", map[string]any{"connectionId": connection, "text": text})
}
