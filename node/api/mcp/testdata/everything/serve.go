package mcp_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agentlink/node"
	"agentlink/node/api/agent"
	"agentlink/node/api/mcp"
	"agentlink/node/token"
	"agentlink/policy"
)

// TestServe is compiled next to the SDK's everything-server, for TestConformance
// alone: our server with the fixtures that the suite asks for.
func TestServe(t *testing.T) {
	serveProfile(t, func(options *sdk.ServerOptions) {
		options.Capabilities = nil // those of the fixtures
		options.CompletionHandler = completionHandler
		options.SubscribeHandler, options.UnsubscribeHandler = subscribeHandler, unsubscribeHandler
	}, func(server *sdk.Server) {
		registerTools(server)
		registerResources(server)
		registerPrompts(server)
		go watchedResourceUpdater(context.Background(), server)
	})
}

// nobody is a node in which there is one agent that has nothing.
type nobody struct{ node.DB }

func (nobody) View(_ context.Context, f func(node.Tx) error) error { return f(nil) }

func (nobody) Agent(node.Tx, string) (policy.Agent, error) {
	return policy.Agent{ID: "agent", Status: policy.Active, KeyGeneration: 1, Tools: policy.ToolGroups}, nil
}

func (nobody) Grants(node.Tx, string, *string) ([]policy.Grant, error) { return nil, nil }

// serveProfile serves our server with what a conformance suite needs of it added,
// until standard input ends. Its address is the first line that it prints. The
// suite knows no bearers, so each request is given one on its way.
func serveProfile(t *testing.T, change func(*sdk.ServerOptions), add func(*sdk.Server)) {
	t.Helper()
	tokens := token.NewTokens(token.NewSigner(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))), "http://localhost")
	clock := node.SystemClock{}
	handler := mcp.NewWith(mcp.Config{
		API: agent.New(agent.Config{DB: nobody{}, Agents: nobody{}, Clock: clock, Tokens: tokens, CursorKey: make([]byte, 32)}),
		IDs: node.RandomIDs{}, Version: "test",
	}, change, add)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bearer, _, err := tokens.Issue("agent", 1, clock.Now())
		if err != nil {
			t.Error(err)
		}
		r.Header.Set("Authorization", "Bearer "+bearer)
		handler.ServeHTTP(w, r)
	}))
	fmt.Println(server.URL + "/mcp")
	_, _ = io.Copy(io.Discard, os.Stdin)
	server.CloseClientConnections()
	time.AfterFunc(time.Second, func() { os.Exit(0) }) // streams that nobody ended
	server.Close()
}
