package mcp_test

import (
	"net/http"
	"strings"
	"testing"

	"agentlink/node/nodetest"
	"agentlink/policy"
)

// ask begins a session by hand, under a host.
func ask(t *testing.T, n *nodetest.Node, host, bearer string) *http.Response {
	t.Helper()
	const begin = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.Info.AgentsURL+"/mcp", strings.NewReader(begin))
	if err != nil {
		t.Fatal(err)
	}
	if host != "" {
		r.Host = host
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if bearer != "" {
		r.Header.Set("Authorization", "Bearer "+bearer)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// TestHosts: behind a proxy on the same machine the node goes by its own names,
// and by no other, which a page could have led to this address.
func TestHosts(t *testing.T) {
	t.Parallel()
	n := nodetest.Start(t, nodetest.Options{Settings: map[string]string{"AGENTLINK_DASHBOARD_URL": "https://desk.example"}})
	scout := n.CreateAgent("scout", policy.Assisted)
	for host, status := range map[string]int{
		"": 200, "localhost": 200, "localhost:1": 200, "127.0.0.1": 200, "[::1]:80": 200, "desk.example": 200, "DESK.example:443": 200,
		"evil.example": 403, "desk.example.evil.example": 403, "desk.example:8080": 403,
	} {
		if response := ask(t, n, host, scout.Key); response.StatusCode != status {
			t.Errorf("%q: %d, want %d", host, response.StatusCode, status)
		}
	}
}

// TestBearers: who has no good bearer gets no session, and is told where one
// comes from.
func TestBearers(t *testing.T) {
	t.Parallel()
	n := nodetest.Start(t, nodetest.Options{})
	scout := n.CreateAgent("scout", policy.Assisted)
	for name, bearer := range map[string]string{
		"none": "", "garbage": "garbage", "a wrong key": "alk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "half a key": scout.Key[:20],
		"a changed token": scout.Token() + "A",
	} {
		response := ask(t, n, "", bearer)
		if response.StatusCode != 401 || !strings.Contains(response.Header.Get("WWW-Authenticate"), "/.well-known/oauth-protected-resource") {
			t.Errorf("%s: %d %q", name, response.StatusCode, response.Header.Get("WWW-Authenticate"))
		}
	}
	for name, bearer := range map[string]string{"the key": scout.Key, "a token": scout.Token()} {
		if response := ask(t, n, "", bearer); response.StatusCode != 200 {
			t.Errorf("%s: %d", name, response.StatusCode)
		}
	}
}
