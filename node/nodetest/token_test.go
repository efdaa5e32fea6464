package nodetest_test

import (
	"crypto/ed25519"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"agentlink/node"
	"agentlink/node/api/socket"
	"agentlink/node/nodetest"
	"agentlink/node/nodetest/tokentest"
	"agentlink/policy"
)

// doors are requests that an access token opens, by the door that they come to.
var doors = map[string]struct{ method, path, accept, body string }{
	"REST":      {"GET", "/v1/agent/me", "", ""},
	"REST post": {"POST", "/v1/agent/messages", "", `{"connectionId":"01930000-0000-7000-8000-0000000000ff","text":"Good evening"}`},
	"REST wait": {"GET", "/v1/agent/events?wait=0", "", ""},
	"stream":    {"GET", "/v1/agent/events", "text/event-stream", ""},
	"MCP": {"POST", "/mcp", "application/json, text/event-stream",
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`},
}

// knock comes to a door with a token. ok is false where no client can send it.
func knock(t *testing.T, n *nodetest.Node, door, bearer string) (status int, ok bool) {
	t.Helper()
	d := doors[door]
	r, err := http.NewRequestWithContext(t.Context(), d.method, n.Info.AgentsURL+d.path, strings.NewReader(d.body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+bearer)
	r.Header.Set("Content-Type", "application/json")
	if d.accept != "" {
		r.Header.Set("Accept", d.accept)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		if !strings.Contains(err.Error(), "invalid header field value") {
			t.Errorf("%s: %v", door, err)
		}
		return 0, false
	}
	_ = response.Body.Close() // an event stream does not end by itself
	return response.StatusCode, true
}

// TestWrongTokensAtEveryDoor (S14): of more than 60 kinds of wrong access token,
// nearly all signed with the node's own key, none opens a door of a real node.
func TestWrongTokensAtEveryDoor(t *testing.T) {
	t.Parallel()
	clock := node.NewFakeClock(node.SystemClock{}.Now()) // stands: a busy machine must not make a token good
	n := nodetest.Start(t, nodetest.Options{Clock: clock})
	scout := n.CreateAgent("scout", policy.Autonomous)
	forge := tokentest.Forge{
		Key: ed25519.NewKeyFromSeed(n.Keys().Seed), URL: n.Info.AgentsURL, Sub: scout.ID, Gen: 1, Time: clock.Now(),
	}
	mutants := append(forge.Mutants(), others(n, forge)...)
	for door := range doors {
		if status, _ := knock(t, n, door, forge.Good()); status == http.StatusUnauthorized {
			t.Fatalf("%s refuses the token that all mutants come from", door)
		}
		sent := 0
		for _, m := range mutants {
			if strings.TrimSpace(m.Compact) == forge.Good() {
				continue // a client takes spaces around a header's value away
			}
			status, ok := knock(t, n, door, m.Compact)
			if ok {
				sent++
			}
			if ok && status != http.StatusUnauthorized {
				t.Errorf("%s takes %s: %d", door, m.Name, status)
			}
		}
		if sent < 60 {
			t.Errorf("%s: only %d mutants were sent", door, sent)
		}
	}
}

// others are tokens that are well made, and for whom there is nobody.
func others(n *nodetest.Node, forge tokentest.Forge) (list []tokentest.Mutant) {
	for name, change := range map[string]func(*tokentest.Forge){
		"the key before": func(f *tokentest.Forge) { f.Gen = 0 }, "a key to come": func(f *tokentest.Forge) { f.Gen = 2 },
		"an agent that is not there": func(f *tokentest.Forge) { f.Sub = "01930000-0000-7000-8000-0000000000ff" },
		"the agent's handle":         func(f *tokentest.Forge) { f.Sub = "scout" },
		"the owner":                  func(f *tokentest.Forge) { f.Sub = "owner" },
		"the peers' address":         func(f *tokentest.Forge) { f.URL = "http://" + n.Info.Host + "/agentlink" },
	} {
		other := forge
		change(&other)
		list = append(list, tokentest.Mutant{Name: name, Compact: other.Good()})
	}
	return list
}

// TestDisabledMeanwhile (S14): in 1,000 requests that several programs of an agent
// send while its owner disables it, none that begins after that is taken.
func TestDisabledMeanwhile(t *testing.T) {
	t.Parallel()
	n := nodetest.Start(t, nodetest.Options{})
	token := n.CreateAgent("scout", policy.Assisted).Token()
	const programs, each, kept = 8, 125, 40 // of each program, those that wait for the end
	var disabled atomic.Bool
	var before, after atomic.Int64
	enough, done := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	for program := range programs {
		all.Go(func() {
			for i := range each {
				door := []string{"REST", "REST post", "REST wait", "MCP"}[(program+i)%4]
				if i == each-kept {
					<-done
				}
				late := disabled.Load()
				status, _ := knock(t, n, door, token)
				switch {
				case late && status != http.StatusUnauthorized:
					t.Errorf("%s: %d after the agent was disabled", door, status)
				case late:
					after.Add(1)
				case before.Add(1) == programs*each/4:
					close(enough)
				}
			}
		})
	}
	<-enough
	nodetest.Owner[socket.Agent](n, socket.AgentStatus, socket.ChangeStatus{Agent: "scout", Status: policy.Disabled})
	disabled.Store(true)
	close(done)
	all.Wait()
	t.Logf("%d requests before, %d after", before.Load(), after.Load())
	if before.Load()+after.Load() != programs*each || after.Load() < programs*kept {
		t.Errorf("%d requests before, %d after: too few", before.Load(), after.Load())
	}
}
