package requirement

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/node/api/socket"
	"agentlink/node/nodetest"
	"agentlink/policy"
)

// TestTaskStatuses walks a task from its start to the booking, on both copies.
func TestTaskStatuses(t *testing.T) {
	p := open(t, policy.Assisted, policy.Assisted)
	uid := p.start(nil).Want(http.StatusCreated).Text("taskUid")
	both := func(status string) {
		t.Helper()
		p.reaches(p.scout, uid, status)
		p.reaches(p.juno, uid, status)
	}
	both("open")
	p.propose(p.juno, uid, terms(nil)).Want(http.StatusCreated)
	both("negotiating")
	p.propose(p.scout, uid, terms(body{"time": "20:00"})).Want(http.StatusCreated)
	nodetest.Eventually(t, "the second version arrives", func() bool { return len(p.proposals(p.juno, uid)) == 2 })
	both("negotiating")
	p.respond(p.juno, uid, 2, "reject").Want(http.StatusCreated)
	nodetest.Eventually(t, "the rejection arrives", func() bool {
		return slices.Equal(p.proposals(p.scout, uid), []string{"superseded", "rejected"})
	})
	both("negotiating")
	p.propose(p.juno, uid, terms(nil)).Want(http.StatusCreated)
	nodetest.Eventually(t, "the third version arrives", func() bool { return len(p.proposals(p.scout, uid)) == 3 })
	p.respond(p.scout, uid, 3, "accept").Want(http.StatusCreated)
	both("agreed")
	if got := p.proposals(p.juno, uid); !slices.Equal(got, []string{"superseded", "rejected", "accepted"}) {
		t.Errorf("the versions are %v", got)
	}

	p.scout.Post("/v1/agent/approvals", body{"action": "reservation.book", "parameters": booking(uid)}).Want(http.StatusCreated)
	p.reaches(p.scout, uid, "awaiting_approval")
	p.reaches(p.juno, uid, "agreed") // the other side does not learn of it
	approval := p.ada.Pending()
	p.ada.Approve(approval)
	p.scout.Post("/v1/agent/actions", body{"approvalId": approval.ID}).Want(http.StatusCreated)
	both("confirmed")
	p.conflict(p.scout.Post("/v1/agent/tasks/"+uid+"/cancel", body{}), "task_ended")
}

// TestTaskStartedWithAProposal is negotiating at once.
func TestTaskStartedWithAProposal(t *testing.T) {
	p := open(t, policy.Assisted, policy.Assisted)
	uid := p.dinner()
	p.reaches(p.scout, uid, "negotiating")
	if got := p.proposals(p.juno, uid); !slices.Equal(got, []string{"pending"}) {
		t.Errorf("the versions are %v", got)
	}
}

// TestCancelledTask: either participant ends an unfinished task for both.
func TestCancelledTask(t *testing.T) {
	p := open(t, policy.Assisted, policy.Assisted)
	uid := p.dinner()
	p.juno.Post("/v1/agent/tasks/"+uid+"/cancel", body{"reason": "I am ill"}).Want(http.StatusCreated)
	p.reaches(p.juno, uid, "cancelled")
	p.reaches(p.scout, uid, "cancelled")
	p.conflict(p.propose(p.scout, uid, terms(nil)), "task_ended")
}

// TestExpiredTask: each node marks the overdue task, without a word to the other.
func TestExpiredTask(t *testing.T) {
	p := open(t, policy.Assisted, policy.Assisted)
	uid := p.agreedDinner()
	p.ben.Stop()
	p.clock.Advance(72*time.Hour - time.Minute)
	p.reaches(p.scout, uid, "agreed")
	p.clock.Advance(time.Minute)
	p.reaches(p.scout, uid, "expired")
	p.ben.Restart()
	p.reaches(p.juno, uid, "expired")
}

