package dashboard_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"agentlink/actions"
	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/policy"
)

// dinner is two connected agents who may say when they have time, and a task
// between them.
type dinner struct {
	*bundle
	scout, juno     policy.Agent
	ofScout, ofJuno coordination.Connection
	uid             string
}

func newDinner(t *testing.T) *dinner {
	t.Helper()
	t.Parallel()
	return dinnerOn(newBundle(t))
}

func dinnerOn(b *bundle) *dinner {
	b.t.Helper()
	d := &dinner{bundle: b, scout: b.agent("scout", policy.Autonomous), juno: b.agent("juno", policy.Autonomous)}
	d.ofScout, d.ofJuno = b.connect(d.scout, d.juno)
	for _, pair := range [][2]policy.Agent{{d.scout, d.juno}, {d.juno, d.scout}} {
		b.grant(pair[0], address(pair[1]), "disclose.*", policy.Allow)
		b.in(func(tx node.Tx) error {
			contact := address(pair[1])
			grants, err := b.policy.Grants(tx, pair[0].ID, &contact)
			for _, g := range grants {
				if g.Capability == "disclose.*" && g.Mode == policy.Ask && err == nil {
					_, err = b.policy.RemoveGrant(tx, b.ownerOf(pair[0]), g.ID)
				}
			}
			return err
		})
	}
	return d
}

// start starts a task; its start has arrived.
func (d *dinner) start(title string, proposal json.RawMessage) {
	d.t.Helper()
	d.in(func(tx node.Tx) error {
		result, err := d.coordination.StartTask(tx, d.actor(d.scout), coordination.StartTask{
			ConnectionID: d.ofScout.ID, Type: "dinner.coordination", Title: title, Proposal: proposal,
		})
		d.uid = result.TaskUID
		return d.sent(result, err)
	})
	d.deliver()
}

func (d *dinner) sent(result coordination.Result, err error) error {
	if err == nil && result.Status != coordination.StatusQueued {
		err = fmt.Errorf("the status is %s: %w", result.Status, result.Refusal)
	}
	return err
}

func (d *dinner) propose(agent policy.Agent, fields json.RawMessage) {
	d.t.Helper()
	d.in(func(tx node.Tx) error {
		return d.sent(d.coordination.Propose(tx, d.actor(agent), d.uid, fields, 0))
	})
}

func (d *dinner) respond(agent policy.Agent, version int, decision, reason string) {
	d.t.Helper()
	d.in(func(tx node.Tx) error {
		return d.sent(d.coordination.Respond(tx, d.actor(agent), d.uid, coordination.Answer{Version: version, Decision: decision, Reason: reason}))
	})
}

// book asks for the booking of the accepted terms, with the owner's approval.
func (d *dinner) book() (approval approvals.Approval) {
	d.t.Helper()
	parameters := fmt.Sprintf(`{"venue":"Da Piero","date":"2026-05-09","time":"19:30","partySize":2,"taskUid":%q}`, d.uid)
	d.in(func(tx node.Tx) (err error) {
		var refusal *node.Error
		approval, refusal, err = d.actions.RequestApproval(tx, d.actor(d.scout), actions.Ask{
			Action: "reservation.book", Parameters: json.RawMessage(parameters), TaskUID: d.uid, OnApproval: approvals.Wait,
		})
		if refusal != nil {
			return refusal
		}
		return err
	})
	return approval
}

// run approves a booking and carries it out.
func (d *dinner) run(approval approvals.Approval) {
	d.t.Helper()
	d.in(func(tx node.Tx) error {
		_, err := d.approvals.Decide(tx, d.owner, approvals.Decision{ID: approval.ID, Hash: approval.Hash, Approve: true})
		return err
	})
	run, err := d.actions.Run(d.t.Context(), d.actor(d.scout), actions.Start{ApprovalID: approval.ID})
	if err != nil || run.Outcome() != actions.Done {
		d.t.Fatalf("the run came to %s, %v", run.Outcome(), err)
	}
}

func (d *dinner) cancel(actor node.Actor) {
	d.t.Helper()
	d.in(func(tx node.Tx) error { return d.sent(d.coordination.CancelTask(tx, actor, d.uid, "")) })
}

// page is an agent's copy of the task.
func (d *dinner) page(agent policy.Agent) page {
	d.t.Helper()
	return d.get("/tasks/" + d.uid + "?agent=" + agent.ID).want(http.StatusOK)
}

// change changes an agent's copy as no message does.
func (d *dinner) change(agent policy.Agent, change func(*coordination.Task)) {
	d.t.Helper()
	d.in(func(tx node.Tx) error {
		task, err := d.store.LockTask(tx, agent.ID, d.uid)
		if err != nil {
			return err
		}
		from := task.Status
		change(&task)
		return d.store.SaveTask(tx, task, from)
	})
}

