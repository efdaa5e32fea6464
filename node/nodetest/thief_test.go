package nodetest_test

import (
	"context"
	"encoding/json"
	"net/http"
	"sync/atomic"
	"testing"

	"agentlink/actions"
	"agentlink/actions/executor/calendar"
	"agentlink/actions/executor/reservation"
	"agentlink/node/api/socket"
	"agentlink/node/nodetest"
	"agentlink/node/store/storetest"
	"agentlink/policy"
)

// counted is the real executor of reservations, which counts what it is given.
type counted struct{ calls *atomic.Int64 }

func (counted) Name() string     { return reservation.Executor{}.Name() }
func (counted) Idempotent() bool { return true }

func (c counted) Execute(ctx context.Context, key string, parameters json.RawMessage) (actions.Result, error) {
	c.calls.Add(1)
	return reservation.Executor{}.Execute(ctx, key, parameters)
}

// robbed is a node of whose database somebody else has a hold.
type robbed struct {
	thief
	node  *nodetest.Node
	scout *nodetest.Agent
	calls atomic.Int64
}

func newRobbed(t *testing.T, url string) *robbed {
	t.Helper()
	r := &robbed{}
	r.node = nodetest.Start(t, nodetest.Options{DatabaseURL: url, Executors: []actions.Executor{counted{&r.calls}, calendar.Executor{}}})
	r.scout = r.node.CreateAgent("scout", policy.Assisted)
	r.thief = rob(t, r.node, url)
	return r
}

// ask asks for an approval of a booking.
func (r *robbed) ask(venue string) (id string) {
	r.t.Helper()
	return r.scout.Post("/v1/agent/approvals", map[string]any{"action": "reservation.book", "parameters": map[string]any{
		"venue": venue, "date": "2031-05-09", "time": "19:30", "partySize": 2,
	}}).Want(http.StatusCreated).Text("approvalId")
}

func (r *robbed) approve(id string) {
	r.t.Helper()
	r.node.Approve(nodetest.Owner[socket.Approval](r.node, socket.ApprovalShow, socket.ByID{ID: id}))
}

// refused wants a run with an approval to be refused, and nothing to have run.
func (r *robbed) refused(what, id string, calls int64) {
	r.t.Helper()
	answer := r.scout.Post("/v1/agent/actions", map[string]any{"approvalId": id})
	if answer.Status != http.StatusConflict && answer.Status != http.StatusForbidden {
		r.t.Errorf("%s: the run answers %d %s", what, answer.Status, answer.Body)
	}
	if got := r.calls.Load(); got != calls {
		r.t.Errorf("%s: %d runs, want %d", what, got, calls)
	}
}

// damaged wants the owner's page to say so and to offer no button, and every way to
// decide to be closed.
func (r *robbed) damaged(what, id string, visitor *nodetest.Visitor) {
	r.t.Helper()
	page := visitor.Get("/approvals/" + id).Want(http.StatusOK)
	if page.Button("Approve once") || page.Button("Reject") {
		r.t.Errorf("%s: the page lets a damaged approval be decided: %s", what, page.Text())
	}
	shown := nodetest.Owner[socket.Approval](r.node, socket.ApprovalShow, socket.ByID{ID: id})
	if !shown.Damaged {
		r.t.Errorf("%s: the approval is whole: %+v", what, shown)
	}
	if err := r.node.Try(socket.ApprovalDecide, socket.DecideApproval{ID: id, Hash: shown.Hash, Approve: true}, nil); err == nil {
		r.t.Errorf("%s: it was approved", what)
	}
	if seen := r.scout.Get("/v1/agent/approvals/" + id).Want(http.StatusOK); seen.Value("damaged") != true {
		r.t.Errorf("%s: the agent sees %s", what, seen.Body)
	}
}

// TestStolenDatabase (S3, S4): with the database to write to, and without the
// node's keys, nobody makes it do what its owner did not approve, or do it twice.
func TestStolenDatabase(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, fresh func(*testing.T) storetest.Database) {
		for name, rob := range map[string]func(r *robbed, v *nodetest.Visitor){
			"swapped parameters": swappedParameters, "swapped after approval": swappedAfterApproval,
			"status written": statusWritten, "used and put back": usedAndPutBack, "used and pending again": usedAndPendingAgain,
			"rejected and approved by SQL": rejectedAndApproved,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				r := newRobbed(t, fresh(t).URL)
				rob(r, r.node.SignIn())
			})
		}
	})
}

