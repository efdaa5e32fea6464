package dashboard_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"
	"time"

	"agentlink/coordination"
	"agentlink/node"
	"agentlink/policy"
)

// proposes makes an agent propose; the result says whether it was held.
func (d *dinner) proposes(agent policy.Agent, fields json.RawMessage) (result coordination.Result) {
	d.t.Helper()
	d.in(func(tx node.Tx) (err error) {
		result, err = d.coordination.Propose(tx, d.actor(agent), d.uid, fields, 0)
		return err
	})
	return result
}

// answers makes juno answer a version.
func (d *dinner) answers(version int, decision, reason string) (result coordination.Result) {
	d.t.Helper()
	d.in(func(tx node.Tx) (err error) {
		result, err = d.coordination.Respond(tx, d.actor(d.juno), d.uid, coordination.Answer{Version: version, Decision: decision, Reason: reason})
		return err
	})
	return result
}

// An approval of a proposal says under labels what it tells, for which of it the
// owner is asked and by which grant, and what it changes.
func TestApprovalOfProposal(t *testing.T) {
	d := newDinner(t)
	d.start("Dinner <i>on Friday</i>", terms(nil))
	d.grant(d.scout, address(d.juno), policy.DiscloseDietary, policy.Ask)
	held := d.proposes(d.scout, terms(map[string]any{"time": "20:00", "dietaryNotes": []string{"no peanuts"}}))
	page := "/approvals/" + held.ApprovalID
	d.get(page).want(http.StatusOK).says(
		"proposes version 2 of", "Dinner &lt;i&gt;on Friday&lt;/i&gt;", "What version 2 says", "Dietary notes · 1", "asks you",
		"What it changes against version 1", "19:30", "Share dietary needs", "a grant says to ask you", "The grant that says so:",
		"/agents/"+d.scout.ID+"/grants?contact=", "disclose.dietary", "Exact parameters", "content.",
	).lacks("<i>on Friday")
	for _, list := range []string{"/", "/approvals", "/messages?status=pending_approval"} {
		d.get(list).says("proposes version 2 of", "Dinner &lt;i&gt;on Friday&lt;/i&gt;")
	}

	// The grant is named after its end too, since it held this.
	d.in(func(tx node.Tx) error {
		grants, err := d.policy.Grants(tx, d.scout.ID, nil)
		for _, g := range grants {
			if g.Capability == policy.DiscloseDietary && err == nil {
				_, err = d.policy.RemoveGrant(tx, d.ownerOf(d.scout), g.ID)
			}
		}
		return err
	})
	d.get(page).says("a grant says to ask you", "one that was removed since")
}

// Whoever accepts sees what they accept.
func TestApprovalOfAnswer(t *testing.T) {
	d := newDinner(t)
	d.start("Dinner", terms(nil))
	d.in(func(tx node.Tx) error {
		_, err := d.policy.SetMode(tx, d.ownerOf(d.juno), d.juno.ID, policy.Manual)
		return err
	})
	accept := d.answers(1, "accept", "")
	d.get("/approvals/"+accept.ApprovalID).says("accepts", " version 1 of ", "Dinner", "What version 1 says", "19:30", "Da Piero", "in manual mode").lacks("asks you")
	reject := d.answers(1, "reject", "too early")
	d.get("/approvals/"+reject.ApprovalID).says("rejects", "and gives a reason", "too early")
}

// An old approval says what came of it.
func TestWhatCameOfApprovals(t *testing.T) {
	d := newDinner(t)
	d.start("Dinner", terms(nil))
	d.grant(d.scout, address(d.juno), "task.propose", policy.Ask)
	d.grant(d.scout, address(d.juno), "message.send", policy.Ask)
	said := d.writes(d.scout, d.ofScout.ID, "shall I?")
	stale := d.proposes(d.scout, terms(map[string]any{"time": "20:00"}))
	late := d.writes(d.scout, d.ofScout.ID, "nobody answers this")
	d.proposes(d.juno, terms(map[string]any{"time": "21:00"}))
	d.deliver()
	d.decide(said.ApprovalID, true)
	d.decide(stale.ApprovalID, true)
	d.deliver()
	d.get("/approvals/"+said.ApprovalID).says("What came of it", "Delivered", "/messages/"+d.ofScout.ID)
	d.get("/approvals/"+stale.ApprovalID).says("Failed", "the task had moved on")
	d.get("/approvals?status=consumed").says("Delivered", "Failed", "the task had moved on")

	d.clock.Advance(25 * time.Hour)
	d.steps(d.approvals.ExpireStep)
	refusal := `class="chip no"`
	d.get("/approvals?status=expired").says("nobody answers this", `<span class="chip ended">expired</span>`).lacks(refusal)
	d.get("/approvals/"+late.ApprovalID).says(`<span class="chip ended">Expired</span>`, "you did not decide in time").lacks(refusal)
	d.get("/messages/"+d.ofScout.ID).says(`<span class="chip ended">Expired</span>`, "you did not decide in time")
}

// A decision that lacks something is asked for again, on the same page; one that
// comes too late is told what came of it.
func TestDecisionIsCorrected(t *testing.T) {
	d := newDinner(t)
	d.start("Dinner", terms(nil))
	d.respond(d.juno, 1, "accept", "")
	d.deliver()
	first := d.book()
	d.run(first)
	d.change(d.scout, func(task *coordination.Task) {
		task.Status = coordination.Agreed
		task.Copy.Status = coordination.Agreed
	})
	second := d.book()
	page := "/approvals/" + second.ID
	form := url.Values{"hash": {second.Hash}, "decision": {"approve"}, "note": {"the first table was <too> small"}}
	d.get(page).want(http.StatusOK).says("already ran", "again")
	d.post(page, form).says(`role="alert"`, "Approve once", "the first table was &lt;too&gt; small", `name="word"`)
	form.Set("word", "again")
	d.post(page, form).leadsTo(page + "?done=approved")
	d.post(page, form).want(http.StatusConflict).says(`role="alert"`, "approved").lacks("Approve once")
}

func TestApprovalsOfNoStatus(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.get("/approvals?" + url.Values{"status": {"nonsense"}}.Encode()).want(http.StatusBadRequest).says("status")
}
