package dashboard_test

import (
	"net/http"
	"strings"
	"testing"

	"agentlink/coordination"
	"agentlink/node"
	"agentlink/policy"
)

func TestKnows(t *testing.T) {
	d := newDinner(t)
	juno := "/knows/" + address(d.juno)
	d.get("/knows").want(http.StatusOK).says(address(d.juno), "never told, can go without asking").lacks("told once")
	d.get(juno).want(http.StatusOK).says("Nothing was told.", "Free text is not in this ledger")

	d.start("Dinner", terms(map[string]any{"dietaryNotes": []string{"no nuts", "<b>no milk</b>"}}))
	d.get("/knows").says("told 3 times, can go without asking", "told once", juno+"/disclose.availability", juno+"/disclose.dietary", juno+"/other", "Other details")
	d.get(juno).says("2026-05-09", "Europe/Rome", "Da Piero", "no nuts", "&lt;b&gt;no milk&lt;/b&gt;", "/tasks/"+d.uid, "Dinner", "your rules allowed it", "Told")
	d.get(juno+"/disclose.dietary").want(http.StatusOK).says("Dietary", "no nuts", "Every kind").lacks("Europe/Rome")
	d.get(juno+"/other").says("Da Piero", "Party size").lacks("no nuts")
	d.get(juno + "/disclose.budget").says("Nothing was told.")
	d.get("/contacts/"+d.ofScout.ID).says("3 told", juno+"/disclose.availability")
}

func TestLedgerOfNothing(t *testing.T) {
	d := newDinner(t)
	for _, path := range []string{"/knows/nobody", "/knows/%25zz", "/knows/" + address(d.juno) + "/secrets", "/knows/UPPER@" + host} {
		d.get(path).want(http.StatusNotFound)
	}
}

// What was held stands under its approval, what the owner wrote is the owner's,
// and what never left was not told.
func TestLedgerSaysWhy(t *testing.T) {
	d := newDinner(t)
	d.start("Dinner", nil)
	d.grant(d.scout, address(d.juno), "disclose.availability", policy.Ask)
	var result coordination.Result
	d.in(func(tx node.Tx) (err error) {
		result, err = d.coordination.Propose(tx, d.actor(d.scout), d.uid, terms(nil), 0)
		return err
	})
	ledger := "/knows/" + address(d.juno)
	d.get(ledger).says("Nothing was told.")
	d.get("/knows").says("never told, asks you each time")
	d.decide(result.ApprovalID, true)
	d.get(ledger).says("you approved it", "/approvals/"+result.ApprovalID, "On its way")
	d.deliver()
	d.get(ledger).says("Told").lacks("On its way")

	d.in(func(tx node.Tx) error {
		return d.sent(d.coordination.Propose(tx, d.ownerOf(d.scout), d.uid, terms(map[string]any{"time": "21:15"}), 0))
	})
	d.get(ledger).says("you wrote it yourself", "21:15")
	d.in(func(tx node.Tx) error {
		_, err := d.coordination.RevokeConnection(tx, d.ownerOf(d.scout), d.ofScout.ID)
		return err
	})
	d.get(ledger).says("Never left", "Told")
	d.get("/knows").says("told 3 times", "no longer connected")
}

// The ledger belongs to the contact, whichever agent told it, and survives a new
// connection.
func TestLedgerOutlivesConnections(t *testing.T) {
	d := newDinner(t)
	d.start("Dinner", terms(nil))
	d.in(func(tx node.Tx) error {
		_, err := d.coordination.RevokeConnection(tx, d.ownerOf(d.scout), d.ofScout.ID)
		return err
	})
	d.deliver()
	again, _ := d.connect(d.scout, d.juno)
	d.get("/contacts/" + again.ID).says("3 told")

	page := d.get("/knows")
	if rows := strings.Count(page.Body, `<th scope="row">`); rows != 2 {
		t.Errorf("%d contacts, want scout's juno and juno's scout", rows)
	}
}

// A contact that never was connected and was never told anything knows nothing.
func TestKnowsLeavesStrangersOut(t *testing.T) {
	b, _, _, _ := couple(t)
	b.get("/knows").want(http.StatusOK).says("You have no contact yet")
}
