package socket_test

import (
	"net/http"
	"testing"

	"agentlink/node"
	"agentlink/node/api/socket"
	"agentlink/node/nodetest"
	"agentlink/policy"
)

// TestClients: the owner lists the programs that act as an agent, and
// disconnects them one by one.
func TestClients(t *testing.T) {
	t.Parallel()
	n := nodetest.Start(t, nodetest.Options{})
	scout, juno := n.CreateAgent("scout", policy.Assisted), n.CreateAgent("juno", policy.Assisted)
	v := n.SignIn()
	refresh := map[string]string{}
	programs := map[string]*nodetest.Client{}
	for _, name := range []string{"One", "Two"} {
		c := n.RegisterClient(name, "https://program.example/callback")
		code := c.Approve(v, nil, scout).Query().Get("code")
		refresh[name], programs[name] = c.Redeem(code).Want(http.StatusOK).Text("refresh_token"), c
	}
	listed := nodetest.Owner[[]socket.Program](n, socket.ClientList, socket.AgentRef{Agent: "scout"})
	if len(listed) != 2 || listed[0].Name != "Two" || listed[1].Agent != "scout" || listed[1].Redirect != "https://program.example/callback" || listed[1].Document != "" {
		t.Fatalf("listed %+v", listed)
	}
	if others := nodetest.Owner[[]socket.Program](n, socket.ClientList, socket.AgentRef{Agent: juno.ID}); len(others) != 0 {
		t.Errorf("of another agent are listed %+v", others)
	}
	one := listed[1].ID
	for _, wrong := range []socket.RevokeClient{{Agent: "juno", Client: one}, {Agent: "scout", Client: "00000000"}, {Agent: "scout", Client: scout.ID}} {
		if err := n.Try(socket.ClientRevoke, wrong, nil); node.CodeOf(err) != node.NotFound {
			t.Errorf("revoking %+v: %v", wrong, err)
		}
	}
	revoked := nodetest.Owner[socket.Program](n, socket.ClientRevoke, socket.RevokeClient{Agent: "scout", Client: one[len(one)-10:]})
	if revoked.Name != "One" {
		t.Errorf("revoked %+v", revoked)
	}
	programs["One"].Refresh(refresh["One"]).Want(http.StatusBadRequest)
	programs["Two"].Refresh(refresh["Two"]).Want(http.StatusOK)
}
