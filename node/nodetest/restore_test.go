package nodetest_test

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"testing"

	"agentlink/actions"
	"agentlink/actions/executor/reservation"
	"agentlink/approvals"
	"agentlink/node/api/socket"
	"agentlink/node/audit"
	"agentlink/node/nodetest"
	"agentlink/node/store/storetest"
	"agentlink/policy"
)

// counting is the simulated booking that can be held up.
type counting struct {
	reservation.Executor
	mu    sync.Mutex
	calls int
	block chan struct{} // nil: it goes through
}

func (c *counting) Execute(ctx context.Context, key string, parameters json.RawMessage) (actions.Result, error) {
	c.mu.Lock()
	c.calls++
	block := c.block
	c.mu.Unlock()
	if block != nil {
		<-block
	}
	return c.Executor.Execute(ctx, key, parameters)
}

func (c *counting) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

func (c *counting) hold(block chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.block = block
}

const dinner = `{"date":"2031-05-09","time":"20:00","timezone":"Europe/Rome","partySize":2,"venue":{"name":"Da Piero"}}`

// TestRestoreDrill (G12): a node is set back to a backup of before its last bookings.
// No approval of before opens anything, nothing runs twice, both copies say that
// they no longer follow one another, or agree, and the owner is told.
func TestRestoreDrill(t *testing.T) {
	t.Parallel()
	for name, kinds := range map[string][2]func(*testing.T) storetest.Database{
		"sqlite":             {storetest.SQLite, storetest.SQLite},
		"postgres":           {storetest.Postgres, storetest.Postgres},
		"sqlite to postgres": {storetest.SQLite, storetest.Postgres},
		"postgres to sqlite": {storetest.Postgres, storetest.SQLite},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := kinds[0](t).URL, kinds[1](t).URL
			if name != "postgres" && name != "sqlite to postgres" {
				to = "" // SQLite lies in the restored folder
			}
			drill(t, from, to)
		})
	}
}

