package nodetest_test

import (
	"net/http"
	"strings"
	"testing"

	"agentlink/node/api/socket"
	"agentlink/node/audit"
	"agentlink/node/nodetest"
	"agentlink/node/store/storetest"
	"agentlink/policy"
)

// Two nodes in one process connect, talk, and go on after a restart.
func TestTwoNodes(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, fresh func(*testing.T) storetest.Database) {
		ada := nodetest.Start(t, nodetest.Options{DatabaseURL: fresh(t).URL})
		ben := nodetest.Start(t, nodetest.Options{DatabaseURL: fresh(t).URL, Owner: "Ben"})
		scout, juno := ada.CreateAgent("scout", policy.Assisted), ben.CreateAgent("juno", policy.Manual)
		ofScout, ofJuno := nodetest.Connect(scout, juno)

		scout.Post("/v1/agent/messages", map[string]any{"connectionId": ofScout.ID, "text": "Shall we eat?"}).Want(http.StatusCreated)
		ada.Restart()
		ben.Restart()
		wait(t, juno, "/v1/agent/messages", "Shall we eat?")

		// Juno is in manual mode: what she says waits for her owner.
		held := juno.Post("/v1/agent/messages", map[string]any{"connectionId": ofJuno.ID, "text": "On Friday."}).Want(http.StatusAccepted)
		approval := ben.Pending()
		if approval.ID != held.Text("approvalId") {
			t.Fatalf("approval %s waits, want %s", approval.ID, held.Text("approvalId"))
		}
		if effect := ben.Approve(approval); effect.Outcome != "queued" {
			t.Fatalf("outcome %q, want queued", effect.Outcome)
		}
		wait(t, scout, "/v1/agent/messages", "On Friday.")
		ada.VerifyAudit()
		ben.VerifyAudit()
	})
}

// Two agents of one node are connected like any others.
func TestTwoAgentsOfOneNode(t *testing.T) {
	t.Parallel()
	n := nodetest.Start(t, nodetest.Options{})
	scout, juno := n.CreateAgent("scout", policy.Assisted), n.CreateAgent("juno", policy.Assisted)
	ofScout, _ := nodetest.Connect(scout, juno)
	sent := nodetest.Owner[socket.Sent](n, socket.MessageSend, socket.SendMessage{Connection: ofScout.ID[len(ofScout.ID)-12:], Text: "From me."})
	if sent.Status != "queued" {
		t.Errorf("status %q, want queued", sent.Status)
	}
	wait(t, juno, "/v1/agent/messages", "From me.")
	messages := nodetest.Owner[[]socket.Message](n, socket.MessageList, socket.ListMessages{Agent: "juno"})
	if len(messages) != 1 || messages[0].Author != "owner" || messages[0].Contact != scout.Address {
		t.Errorf("juno's messages: %+v", messages)
	}
}

// A stranger's node asks to come again later, and its owner may answer before that:
// the request has arrived then, and has not failed.
func TestAnswerOvertakesTheRequest(t *testing.T) {
	t.Parallel()
	ada, ben := nodetest.Start(t, nodetest.Options{}), nodetest.Start(t, nodetest.Options{Owner: "Ben"})
	scout, juno := ada.CreateAgent("scout", policy.Assisted), ben.CreateAgent("juno", policy.Manual)
	nodetest.Connect(scout, juno)
	nodetest.Eventually(t, "the request is settled", func() bool {
		for _, event := range nodetest.Owner[[]socket.Event](ada, socket.AuditTail, socket.Tail{Types: []audit.Type{audit.MessageDelivered, audit.MessageFailed}}) {
			if event.Type == audit.MessageFailed {
				t.Fatalf("a message failed: %s", event.Data)
			}
			if strings.Contains(string(event.Data), `"connection.request"`) {
				return true
			}
		}
		return false
	})
}

// wait waits for the newest message to have a text.
func wait(t *testing.T, agent *nodetest.Agent, path, text string) {
	t.Helper()
	nodetest.Eventually(t, agent.Handle+" reads "+text, func() bool {
		var list struct {
			Items []struct {
				Content struct{ Text string }
			}
		}
		agent.Get(path).Want(http.StatusOK).Into(&list)
		return len(list.Items) > 0 && list.Items[0].Content.Text == text
	})
}
