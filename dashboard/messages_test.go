package dashboard_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/node"
	"agentlink/policy"
)

// writes makes an agent write to its contact.
func (d *dinner) writes(agent policy.Agent, connectionID, text string) (result coordination.Result) {
	d.t.Helper()
	d.in(func(tx node.Tx) (err error) {
		result, err = d.coordination.SendMessage(tx, d.actor(agent), connectionID, text)
		return err
	})
	return result
}

func TestOwnerWrites(t *testing.T) {
	d := newDinner(t)
	page := "/messages/" + d.ofScout.ID
	d.get("/messages").want(http.StatusOK).says("Nobody has written yet")
	d.in(func(tx node.Tx) error { // no rule holds the owner's own words
		_, err := d.policy.SetMode(tx, d.ownerOf(d.scout), d.scout.ID, policy.Manual)
		return err
	})
	d.post(page, url.Values{"text": {"Friday?\r\n<b>at eight</b>"}}).leadsTo(page + "?done=sent#latest")
	d.get(page).says("You", "Friday?", "&lt;b&gt;at eight&lt;/b&gt;", "On its way")
	d.deliver()
	d.get(page).says("Delivered")
	d.get("/messages/"+d.ofJuno.ID).says("(the owner)", "Friday?").lacks("On its way")
	d.get("/messages").says(address(d.juno), page, "Friday?")
	d.get("/contacts/" + d.ofScout.ID).says("Friday?")

	d.post(page, url.Values{"text": {""}}).want(http.StatusBadRequest).says(`role="alert"`)
	long := strings.Repeat("x", 8001)
	d.post(page, url.Values{"text": {long}}).want(http.StatusBadRequest).says(long)
}

func TestThreadTellsOfTasks(t *testing.T) {
	d := newDinner(t)
	d.start("Dinner <b>on Friday</b>", terms(nil))
	d.propose(d.scout, terms(map[string]any{"time": "20:00"}))
	d.deliver()
	d.in(func(tx node.Tx) error {
		return d.sent(d.coordination.Respond(tx, d.actor(d.juno), d.uid, coordination.Answer{Version: 2, Decision: "reject", Reason: "too late"}))
	})
	d.deliver()
	d.get("/messages/"+d.ofScout.ID).want(http.StatusOK).says(
		"asked to connect", "accepted the connection", "started ", "Dinner &lt;b&gt;on Friday&lt;/b&gt;", "with a first proposal",
		"proposed version 2 of", "rejected version 2 of", "too late", "/tasks/"+d.uid,
	)
}

func TestUnsent(t *testing.T) {
	d := newDinner(t)
	d.grant(d.scout, address(d.juno), "message.send", policy.Ask)
	held := d.writes(d.scout, d.ofScout.ID, "shall I?")
	rejected := d.writes(d.scout, d.ofScout.ID, "may I?")
	d.decide(rejected.ApprovalID, false)
	d.grant(d.juno, address(d.scout), "message.send", policy.Allow)
	d.writes(d.juno, d.ofJuno.ID, "on its way")
	d.in(func(tx node.Tx) error {
		_, err := d.coordination.RevokeConnection(tx, d.ownerOf(d.juno), d.ofJuno.ID)
		return err
	})

	d.get("/messages?status=pending_approval").want(http.StatusOK).says("shall I?", "/approvals/"+held.ApprovalID, "your decision is needed").lacks("may I?", "on its way")
	d.get("/messages?status=rejected").says("may I?", "you rejected it", "/messages/"+d.ofScout.ID).lacks("shall I?")
	d.get("/messages?status=failed").says("on its way", "the connection was not active").lacks("may I?")
	d.get("/messages?status=delivered").want(http.StatusBadRequest)
	d.get("/messages/"+d.ofScout.ID).says("Waits for you", "Decide", "you rejected it")
	d.get("/messages/"+d.ofJuno.ID).says("Failed", "the connection was not active", "nothing can be written").lacks("<textarea")
	d.post("/messages/"+d.ofJuno.ID, url.Values{"text": {"still there?"}}).want(http.StatusConflict)
}

// decide answers an approval as the owner.
func (d *dinner) decide(approvalID string, approve bool) {
	d.t.Helper()
	d.in(func(tx node.Tx) error {
		approval, err := d.approvals.Approval(tx, "", approvalID)
		if err != nil {
			return err
		}
		_, err = d.approvals.Decide(tx, d.owner, approvals.Decision{ID: approval.ID, Hash: approval.Hash, Approve: approve})
		return err
	})
}

var olderLink = regexp.MustCompile(`<a class="btn" href="([^"]+)">Older</a>`)

// pages follows Older from a page to the last, and gives all of them.
func (b *bundle) pages(path string) (all []string) {
	b.t.Helper()
	for range 10 {
		shown := b.get(path).want(http.StatusOK)
		all = append(all, shown.Body)
		found := olderLink.FindStringSubmatch(shown.Body)
		if found == nil {
			return all
		}
		path = strings.ReplaceAll(found[1], "&amp;", "&")
	}
	b.t.Fatalf("%s goes on for ever", path)
	return nil
}

// Every message stands on one of the pages, once.
func TestThreadPages(t *testing.T) {
	d := newDinner(t)
	for i := range 120 {
		d.writes(d.scout, d.ofScout.ID, fmt.Sprintf("message %03d.", i))
		d.clock.Advance(time.Second)
	}
	all := d.pages("/messages/" + d.ofScout.ID)
	if len(all) != 3 {
		t.Errorf("%d pages, want 3", len(all))
	}
	whole := strings.Join(all, "")
	for i := range 120 {
		if text := fmt.Sprintf("message %03d.", i); strings.Count(whole, text) != 1 {
			t.Errorf("%q stands there %d times", text, strings.Count(whole, text))
		}
	}
	first := all[0]
	if strings.Index(first, "message 118.") > strings.Index(first, "message 119.") {
		t.Error("the latest is not the last")
	}
}
