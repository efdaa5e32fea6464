package view_test

import (
	"strings"
	"testing"
	"time"

	"agentlink/dashboard/view"
)

// hostile is a text that tries to leave its place.
const hostile = "<b>bold</b>\u202e and hidden\u200b"

func TestContacts(t *testing.T) {
	t.Parallel()
	rows := []view.ContactRow{
		{URL: "/contacts/1", Contact: "juno@ben.example", Agent: "scout", Meaning: view.OK, Word: "Connected", Why: "known since", At: now.Add(-48 * time.Hour)},
		{URL: "/contacts/2", Contact: "kay@kay.example:7411", Agent: "scout", Meaning: view.Ended, Word: "Ended", Why: "ended", At: now},
	}
	asking := view.ContactRow{URL: "/contacts/3", Contact: "eve@eve.example", Agent: "scout", Meaning: view.Waits, Word: "Asks", Why: "asked", At: now}
	golden(t, "contacts", view.Contacts(view.ContactsPage{
		Frame: frame("Contacts", "/contacts"), Asking: []view.ContactRow{asking}, Rows: rows, Older: "/contacts?at=1&id=2",
	}))
	golden(t, "contacts-none", view.Contacts(view.ContactsPage{Frame: frame("Contacts", "/contacts")}))
}

const theirs, ours = "k3v7q2mzx4tq6wnp5r2jy7hgd3fba4e6c5s7u2l4o6iq3k5m7n4p", "abcd2345efgh6723ijkl4567mnop2345qrst6723uvwx4567yzab"

func aContact() view.ContactPage {
	return view.ContactPage{
		Frame: frame("Contact", "/contacts"), ID: "1", Contact: "juno@ben.example", Agent: "scout", AgentURL: "/agents/a",
		Meaning: view.OK, Word: "Connected", Means: "are connected", Since: now.Add(-30 * 24 * time.Hour),
		Theirs: theirs, Ours: ours, Active: true, CanEnd: true, GrantsURL: "/agents/a",
		Kinds: []view.KnownKind{
			{URL: "/knows/juno@ben.example/disclose.availability", Name: "Availability", Told: 12, LastAt: now.Add(-time.Hour)},
			{URL: "/knows/juno@ben.example/other", Name: "Other details", Told: 2, LastAt: now.Add(-time.Hour)},
		},
		KnowsURL: "/knows/juno@ben.example",
		Tasks: []view.TaskLine{
			{URL: "/tasks/t", Title: "Dinner " + hostile, Meaning: view.OK, Word: "confirmed", At: now.Add(-time.Hour)},
		},
		Grants: view.GrantsEditor{
			AgentURL: "/agents/a", Handle: "scout", Contact: "juno@ben.example", Back: "/contacts/1", Now: now,
			Own: []view.GrantRow{{ID: "g", Capability: "disclose.*", Name: "Personal details", Meaning: view.Waits, Word: "Ask"}},
		},
		TasksURL: "/tasks?contact=1", ThreadURL: "/messages/1",
		Last: []view.ThreadItem{
			{From: "juno@ben.example", Text: "Does Friday suit you?", At: now.Add(-2 * time.Hour)},
			{Ours: true, From: "You", Text: "Friday it is.", Meaning: view.OK, Word: "Delivered", At: now.Add(-time.Hour)},
		},
		Earlier: []view.ContactRow{{URL: "/contacts/0", Contact: "juno@ben.example", Agent: "scout", Meaning: view.Ended, Word: "Ended", Why: "ended", At: now.Add(-90 * 24 * time.Hour)}},
	}
}

func TestContact(t *testing.T) {
	t.Parallel()
	golden(t, "contact-active", view.Contact(aContact()))

	asks := view.ContactPage{
		Frame: frame("Contact", "/contacts"), ID: "1", Contact: "eve@eve.example", Agent: "scout", AgentURL: "/agents/a",
		Meaning: view.Waits, Word: "Asks", Since: now, Note: "Hi!\n\nWe met at the fair. " + hostile, Theirs: theirs, Ours: ours, Incoming: true,
		GrantsURL: "/agents/a", ThreadURL: "/messages/1",
	}
	golden(t, "contact-asks", view.Contact(asks))
	asks.Invited = true
	golden(t, "contact-invited", view.Contact(asks))

	asked := asks
	asked.Incoming, asked.Invited, asked.NoteIsOurs, asked.ApprovalURL, asked.CanEnd = false, false, true, "/approvals/p", true
	asked.Asked = true
	asked.Word, asked.Means = "Waits for you", "are not connected: your agent asks to ask them"
	golden(t, "contact-own-request", view.Contact(asked))

	changed := aContact()
	changed.KeyChanged, changed.Active, changed.Meaning, changed.Word = true, false, view.No, "Key changed"
	golden(t, "contact-key-changed", view.Contact(changed))

	structured := aContact()
	structured.StructuredOnly = true
	golden(t, "contact-structured", view.Contact(structured))

	ended := aContact()
	ended.Active, ended.CanEnd, ended.Meaning, ended.Word, ended.Means = false, false, view.Ended, "Ended", "are no longer connected"
	ended.Kinds, ended.Tasks, ended.Last, ended.Earlier, ended.TasksURL = nil, nil, nil, nil, ""
	golden(t, "contact-ended", view.Contact(ended))
}

func TestRevoke(t *testing.T) {
	t.Parallel()
	page := view.RevokePage{Frame: frame("End the connection", "/contacts"), ID: "1", Contact: "juno@ben.example", Agent: "scout", Told: true}
	golden(t, "contact-revoke", view.Revoke(page))
	page.Asked = true
	golden(t, "contact-take-back", view.Revoke(page))
}

func TestInvite(t *testing.T) {
	t.Parallel()
	page := view.InvitePage{Frame: frame("Invite", "/contacts"), Agents: []view.Choice{{ID: "a", Name: "scout"}, {ID: "b", Name: "juno"}}, Agent: "b"}
	golden(t, "invite", view.Invite(page))
	page.Agent, page.ExpiresAt = "scout", now.Add(7*24*time.Hour)
	page.Link = "https://ada.example/#scout@ada.example/" + ours + "/" + strings.Repeat("x", 22)
	page.QR = view.QR{Size: 9, Path: "M4 4h1v1h-1z"}
	golden(t, "invite-made", view.Invite(page))
	golden(t, "invite-no-agent", view.Invite(view.InvitePage{Frame: frame("Invite", "/contacts")}))
}

func TestConnect(t *testing.T) {
	t.Parallel()
	page := view.ConnectPage{Frame: frame("Ask to connect", "/contacts"), Agents: []view.Choice{{ID: "a", Name: "scout"}}}
	golden(t, "connect", view.Connect(page))
	page.Frame.Problem, page.To, page.FreeNote = "The other node does not answer.", "juno@ben.example", "It's me\n<b>"
	golden(t, "connect-failed", view.Connect(page))
	golden(t, "connect-no-agent", view.Connect(view.ConnectPage{Frame: frame("Ask to connect", "/contacts")}))
}
