package dashboard_test

import (
	"net/http"
	"strings"
	"testing"

	"agentlink/node"
	"agentlink/policy"
)

// What has happened once is named, and leads to its own page.
func TestHomeNamesWhatHappenedOnce(t *testing.T) {
	d := newDinner(t)
	d.start("Dinner <i>on Friday</i>", terms(nil))
	d.respond(d.juno, 1, "accept", "")
	d.deliver()
	d.in(func(tx node.Tx) error {
		_, err := d.coordination.RevokeConnection(tx, d.ownerOf(d.juno), d.ofJuno.ID)
		return err
	})
	d.get("/").want(http.StatusOK).says("Ended", "/contacts/"+d.ofJuno.ID, "/messages", " messages").lacks("<i>on Friday", "1 connection<")
}

// A list shows the beginning of a long text and says how much is left out; the
// page where it is decided shows all of it, line by line.
func TestLongTextThatWaits(t *testing.T) {
	d := newDinner(t)
	d.grant(d.scout, address(d.juno), "message.send", policy.Ask)
	long := "first line\n" + strings.Repeat("word ", 1000) + "the end"
	held := d.writes(d.scout, d.ofScout.ID, long)
	for _, list := range []string{"/", "/approvals", "/messages?status=pending_approval"} {
		d.get(list).says("first line", "more characters").lacks("the end")
	}
	d.get("/approvals/"+held.ApprovalID).says("<bdi>first line</bdi>", "word the end", "Approve once").lacks("more characters")
}