// TestTaskTimeline: the terms, how each version differs from the one before, who
// said what and whether it arrived.
func TestTaskTimeline(t *testing.T) {
	d := newDinner(t)
	d.start("Dinner", terms(map[string]any{"dietaryNotes": []string{"no nuts", "vegan"}, "cuisine": "thai"}))
	d.page(d.scout).says("scout", "proposed version 1", "has not answered yet", "delivered", "Dietary notes", "no nuts")
	d.respond(d.juno, 1, wire.Reject, "too <b>late</b>")
	d.deliver()
	d.propose(d.juno, terms(map[string]any{"dietaryNotes": []string{"vegan", "no fish"}, "time": "18:00", "venue": map[string]any{"name": "Da Piero", "area": "Harbour"}}))
	d.deliver()
	d.respond(d.scout, 2, wire.Accept, "")
	d.page(d.scout).says("Version 2, accepted by both sides", "accepted version 2", "not sent yet",
		"nothing runs until", "has answered that our acceptance arrived")
	d.deliver()
	d.page(d.scout).says("rejected version 1", "<blockquote><bdi>too &lt;b&gt;late&lt;/b&gt;</bdi>",
		`<del class="was"><bdi>19:30</bdi>`, `<ins class="now"><bdi>18:00</bdi>`,
		`<del class="was"><bdi>no nuts</bdi>`, `<ins class="now"><bdi>no fish</bdi>`,
		`<del class="was"><bdi>thai</bdi>`, "<bdi>Venue · area</bdi>", "is up to", "reservation.book",
		"The other side’s copy, which is on this node too", "Cancel this task",
	).lacks("not sent yet", `<del class="was"><bdi>vegan`, `<ins class="now"><bdi>vegan`)
	d.page(d.juno).says("accepted by both sides", "juno")
	d.get("/tasks/" + d.uid).want(http.StatusOK).says("(the initiator)")
}

// TestTaskCrossed: a proposal that crossed another one is shown struck, with the
// reason.
func TestTaskCrossed(t *testing.T) {
	d := newDinner(t)
	d.start("Dinner", terms(nil))
	d.propose(d.juno, terms(map[string]any{"time": "18:00"}))
	d.propose(d.scout, terms(map[string]any{"time": "21:00"}))
	d.deliver()
	d.page(d.juno).says("<s>", "crossed, superseded", "18:00", "21:00", "has not answered yet")
	d.page(d.scout).says("21:00").lacks("18:00")
}

// TestTaskRun: what was asked, approved and carried out, and its receipts on both
// sides, which verify.
func TestTaskRun(t *testing.T) {
	d := newDinner(t)
	d.start("Dinner", terms(nil))
	d.respond(d.juno, 1, wire.Accept, "")
	d.deliver()
	approval := d.book()
	d.get("/tasks").want(http.StatusOK).says("awaiting approval")
	d.page(d.scout).says("waits for approval on this node", "/approvals/"+approval.ID)
	d.run(approval)
	d.deliver()
	mine := d.page(d.scout).says("carried out", "AL-", "done", "confirmed that it is carried out", "/approvals/"+approval.ID+"/receipt", "it was simulated")
	theirs := d.page(d.juno).says("carried out", "AL-", "/tasks/"+d.uid+"/receipt?agent="+d.juno.ID)
	mine.lacks("Cancel this task")
	theirs.lacks("What this node did")
	for _, path := range []string{"/approvals/" + approval.ID + "/receipt", "/tasks/" + d.uid + "/receipt?agent=" + d.juno.ID, "/tasks/" + d.uid + "/receipt"} {
		file := d.get(path).want(http.StatusOK)
		if disposition := file.Header.Get("Content-Disposition"); !strings.HasPrefix(disposition, `attachment; filename="`) || !strings.HasSuffix(disposition, `.receipt"`) {
			t.Errorf("%s: %s", path, disposition)
		}
		verified, err := actions.VerifyReceipt([]byte(file.Body), d.identity.Signer.Fingerprint())
		if err != nil || !verified.ParametersMatch || verified.ApprovalID != approval.ID {
			t.Errorf("%s: %+v, %v", path, verified, err)
		}
	}
}

func TestNoReceipt(t *testing.T) {
	d := newDinner(t)
	d.start("Dinner", terms(nil))
	d.get("/tasks/" + d.uid + "/receipt").want(http.StatusConflict).says("no receipt")
	d.get("/approvals/" + node.RandomIDs{}.New() + "/receipt").want(http.StatusNotFound)
	d.respond(d.juno, 1, wire.Accept, "")
	d.deliver()
	d.get("/approvals/" + d.book().ID + "/receipt").want(http.StatusNotFound)
}