// swappedParameters: two approvals wait, and what they are for changes places.
func swappedParameters(r *robbed, v *nodetest.Visitor) {
	a, b := r.ask("Da Piero"), r.ask("The most expensive place in town")
	for _, column := range []string{"content", "hash", "mac"} {
		r.swap(column, a, b)
		for _, id := range []string{a, b} {
			r.damaged("swapped "+column, id, v)
			r.refused("swapped "+column, id, 0)
		}
		r.swap(column, a, b)
	}
	r.approve(a) // put back, it is as it was
	r.scout.Post("/v1/agent/actions", map[string]any{"approvalId": a}).Want(http.StatusCreated)
}

// swappedAfterApproval: the owner has approved one of two.
func swappedAfterApproval(r *robbed, v *nodetest.Visitor) {
	a, b := r.ask("Da Piero"), r.ask("The most expensive place in town")
	r.approve(a)
	r.swap("content", a, b)
	r.damaged("swapped", a, v)
	r.refused("swapped", a, 0)
	for _, column := range []string{"hash", "mac"} {
		r.swap(column, a, b)
	}
	for _, id := range []string{a, b} { // each row under the other's name
		r.damaged("all swapped", id, v)
		r.refused("all swapped", id, 0)
	}
}

// statusWritten: what waits is written to be approved.
func statusWritten(r *robbed, v *nodetest.Visitor) {
	id := r.ask("Da Piero")
	r.run(`UPDATE approvals SET status = 'approved', decided_at = created_at + 1 WHERE id = $1`, id)
	r.damaged("written to be approved", id, v)
	r.refused("written to be approved", id, 0)
	r.run(`UPDATE approvals SET expires_at = expires_at + 86400000000, status = 'pending', decided_at = 0 WHERE id = $1`, id)
	r.damaged("written to live longer", id, v)
	r.refused("written to live longer", id, 0)
}

// usedAndPutBack: an approval that was used is made usable again, by its status
// alone and by its whole row as it was, whose MAC is right.
func usedAndPutBack(r *robbed, v *nodetest.Visitor) {
	id := r.ask("Da Piero")
	r.approve(id)
	r.keep("kept", id)
	r.scout.Post("/v1/agent/actions", map[string]any{"approvalId": id}).Want(http.StatusCreated)
	for _, status := range []string{"approved", "pending"} {
		r.run(`UPDATE approvals SET status = $1 WHERE id = $2`, status, id)
		r.damaged("consumed is "+status+" again", id, v)
		r.refused("consumed is "+status+" again", id, 1)
	}
	r.putBack("kept", id)
	r.refused("the old row with its old MAC", id, 1)
	r.node.Restart()
	r.scout.Renew()
	r.refused("after a restart", id, 1)
	if rows := r.count(`SELECT COUNT(*) FROM runs`); rows != 1 {
		r.t.Errorf("%d runs are stored", rows)
	}
}

// usedAndPendingAgain: the owner is asked once more for what has run, by a row that
// is whole, and says yes once more.
func usedAndPendingAgain(r *robbed, _ *nodetest.Visitor) {
	id := r.ask("Da Piero")
	r.keep("kept", id)
	r.approve(id)
	r.scout.Post("/v1/agent/actions", map[string]any{"approvalId": id}).Want(http.StatusCreated)
	r.putBack("kept", id)
	r.approve(id)
	r.refused("approved twice", id, 1)
}

// rejectedAndApproved: the owner said no.
func rejectedAndApproved(r *robbed, v *nodetest.Visitor) {
	id, other := r.ask("Da Piero"), r.ask("Elsewhere")
	r.node.Reject(nodetest.Owner[socket.Approval](r.node, socket.ApprovalShow, socket.ByID{ID: id}))
	r.approve(other)
	r.run(`UPDATE approvals SET status = 'approved' WHERE id = $1`, id)
	r.damaged("rejected is approved", id, v)
	r.run(`UPDATE approvals SET mac = (SELECT o.mac FROM approvals o WHERE o.id = $1) WHERE id = $2`, other, id)
	r.damaged("with the MAC of an approved one", id, v)
	r.refused("with the MAC of an approved one", id, 0)
}
