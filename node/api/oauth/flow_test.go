package oauth_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"agentlink/node"
	"agentlink/node/nodetest"
	"agentlink/policy"
)

// tokens are what the token endpoint gave.
type tokens struct {
	Access  string `json:"access_token"`
	Type    string `json:"token_type"`
	Seconds int    `json:"expires_in"`
	Refresh string `json:"refresh_token"`
	Scope   string `json:"scope"`
}

func tokensOf(t *testing.T, a nodetest.Answer) (got tokens) {
	t.Helper()
	a.Want(http.StatusOK).Into(&got)
	if !strings.HasPrefix(got.Access, "alo_") || !strings.HasPrefix(got.Refresh, "alr_") || got.Type != "Bearer" || got.Seconds != 900 || got.Scope != "mcp" {
		t.Fatalf("tokens: %s", a.Body)
	}
	return got
}

// refused wants an error of RFC 6749.
func refused(t *testing.T, what string, a nodetest.Answer, code string) {
	t.Helper()
	want := http.StatusBadRequest
	if code == "invalid_client" {
		want = http.StatusUnauthorized
	}
	if a.Status != want || a.Text("error") != code {
		t.Errorf("%s: %d %s, want %d %s", what, a.Status, a.Body, want, code)
	}
}

// opens says whether a bearer opens /mcp of a node.
func opens(t *testing.T, n *nodetest.Node, bearer string) bool {
	t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "test", "version": "1"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.DashboardURL()+"/mcp", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+bearer)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
		return true
	case http.StatusUnauthorized:
		return false
	}
	t.Fatalf("/mcp answers %d", response.StatusCode)
	return false
}

// TestFlow goes the whole way: a program registers, the owner signs in and
// approves it, it gets tokens, refreshes them and gives them back.
func TestFlow(t *testing.T) {
	t.Parallel()
	n := nodetest.Start(t, nodetest.Options{Clock: node.NewFakeClock(noon)})
	scout := n.CreateAgent("scout", policy.Assisted)
	program := n.RegisterClient("A program", "http://127.0.0.1/callback")
	program.Redirect = "http://127.0.0.1:4711/callback" // the port that it got meanwhile
	back := program.Approve(n.SignIn(), nil, scout)
	if back.Host != "127.0.0.1:4711" || back.Query().Get("state") != "state of the client" || back.Query().Get("iss") != n.DashboardURL() {
		t.Errorf("the answer goes to %s", back)
	}
	first := tokensOf(t, program.Redeem(back.Query().Get("code")))
	if !opens(t, n, first.Access) {
		t.Error("the token does not open /mcp")
	}
	second := tokensOf(t, program.Refresh(first.Refresh))
	if !opens(t, n, second.Access) || !opens(t, n, first.Access) {
		t.Error("after refreshing, a token that is not over does not open /mcp")
	}
	program.Revoke(second.Refresh).Want(http.StatusOK)
	if opens(t, n, second.Access) || opens(t, n, first.Access) {
		t.Error("after revocation a token opens /mcp")
	}
	refused(t, "refresh after revocation", program.Refresh(second.Refresh), "invalid_grant")
	n.VerifyAudit()
}
