package view_test

import (
	"testing"
	"time"

	"agentlink/dashboard/view"
)

func aForm() view.GrantForm {
	return view.GrantForm{Known: []view.Known{{Capability: "message.send", Name: "Send a chat message"}, {Capability: "disclose.*", Name: "Share any personal detail"}}}
}

var limits = []view.Parameter{{Name: "the amount", Value: "is at most 30"}, {Name: "currency\u2066", Value: "is “EUR” or “<b>”"}}

func someGrants() []view.GrantRow {
	return []view.GrantRow{
		{ID: "g1", Capability: "disclose.*", Name: "Share any personal detail", Meaning: view.Waits, Word: "Ask"},
		{ID: "g2", Capability: "disclose.budget", Name: "Share your budget", Meaning: view.OK, Word: "Allow", Constraints: limits, Until: now.Add(time.Hour)},
		{ID: "g3", Capability: "message.send", Name: "Send a chat message", Meaning: view.No, Word: "Deny", Until: now.Add(-time.Hour), Over: true},
	}
}

func TestGrants(t *testing.T) {
	t.Parallel()
	page := view.GrantsPage{
		Frame: frame("Grants", "/agents"), Agent: anAgent(),
		Grants: view.GrantsEditor{AgentURL: "/agents/0197", Handle: "scout", Now: now, Form: aForm()},
	}
	golden(t, "grants-none", view.Grants(page))
	page.Grants.Own = someGrants()
	golden(t, "grants-wide", view.Grants(page))

	page.ContactURL, page.Grants.Contact, page.Grants.Back = "/contacts/1", "juno@b.exаmple", "/contacts/1"
	page.Grants.Wide, page.Answers = someGrants()[:1], someAnswers()
	golden(t, "grants-contact", view.Grants(page))

	page.Grants.Form.Grant, page.Grants.Form.Capability, page.Grants.Form.Mode = "g2", "disclose.budget", "allow"
	page.Grants.Form.For, page.Grants.Form.Until, page.Grants.Form.Constraints = "until", "2026-05-01T13:00:00", limits
	golden(t, "grants-changing", view.Grants(page))

	page.Frame.Problem = `The field "capability" is no capability that the node knows.`
	page.Grants.Form = view.GrantForm{Capability: `"><script>`, Mode: "ask", Beside: true}
	golden(t, "grants-problem", view.Grants(page))
}