// TestTaskDisagreement: both sides see the time and the code of the booking that
// met a cancelled copy.
func TestTaskDisagreement(t *testing.T) {
	d := newDinner(t)
	d.start("Dinner", terms(nil))
	d.respond(d.juno, 1, wire.Accept, "")
	d.deliver()
	approval := d.book()
	d.cancel(d.actor(d.juno))
	d.run(approval)
	d.deliver()
	for _, agent := range []policy.Agent{d.scout, d.juno} {
		d.page(agent).says("The two sides disagree on how it ended", "Settle it with", "AL-", "Carried out by", "scout")
	}
	d.get("/tasks").says("Needs a look", "disagreement")
	d.get("/tasks?status=flagged").says("disagreement")
}

// TestTaskFlags: each thing that can be wrong is named and explained, with what
// the owner can do.
func TestTaskFlags(t *testing.T) {
	booked := &coordination.Confirmation{By: coordination.Initiator, Action: "reservation.book", Code: "AL-MINE", ExecutedAt: noon}
	for name, test := range map[string]struct {
		change func(*coordination.Task)
		want   []string
	}{
		"out of step": {func(task *coordination.Task) { task.OutOfStep = true }, []string{"no longer follow one another", "start a new task", "cannot be cancelled any more"}},
		"in doubt":    {func(task *coordination.Task) { task.InDoubt = true }, []string{"not known whether our last message arrived", "need not do anything", "cannot be cancelled until"}},
		"owed": {func(task *coordination.Task) {
			task.ConfirmOwed, task.Executed, task.ExecutedAt = true, booked, noon
		}, []string{"has not been told that it is done", "AL-MINE", "within a minute"}},
		"booked twice": {func(task *coordination.Task) {
			task.Status, task.Copy.Status, task.Disagreement = coordination.Confirmed, coordination.Confirmed, coordination.DoubleRun
			task.Copy.Confirmation = booked
			task.Copy.Crossed = &coordination.Confirmation{By: coordination.Responder, Action: "reservation.book", Code: "AL-THEIRS", ExecutedAt: noon.Add(time.Minute)}
		}, []string{"carried out twice", "AL-MINE", "AL-THEIRS", "Cancel one of the two"}},
		"run under way": {func(task *coordination.Task) { task.RunID = "run" }, []string{"cannot be cancelled while"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDinner(t)
			d.start("Dinner", terms(nil))
			d.change(d.scout, test.change)
			d.page(d.scout).says(test.want...)
		})
	}
}

// TestTaskOwed: what bars the confirmation is what the page says.
func TestTaskOwed(t *testing.T) {
	owe := func(d *dinner) {
		d.start("Dinner", terms(nil))
		d.change(d.scout, func(task *coordination.Task) { task.ConfirmOwed = true })
	}
	t.Run("a grant", func(t *testing.T) {
		d := newDinner(t)
		owe(d)
		d.grant(d.scout, address(d.juno), policy.TaskRespond, policy.Deny)
		d.page(d.scout).says("denies task.respond", "/agents/"+d.scout.ID)
	})
	t.Run("no connection", func(t *testing.T) {
		d := newDinner(t)
		owe(d)
		d.in(func(tx node.Tx) error {
			_, err := d.coordination.RevokeConnection(tx, d.ownerOf(d.scout), d.ofScout.ID)
			return err
		})
		d.change(d.scout, func(task *coordination.Task) { task.OutOfStep = false })
		d.page(d.scout).says("no active connection any more")
	})
	t.Run("out of step", func(t *testing.T) {
		d := newDinner(t)
		owe(d)
		d.in(func(tx node.Tx) error {
			_, err := d.coordination.RevokeConnection(tx, d.ownerOf(d.scout), d.ofScout.ID)
			return err
		})
		d.page(d.scout).says("the cause: the connection was not active", "cannot tell it in this task any more")
	})
}

// TestHeldTask: a start that waits has a page before the task is there.
func TestHeldTask(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	d := &dinner{bundle: b, scout: b.agent("scout", policy.Manual), juno: b.agent("juno", policy.Manual)}
	d.ofScout, d.ofJuno = b.connect(d.scout, d.juno)
	var approval string
	d.in(func(tx node.Tx) error {
		result, err := d.coordination.StartTask(tx, d.actor(d.scout), coordination.StartTask{ConnectionID: d.ofScout.ID, Type: "dinner.coordination", Title: "Quiet dinner"})
		d.uid, approval = result.TaskUID, result.ApprovalID
		return err
	})
	d.get("/tasks").says("waits to be started", "Quiet dinner")
	d.page(d.scout).says("Quiet dinner", "it has not started; that waits for you", "/approvals/"+approval, "reject its approval")
	d.in(func(tx node.Tx) error {
		found, err := d.approvals.Approval(tx, "", approval)
		if err != nil {
			return err
		}
		_, err = d.approvals.Decide(tx, d.owner, approvals.Decision{ID: approval, Hash: found.Hash})
		return err
	})
	d.page(d.scout).says("it never started", "never started")
}

