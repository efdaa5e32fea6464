package requirement

import (
	"net/http"
	"testing"

	"agentlink/node/api/socket"
	"agentlink/node/audit"
	"agentlink/node/nodetest"
	"agentlink/policy"
)

// TestEachCapabilityGuardsItsRequest denies one capability after another; what
// it covers is refused and names it, and nothing else is in its way.
func TestEachCapabilityGuardsItsRequest(t *testing.T) {
	p := open(t, policy.Assisted, policy.Assisted)
	p.ada.Grant(p.scout, "", "disclose.*", policy.Allow)
	uid, countered := p.dinner(), p.countered()
	personal := func(name string, value any) func() nodetest.Answer {
		return func() nodetest.Answer { return p.propose(p.scout, uid, terms(body{name: value})) }
	}
	tests := []struct {
		capability, name string
		request          func() nodetest.Answer
	}{
		{"message.send", "a chat message", func() nodetest.Answer {
			return p.scout.Post("/v1/agent/messages", body{"connectionId": p.ofScout.ID, "text": "Hello"})
		}},
		{"task.create", "starting a task", func() nodetest.Answer { return p.start(nil) }},
		{"task.propose", "the first proposal in a new task", func() nodetest.Answer { return p.start(terms(nil)) }},
		{"task.propose", "a proposal", func() nodetest.Answer { return p.propose(p.scout, uid, terms(nil)) }},
		{"task.respond", "an acceptance", func() nodetest.Answer { return p.respond(p.scout, countered, 2, "accept") }},
		{"task.respond", "a rejection", func() nodetest.Answer { return p.respond(p.scout, countered, 2, "reject") }},
		{"task.cancel", "cancelling", func() nodetest.Answer { return p.scout.Post("/v1/agent/tasks/"+uid+"/cancel", body{}) }},
		{"disclose.availability", "when", func() nodetest.Answer { return p.propose(p.scout, uid, terms(nil)) }},
		{"disclose.preferences", "cuisine", personal("cuisine", "italian")},
		{"disclose.dietary", "dietary notes", personal("dietaryNotes", []string{"no nuts"})},
		{"disclose.budget", "budget", personal("budgetPerPerson", 40)},
		{"disclose.notes", "notes", personal("notes", "by the window")},
		{"connection.request", "asking to connect", func() nodetest.Answer {
			return p.scout.Post("/v1/agent/connections", body{"address": "somebody@localhost:1"})
		}},
		{"action.reservation.book", "booking a table", func() nodetest.Answer {
			return p.scout.Post("/v1/agent/approvals", body{"action": "reservation.book", "parameters": body{
				"venue": "Da Piero", "date": "2031-05-09", "time": "19:30", "partySize": 2}})
		}},
		{"action.calendar.hold", "holding a time", func() nodetest.Answer {
			return p.scout.Post("/v1/agent/actions", body{"action": "calendar.hold", "parameters": body{
				"title": "Dinner", "date": "2031-05-09", "time": "19:30", "durationMinutes": 90}})
		}},
	}
	for _, test := range tests {
		grants := []socket.Grant{p.ada.Grant(p.scout, "", test.capability, policy.Deny), p.ada.Grant(p.scout, p.juno.Address, test.capability, policy.Deny)}
		p.Log(test.name)
		p.refused(test.request(), test.capability)
		for _, grant := range grants {
			nodetest.Owner[socket.Grant](p.ada, socket.GrantRemove, socket.ByID{ID: grant.ID})
		}
	}
}

// countered is a task whose second version is Juno's.
func (p *pair) countered() (uid string) {
	p.Helper()
	uid = p.dinner()
	p.propose(p.juno, uid, terms(body{"time": "20:00"})).Want(http.StatusCreated)
	nodetest.Eventually(p, "Juno's version arrives", func() bool { return len(p.proposals(p.scout, uid)) == 2 })
	return uid
}

