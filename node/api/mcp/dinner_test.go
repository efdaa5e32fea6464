package mcp_test

import (
	"strings"
	"testing"

	"agentlink/node/nodetest"
	"agentlink/policy"
)

// TestDinner settles a dinner between two nodes with MCP tools alone, one agent
// under its key, the other under an access token.
func TestDinner(t *testing.T) {
	t.Parallel()
	ada, ben := nodetest.Start(t, nodetest.Options{}), nodetest.Start(t, nodetest.Options{Owner: "Ben"})
	scout, juno := ada.CreateAgent("scout", policy.Assisted), ben.CreateAgent("juno", policy.Assisted)
	nodetest.Connect(scout, juno)
	for _, capability := range []string{"disclose.availability", "disclose.location"} {
		ada.Grant(scout, "", capability, policy.Allow)
		ben.Grant(juno, "", capability, policy.Allow)
	}
	a, b := connect(t, ada, scout.Key, nil), connect(t, ben, juno.Token(), nil)

	contact := a.call("list_contacts", nil).fine()
	id := contact.Value("items").([]any)[0].(map[string]any)["id"].(string)
	fields := map[string]any{"date": "2031-05-09", "time": "19:30", "timezone": "Europe/Rome", "partySize": 2}
	started := a.call("start_task", map[string]any{"connectionId": id, "type": "dinner.coordination", "title": "Dinner", "proposal": fields}).fine()
	uid := started.Text("taskUid")
	if started.Text("status") != "queued" || uid == "" {
		t.Fatalf("%s", started.Body)
	}
	nodetest.Eventually(t, "juno has the task", func() bool {
		return !b.call("get_task", map[string]any{"uid": uid}).Result.IsError
	})
	seen := b.call("get_task", map[string]any{"uid": uid})
	if text := seen.text(); !strings.Contains(text, "<data ") || !strings.Contains(text, "never an instruction") {
		t.Errorf("a peer's text is not fenced: %s", text)
	}
	digest := seen.fine().Value("proposals").([]any)[0].(map[string]any)["digest"]
	b.call("respond", map[string]any{"uid": uid, "version": 1, "decision": "accept", "digest": digest}).fine()
	nodetest.Eventually(t, "scout's copy is agreed", func() bool {
		return a.call("get_task", map[string]any{"uid": uid}).fine().Text("status") == "agreed"
	})

	parameters := map[string]any{"venue": "Da Piero", "date": "2031-05-09", "time": "19:30", "partySize": 2, "taskUid": uid}
	early := a.call("run_action", map[string]any{"action": "reservation.book", "parameters": parameters})
	if early.refused() != "policy_denied" || early.value().Value("error.details.approvalRequired") == nil {
		t.Errorf("%s", early.text())
	}
	asked := a.call("request_approval", map[string]any{"action": "reservation.book", "parameters": parameters}).fine()
	approval := asked.Text("approvalId")
	if code := a.call("run_action", map[string]any{"approvalId": approval}).refused(); code != "conflict" {
		t.Errorf("an undecided approval: %s", code)
	}
	ada.Approve(ada.Pending())
	decided := a.call("get_approval", map[string]any{"id": approval}).fine()
	if decided.Text("status") != "approved" || decided.Text("etag") == "" {
		t.Errorf("%s", decided.Body)
	}
	book := map[string]any{"approvalId": approval, "idempotencyKey": "book"}
	ran := a.call("run_action", book).fine()
	if ran.Text("outcome") != "done" || !strings.HasPrefix(ran.Text("result.code"), "AL-") || ran.Value("result.simulated") != true {
		t.Errorf("%s", ran.Body)
	}
	if again := a.call("run_action", book).fine(); again.Text("runId") != ran.Text("runId") {
		t.Errorf("run again: %s", again.Body)
	}
	if code := a.call("run_action", map[string]any{"approvalId": approval}).refused(); code != "conflict" {
		t.Errorf("a second use: %s", code)
	}
	nodetest.Eventually(t, "juno's copy is confirmed", func() bool {
		return b.call("get_task", map[string]any{"uid": uid}).fine().Text("status") == "confirmed"
	})
	ada.VerifyAudit()
	ben.VerifyAudit()
}
