package view_test

import (
	"testing"
	"time"

	"agentlink/dashboard/view"
)

func TestNodeKey(t *testing.T) {
	t.Parallel()
	page := view.NodeKeyPage{Frame: frame("The node's key", "/settings"), Fingerprint: ours, Since: now.Add(-400 * 24 * time.Hour)}
	golden(t, "node-key", view.NodeKey(page))
	page.Since = now.Add(-time.Hour)
	page.Earlier = []view.EarlierKeyRow{
		{
			Fingerprint: theirs, Until: page.Since, KeptUntil: page.Since.Add(30 * 24 * time.Hour), More: true,
			Waiting: []view.KeyContact{
				{URL: "/contacts/1", Contact: "juno@ben.example", Agent: "scout"}, {URL: "/contacts/2", Contact: "eve@eve.example", Agent: hostile, Declined: true},
			},
		},
		{Fingerprint: theirs, Until: now.Add(-2 * time.Hour), KeptUntil: now.Add(time.Hour)},
		{Fingerprint: theirs, Until: now.Add(-100 * 24 * time.Hour), ErasedAt: now.Add(-70 * 24 * time.Hour), Waiting: []view.KeyContact{{URL: "/contacts/3", Contact: "old@far.example", Agent: "scout"}}},
	}
	golden(t, "node-key-earlier", view.NodeKey(page))
}

func TestContactKey(t *testing.T) {
	t.Parallel()
	page := view.ContactKeyPage{
		Frame: frame("A contact's key changes", "/contacts"), ID: "1", Contact: "juno@ben.example", Agent: "scout", Known: theirs,
		New: view.NewKey{Fingerprint: ours, At: now.Add(-time.Hour)},
	}
	golden(t, "contact-new-key", view.ContactKey(page))
	page.New.Disputed = "zzzz2345efgh6723ijkl4567mnop2345qrst6723uvwx4567yzab"
	golden(t, "contact-new-keys-disputed", view.ContactKey(page))
}

func TestContactWithKeys(t *testing.T) {
	t.Parallel()
	offers := aContact()
	offers.Meaning, offers.Word, offers.NewKey = view.Waits, "New key", view.NewKey{Fingerprint: ours, At: now}
	golden(t, "contact-offers-key", view.Contact(offers))
	offers.NewKey.Disputed = theirs
	golden(t, "contact-offers-keys-disputed", view.Contact(offers))
	waits := aContact()
	waits.OursWaits = true
	golden(t, "contact-waits-for-key", view.Contact(waits))
	waits.OursDeclined = true
	golden(t, "contact-declined-key", view.Contact(waits))
	gone := aContact()
	gone.KeyChanged, gone.OursGone, gone.Active, gone.Meaning, gone.Word = true, true, false, view.No, "Key changed"
	golden(t, "contact-our-key-gone", view.Contact(gone))
}