// TestOwnNames: capabilities of the owner's own can be granted and denied, and
// mean nothing while no task type and no action uses them.
func TestOwnNames(t *testing.T) {
	p := open(t, policy.Assisted, policy.Assisted)
	p.ada.Grant(p.scout, "", "disclose.shoe-size", policy.Deny)
	p.ada.Grant(p.scout, "", "action.pay.rent", policy.Allow)
	p.start(terms(nil)).Want(http.StatusCreated)
	p.scout.Post("/v1/agent/approvals", body{"action": "pay.rent", "parameters": body{}}).Want(http.StatusBadRequest)
}

// TestDisclosuresOfAProposal: one capability for each kind of detail that the
// proposal contains, all checked at once, and none for the others.
func TestDisclosuresOfAProposal(t *testing.T) {
	p := connected(t, policy.Assisted, policy.Assisted)
	p.ada.Grant(p.scout, p.juno.Address, "disclose.*", policy.Deny)
	all := terms(body{"cuisine": "italian", "dietaryNotes": []string{"no nuts"}, "budgetPerPerson": 40, "notes": "by the window"})
	p.refused(p.start(all), "disclose.availability", "disclose.preferences", "disclose.dietary", "disclose.budget", "disclose.notes")
	p.refused(p.start(terms(body{"cuisine": "italian"})), "disclose.availability", "disclose.preferences")
	p.ada.Grant(p.scout, p.juno.Address, "disclose.availability", policy.Allow)
	p.start(terms(nil)).Want(http.StatusCreated) // partySize and venue need none

	p.ada.Grant(p.scout, p.juno.Address, "disclose.budget", policy.Ask)
	p.refused(p.start(all), "disclose.preferences", "disclose.dietary", "disclose.notes")
	p.start(terms(body{"budgetPerPerson": 40})).Want(http.StatusAccepted) // one that asks holds all of it
}

// TestUnknownFieldsComeBeforePolicy: a field that is not in the schema is
// bad_request, and no decision is made about the rest.
func TestUnknownFieldsComeBeforePolicy(t *testing.T) {
	p := open(t, policy.Assisted, policy.Assisted)
	p.ada.Grant(p.scout, "", "task.*", policy.Deny)
	before := len(p.audited(p.ada, audit.PolicyDecided))
	answer := p.start(terms(body{"income": 100000})).Want(http.StatusBadRequest)
	if answer.Text("error.code") != "bad_request" || !contains(answer.Body, "income") {
		t.Errorf("answered %s", answer.Body)
	}
	if after := len(p.audited(p.ada, audit.PolicyDecided)); after != before {
		t.Errorf("%d decisions were made", after-before)
	}
}

// TestFreeTextFollowsItsMessageAlone: no disclosure rule reads chat, titles,
// reasons or notes.
func TestFreeTextFollowsItsMessageAlone(t *testing.T) {
	p := open(t, policy.Assisted, policy.Assisted)
	for _, capability := range []string{"disclose.budget", "disclose.dietary", "disclose.notes", "disclose.preferences"} {
		p.ada.Grant(p.scout, "", capability, policy.Deny)
	}
	const text = "My budget is 40 and I eat no nuts"
	p.scout.Post("/v1/agent/messages", body{"connectionId": p.ofScout.ID, "text": text}).Want(http.StatusCreated)
	p.scout.Post("/v1/agent/tasks", body{"connectionId": p.ofScout.ID, "type": "dinner.coordination", "title": text}).Want(http.StatusCreated)
	uid := p.countered()
	p.scout.Post("/v1/agent/tasks/"+uid+"/responses", body{"version": 2, "decision": "reject", "reason": text}).Want(http.StatusCreated)

	p.ada.Grant(p.scout, p.juno.Address, "message.send", policy.Ask)
	p.scout.Post("/v1/agent/messages", body{"connectionId": p.ofScout.ID, "text": text}).Want(http.StatusAccepted)
}