// TestCancelTask: the owner cancels by a second, explicit step, and only what was
// shown.
func TestCancelTask(t *testing.T) {
	d := newDinner(t)
	d.start("Dinner", terms(nil))
	path := "/tasks/" + d.uid + "/cancel"
	d.get(path+"?agent="+d.scout.ID).want(http.StatusOK).says("Cancel", "Dinner", `name="sure"`, `value="negotiating"`, "Keep it")
	form := url.Values{"agent": {d.scout.ID}, "status": {"negotiating"}, "reason": {"we are ill"}}
	d.post(path, form).want(http.StatusBadRequest)
	form.Set("sure", "yes")
	form.Set("status", "open")
	d.post(path, form).want(http.StatusConflict).says("has changed since you opened the page")
	form.Set("status", "negotiating")
	form.Set("reason", strings.Repeat("x", 501))
	d.post(path, form).want(http.StatusBadRequest)
	form.Set("reason", "we are ill")
	d.post(path, form).leadsTo("/tasks/" + d.uid + "?agent=" + d.scout.ID + "&done=cancelled")
	d.deliver()
	d.page(d.scout).says("cancelled it and gave a reason", "we are ill", "<b><bdi>You</bdi>")
	d.page(d.juno).says("cancelled it", "we are ill", "(in person)")
	d.post(path, url.Values{"agent": {d.scout.ID}, "status": {"cancelled"}, "sure": {"yes"}}).want(http.StatusConflict)
}

// TestForeignTask: nothing that a peer wrote is markup, or hides.
func TestForeignTask(t *testing.T) {
	d := newDinner(t)
	d.start("<script>alert(1)</script>\u202e\u200b", terms(map[string]any{"cuisine": "\"><img src=x>\u202e"}))
	for _, path := range []string{"/tasks", "/tasks?status=negotiating", "/tasks/" + d.uid, "/tasks/" + d.uid + "/cancel", "/tasks?contact=" + d.ofScout.ID} {
		d.get(path).want(http.StatusOK).says("&lt;script&gt;alert(1)", `\u{202E}`).lacks("<script>alert", "\u202e", "\u200b", "<img src=x")
	}
}

// TestTaskLists: the board, its filters, and the list of a status page by page.
func TestTaskLists(t *testing.T) {
	d := newDinner(t)
	ada := d.agent("ada", policy.Autonomous)
	for i := range 60 {
		d.clock.Advance(time.Second)
		d.in(func(tx node.Tx) error {
			return d.sent(d.coordination.StartTask(tx, d.actor(d.scout), coordination.StartTask{ConnectionID: d.ofScout.ID, Type: "dinner.coordination", Title: fmt.Sprintf("dinner no %d.", i)}))
		})
	}
	d.get("/tasks").want(http.StatusOK).says("dinner no 59.", "dinner no 50.", "The newest are shown.", "/tasks?status=open", "No").lacks("dinner no 49.", "Needs a look</h2>")
	first := d.get("/tasks?status=open&agent="+d.scout.ID).want(http.StatusOK).says("dinner no 59.", "dinner no 10.", "Older").lacks("dinner no 9.")
	older := first.link("Older")
	d.get(older).want(http.StatusOK).says("dinner no 9.", "dinner no 0.").lacks("dinner no 10.", "Older")
	d.get("/tasks?agent=" + ada.ID).says("No task is being negotiated.").lacks("dinner no")
	d.get("/tasks?contact=" + d.ofJuno.ID).lacks("dinner no")
	d.get("/tasks?contact=" + d.ofScout.ID).says("dinner no 59.")
	d.get("/tasks?status=confirmed").says("There is none.")
	for _, path := range []string{"/tasks?status=gone", "/tasks?agent=x", "/tasks?contact=x", "/tasks?status=open&id=x"} {
		d.get(path).want(http.StatusBadRequest)
	}
	for _, path := range []string{"/tasks/x", "/tasks/" + node.RandomIDs{}.New(), "/tasks/" + d.uid + "?agent=" + ada.ID, "/tasks/" + d.uid + "?agent=x"} {
		d.get(path).want(http.StatusNotFound)
	}
}
