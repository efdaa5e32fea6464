package socket_test

import (
	"slices"
	"testing"

	"agentlink/node"
	"agentlink/node/api/socket"
	"agentlink/node/nodetest"
	"agentlink/node/store/storetest"
	"agentlink/policy"

	"github.com/google/go-cmp/cmp"
)

// What each command needs beside being the node's user. Whoever adds a command
// decides it here.
var (
	reading = []string{
		socket.AgentList, socket.ApprovalList, socket.ApprovalShow, socket.AuditTail, socket.AuditVerify, socket.ClientList, socket.ConnectionList,
		socket.ConnectionShow, socket.GrantDecision, socket.GrantExplain, socket.GrantList, socket.KeyShow, socket.MessageList, socket.NodeStatus, socket.OverlayCheck, socket.OverlayHistory, socket.OverlayShow, socket.ReceiptExport,
		socket.TaskList, socket.TaskShow,
	}
	deciding = []string{
		socket.AgentCreate, socket.AgentKey, socket.AgentMode, socket.AgentStatus, socket.AgentTools, socket.ApprovalDecide, socket.AuditWitness, socket.ClientRevoke, socket.ConnectionAccept, socket.ConnectionAcceptKey, socket.ConnectionRefuseKey,
		socket.ConnectionInvite, socket.ConnectionReject, socket.ConnectionRequest, socket.ConnectionRevoke, socket.ConnectionSettings,
		socket.GrantRemove, socket.GrantSet, socket.KeyRotate, socket.MessageSend, socket.NodeBackedUp, socket.NodeBackup, socket.OverlayRemove, socket.OverlaySet,
		socket.OwnerLink, socket.OwnerPassword,
	}
)

func TestEveryCommandIsClassified(t *testing.T) {
	t.Parallel()
	got := map[string]bool{}
	for name, password := range socket.New(socket.Config{}).Commands() {
		got[name] = password
	}
	want := map[string]bool{}
	for _, name := range reading {
		want[name] = false
	}
	for _, name := range deciding {
		want[name] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// No command that decides does anything without the right password.
func TestDecidingNeedsThePassword(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, fresh func(*testing.T) storetest.Database) {
		n := nodetest.Start(t, nodetest.Options{DatabaseURL: fresh(t).URL})
		before := nodetest.Owner[socket.Status](n, socket.NodeStatus, nil).AuditRows
		client := socket.Dial(n.SocketPath())
		for _, name := range slices.Sorted(slices.Values(deciding)) {
			if err := client.Call(t.Context(), name, "", map[string]any{}, nil); node.CodeOf(err) != node.Unauthorized {
				t.Errorf("%s without a password: %v", name, err)
			}
		}
		if after := nodetest.Owner[socket.Status](n, socket.NodeStatus, nil).AuditRows; after != before {
			t.Errorf("%d rows of the audit log came of it", after-before)
		}
		if err := client.Call(t.Context(), socket.AgentCreate, "not the password", socket.CreateAgent{Handle: "scout"}, nil); node.CodeOf(err) != node.Unauthorized {
			t.Errorf("with a wrong password: %v", err)
		}
		if agents := nodetest.Owner[[]socket.Agent](n, socket.AgentList, nil); len(agents) != 0 {
			t.Errorf("agents %v", agents)
		}
	})
}

func TestRequestsAreStrict(t *testing.T) {
	t.Parallel()
	n := nodetest.Start(t, nodetest.Options{})
	for _, c := range []struct {
		name, command string
		request       any
		code          node.Code
	}{
		{"unknown command", "agent.promote", map[string]any{}, node.NotFound},
		{"path in the command", "../agent.list", map[string]any{}, node.NotFound},
		{"unknown member", socket.AgentCreate, map[string]any{"handle": "scout", "approved": true}, node.BadRequest},
		{"wrong case", socket.AgentCreate, map[string]any{"Handle": "scout"}, node.BadRequest},
		{"wrong type", socket.AgentCreate, map[string]any{"handle": 7}, node.BadRequest},
		{"bad handle", socket.AgentCreate, map[string]any{"handle": "Scout!"}, node.BadRequest},
		{"bad mode", socket.AgentCreate, map[string]any{"handle": "scout", "mode": "bold"}, node.BadRequest},
		{"no agent yet", socket.AgentKey, map[string]any{}, node.NotFound},
		{"shortened id where a decision is made", socket.ApprovalDecide, map[string]any{"id": "12345678"}, node.BadRequest},
		{"no such approval", socket.ApprovalShow, map[string]any{"id": "12345678"}, node.NotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if err := n.Try(c.command, c.request, nil); node.CodeOf(err) != c.code || err == nil {
				t.Errorf("%v, want %s", err, c.code)
			}
		})
	}
}

func TestOneAgentNeedsNoName(t *testing.T) {
	t.Parallel()
	n := nodetest.Start(t, nodetest.Options{})
	scout := n.CreateAgent("scout", policy.Manual)
	if key := nodetest.Owner[socket.Agent](n, socket.AgentKey, socket.AgentRef{}); key.ID != scout.ID || key.Key == scout.Key {
		t.Errorf("the only agent was not meant: %+v", key)
	}
	n.CreateAgent("juno", "")
	if err := n.Try(socket.AgentKey, socket.AgentRef{}, nil); node.CodeOf(err) != node.BadRequest {
		t.Errorf("with two agents: %v", err)
	}
	if juno := nodetest.Owner[socket.Agent](n, socket.AgentKey, socket.AgentRef{Agent: "juno"}); juno.Mode != policy.Assisted {
		t.Errorf("an agent without a mode is %s, want assisted", juno.Mode)
	}
}