func drill(t *testing.T, from, to string) {
	bookings := &counting{}
	ada := nodetest.Start(t, nodetest.Options{DatabaseURL: from, Executors: []actions.Executor{bookings}})
	ben := nodetest.Start(t, nodetest.Options{Owner: "Ben"})
	scout, quill, juno := ada.CreateAgent("scout", policy.Assisted), ada.CreateAgent("quill", policy.Manual), ben.CreateAgent("juno", policy.Assisted)
	ofScout, _ := nodetest.Connect(scout, juno)
	nodetest.Connect(quill, juno)
	var ofQuill struct{ Items []struct{ ID string } }
	quill.Get("/v1/agent/connections").Into(&ofQuill)
	for _, capability := range []string{"disclose.availability", "disclose.preferences"} {
		ada.Grant(scout, "", capability, policy.Allow)
	}
	booked, quiet, cut := agreed(t, scout, juno, ofScout.ID), agreed(t, scout, juno, ofScout.ID), agreed(t, scout, juno, ofScout.ID)
	used, unused, running := approved(t, ada, scout, booked), approved(t, ada, scout, quiet), approved(t, ada, scout, cut)
	held := quill.Post("/v1/agent/messages", map[string]any{"connectionId": ofQuill.Items[0].ID, "text": "Held."}).Want(http.StatusAccepted).Text("approvalId")

	// One run is under way in the backup, another one comes after it.
	block := make(chan struct{})
	bookings.hold(block)
	token := scout.Token()
	ran := make(chan nodetest.Answer, 1)
	go func() {
		ran <- scout.Do(http.MethodPost, "/v1/agent/actions", map[string]any{"approvalId": running}, map[string]string{"Authorization": "Bearer " + token})
	}()
	ada.Eventually("the booking is under way", func() bool { return bookings.count() == 1 })
	content := ada.Backup()
	bookings.hold(nil)
	close(block)
	<-ran
	scout.Post("/v1/agent/actions", map[string]any{"approvalId": used}).Want(http.StatusCreated)
	until(t, juno, booked, "status", "confirmed")
	until(t, juno, cut, "status", "confirmed")

	report := ada.Restore(content, to)
	if report.LostRuns != 1 || report.NewEpoch != 2 {
		t.Errorf("report %+v", report)
	}
	if scout.Get("/v1/agent/me").Status != http.StatusUnauthorized {
		t.Error("an access token of before the restore still opens")
	}
	scout.Renew()
	quill.Renew()
	ada.Eventually("every approval of before is expired", func() bool {
		for _, id := range []string{used, unused, held} {
			if Owner(ada, id).Status != approvals.Expired {
				return false
			}
		}
		return true
	})
	for _, id := range []string{used, unused, running} {
		if answer := scout.Post("/v1/agent/actions", map[string]any{"approvalId": id}); answer.Status != http.StatusConflict && answer.Status != http.StatusNotFound {
			t.Errorf("an approval of before the restore gives %d %s", answer.Status, answer.Body)
		}
	}
	// What ran after the backup: both sides say that the copies differ. What nobody
	// touched goes on.
	for _, uid := range []string{booked, cut} {
		until(t, scout, uid, "outOfStep", true)
		until(t, juno, uid, "outOfStep", true)
	}
	until(t, scout, quiet, "inDoubt", false)
	until(t, scout, quiet, "outOfStep", false)
	until(t, juno, quiet, "outOfStep", false)
	if status := nodetest.Owner[socket.Status](ada, socket.NodeStatus, struct{}{}); status.Restored == nil || status.Restored.Epoch != 2 {
		t.Errorf("the owner is not told: %+v", status.Restored)
	}
	ada.SignIn().Get("/").Want(http.StatusOK).Says("This node was restored", "Approvals from before open nothing")
	events := nodetest.Owner[[]socket.Event](ada, socket.AuditTail, socket.Tail{Types: []audit.Type{audit.NodeRestored}})
	if len(events) != 1 {
		t.Errorf("%d rows say that the node was restored", len(events))
	}
	ada.VerifyAudit()
	ben.VerifyAudit()
	if bookings.count() != 2 {
		t.Errorf("%d bookings, want the two of before the restore", bookings.count())
	}
	ada.Restart()
	ada.VerifyAudit()
}

// Owner shows an approval.
func Owner(n *nodetest.Node, id string) socket.Approval {
	return nodetest.Owner[socket.Approval](n, socket.ApprovalShow, socket.ByID{ID: id})
}

// agreed settles a dinner.
func agreed(t *testing.T, scout, juno *nodetest.Agent, connection string) (uid string) {
	t.Helper()
	uid = scout.Post("/v1/agent/tasks", map[string]any{
		"connectionId": connection, "type": "dinner.coordination", "title": "Dinner", "proposal": json.RawMessage(dinner),
	}).Want(http.StatusCreated).Text("taskUid")
	nodetest.Eventually(t, "the task arrives", func() bool { return juno.Get("/v1/agent/tasks/"+uid).Status == http.StatusOK })
	juno.Post("/v1/agent/tasks/"+uid+"/responses", map[string]any{"version": 1, "decision": "accept"}).Want(http.StatusCreated)
	until(t, scout, uid, "status", "agreed")
	return uid
}

// approved is an approval of the task's booking that the owner has given.
func approved(t *testing.T, n *nodetest.Node, agent *nodetest.Agent, uid string) (id string) {
	t.Helper()
	asked := agent.Post("/v1/agent/approvals", map[string]any{"action": "reservation.book", "taskUid": uid, "parameters": map[string]any{
		"venue": "Da Piero", "date": "2031-05-09", "time": "20:00", "partySize": 2,
	}}).Want(http.StatusCreated)
	id = asked.Text("approvalId")
	n.Approve(Owner(n, id))
	return id
}

func until(t *testing.T, agent *nodetest.Agent, uid, field string, want any) {
	t.Helper()
	nodetest.Eventually(t, agent.Handle+"'s "+field, func() bool {
		answer := agent.Get("/v1/agent/tasks/" + uid)
		return answer.Status == http.StatusOK && answer.Value(field) == want
	})
}