// TestDeadline: 1 to 720 hours, 72 without a word, the same on both copies.
func TestDeadline(t *testing.T) {
	p := open(t, policy.Assisted, policy.Assisted)
	for hours, want := range map[any]time.Duration{nil: 72 * time.Hour, 1: time.Hour, 720: 720 * time.Hour} {
		request := body{"connectionId": p.ofScout.ID, "type": "dinner.coordination", "title": "Dinner"}
		if hours != nil {
			request["expiresInHours"] = hours
		}
		uid := p.scout.Post("/v1/agent/tasks", request).Want(http.StatusCreated).Text("taskUid")
		p.reaches(p.juno, uid, "open")
		for _, agent := range []*nodetest.Agent{p.scout, p.juno} {
			deadline, err := time.Parse(time.RFC3339, p.get(agent, "/v1/agent/tasks/"+uid).Text("deadline"))
			if err != nil || deadline.Sub(p.clock.Now()) != want {
				t.Errorf("%s's copy of a task of %v hours ends %v from now, %v", agent.Handle, hours, deadline.Sub(p.clock.Now()), err)
			}
		}
	}
	for _, hours := range []any{0, 721, -1, 1.5} {
		p.scout.Post("/v1/agent/tasks", body{"connectionId": p.ofScout.ID, "type": "dinner.coordination", "title": "Dinner",
			"expiresInHours": hours}).Want(http.StatusBadRequest)
	}
}

// TestProposals: numbers, acceptance, answers.
func TestProposals(t *testing.T) {
	p := open(t, policy.Assisted, policy.Assisted)
	uid := p.dinner()
	p.conflict(p.respond(p.scout, uid, 1, "accept"), "bad_state") // its author has accepted it by sending it
	second := p.propose(p.juno, uid, terms(body{"time": "20:00"})).Want(http.StatusCreated)
	if version, _ := second.Value("version").(float64); version != 2 {
		t.Errorf("the second proposal answers %s", second.Body)
	}
	nodetest.Eventually(t, "it arrives", func() bool {
		return slices.Equal(p.proposals(p.scout, uid), []string{"superseded", "pending"})
	})
	p.conflict(p.respond(p.scout, uid, 1, "accept"), "not_latest")
	p.conflict(p.scout.Post("/v1/agent/tasks/"+uid+"/proposals", body{"fields": terms(nil), "basedOnVersion": 1}), "stale_version")
	p.respond(p.scout, uid, 2, "reject").Want(http.StatusCreated)
	p.conflict(p.respond(p.scout, uid, 2, "accept"), "already_responded")
	p.propose(p.scout, uid, terms(body{"time": "21:00"})).Want(http.StatusCreated) // either side can go on
	nodetest.Eventually(t, "it arrives", func() bool {
		return slices.Equal(p.proposals(p.juno, uid), []string{"superseded", "rejected", "pending"})
	})
	p.respond(p.juno, uid, 3, "accept").Want(http.StatusCreated)
	p.reaches(p.scout, uid, "agreed")
	p.reaches(p.juno, uid, "agreed")
}

// TestHeldTaskWrites: a held create is not there for its agent, and a held
// proposal does not change the copy, until the owner approves.
func TestHeldTaskWrites(t *testing.T) {
	p := open(t, policy.Manual, policy.Assisted)
	created := p.start(terms(nil)).Want(http.StatusAccepted)
	uid := created.Text("taskUid")
	if created.Text("status") != "pending_approval" {
		t.Errorf("answered %s", created.Body)
	}
	p.get(p.scout, "/v1/agent/tasks/"+uid).Want(http.StatusNotFound)
	held := p.ada.Pending()
	if held.Kind != approvals.Message || held.Action != "task.create" || held.TaskUID != uid {
		t.Errorf("the approval is %+v", held)
	}
	if !contains(held.Parameters, p.juno.Address, "task.create", "Da Piero", "2031-05-09") {
		t.Errorf("it shows %s", held.Parameters)
	}
	p.ada.Approve(held)
	p.reaches(p.juno, uid, "negotiating")

	p.propose(p.scout, uid, terms(body{"time": "21:00"})).Want(http.StatusAccepted)
	if got := p.proposals(p.scout, uid); !slices.Equal(got, []string{"pending"}) {
		t.Errorf("before the owner's word the versions are %v", got)
	}
	if held = p.ada.Pending(); held.Action != "task.propose" || !contains(held.Parameters, "21:00") {
		t.Errorf("the approval is %+v", held)
	}
	p.ada.Approve(held)
	if got := p.proposals(p.scout, uid); !slices.Equal(got, []string{"superseded", "pending"}) {
		t.Errorf("after the owner's word the versions are %v", got)
	}

	nodetest.Eventually(t, "it arrives", func() bool { return len(p.proposals(p.juno, uid)) == 2 })
	p.propose(p.juno, uid, terms(nil)).Want(http.StatusCreated)
	nodetest.Eventually(t, "Juno's version arrives", func() bool { return len(p.proposals(p.scout, uid)) == 3 })
	p.respond(p.scout, uid, 3, "accept").Want(http.StatusAccepted)
	if held = p.ada.Pending(); held.Action != "task.respond" {
		t.Errorf("the approval is %+v", held)
	}
	p.ada.Approve(held)
	p.reaches(p.juno, uid, "agreed")
}

// TestParticipants: a task is between two agents, and between connected ones.
func TestParticipants(t *testing.T) {
	p := open(t, policy.Assisted, policy.Assisted)
	third := p.ben.CreateAgent("tally", policy.Assisted)
	uid := p.dinner()
	p.get(third, "/v1/agent/tasks/"+uid).Want(http.StatusNotFound)
	third.Post("/v1/agent/tasks/"+uid+"/responses", body{"version": 1, "decision": "accept"}).Want(http.StatusNotFound)

	nodetest.Owner[socket.Connection](p.ada, socket.ConnectionRevoke, socket.ByID{ID: p.ofScout.ID})
	p.refused(p.start(nil), "task.create")
}

// TestNothingIsAppliedWithoutAConnection: what a peer sent before it learned
// that the connection is over changes nothing here.
func TestNothingIsAppliedWithoutAConnection(t *testing.T) {
	p := open(t, policy.Assisted, policy.Assisted)
	uid := p.dinner()
	p.ada.Stop()
	p.juno.Post("/v1/agent/messages", body{"connectionId": p.ofJuno.ID, "text": "Too late"}).Want(http.StatusCreated)
	p.respond(p.juno, uid, 1, "accept").Want(http.StatusCreated)
	p.ben.Stop()
	p.ada.Restart()
	nodetest.Owner[socket.Connection](p.ada, socket.ConnectionRevoke, socket.ByID{ID: p.ofScout.ID})
	p.ben.Restart()
	nodetest.Eventually(t, "Ben's side learns that it is over", func() bool {
		p.clock.Advance(time.Second)
		return p.connection(p.ben, p.ofJuno.ID) == coordination.ConnRevoked
	})
	nodetest.Eventually(t, "nothing of Juno's waits any more", func() bool {
		p.clock.Advance(time.Second)
		status, _ := p.messageStatus(p.juno, "Too late")
		return status == "rejected" || status == "failed"
	})
	for _, m := range p.chat(p.scout) { // one that came before Ben's side knew is kept, as rejected
		if m.Status != "rejected" || m.Code != "not_connected" {
			t.Errorf("Scout reads %+v", m)
		}
	}
	if got := p.proposals(p.scout, uid); !slices.Equal(got, []string{"pending"}) {
		t.Errorf("the versions are %v", got)
	}
}

// TestCopiesAreSealed: what was settled does not stand in the node's files.
func TestCopiesAreSealed(t *testing.T) {
	p := open(t, policy.Assisted, policy.Assisted)
	for _, n := range []*nodetest.Node{p.ada, p.ben} {
		agent := p.scout
		if n == p.ben {
			agent = p.juno
		}
		n.Grant(agent, "", "disclose.notes", policy.Allow)
	}
	uid := p.start(terms(body{"notes": "canary-notes", "venue": body{"name": "canary-venue"}})).Want(http.StatusCreated).Text("taskUid")
	p.reaches(p.juno, uid, "negotiating")
	p.juno.Post("/v1/agent/tasks/"+uid+"/cancel", body{"reason": "canary-reason"}).Want(http.StatusCreated)
	p.reaches(p.scout, uid, "cancelled")
	p.scout.Post("/v1/agent/messages", body{"connectionId": p.ofScout.ID, "text": "canary-text"}).Want(http.StatusCreated)
	nodetest.Eventually(t, "it arrives", func() bool { status, _ := p.messageStatus(p.juno, "canary-text"); return status == "received" })
	for _, n := range []*nodetest.Node{p.ada, p.ben} {
		n.Stop()
		p.bare(n, "canary-notes", "canary-venue", "canary-reason", "canary-text")
	}
}
