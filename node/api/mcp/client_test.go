package mcp_test

import (
	"encoding/json"
	"net/http"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agentlink/node/nodetest"
)

// bearing adds a bearer to each request.
type bearing struct{ token string }

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

// hand is an agent that has nothing but an MCP client.
type hand struct {
	t       *testing.T
	session *sdk.ClientSession
}

// withSessions is the newest version of the protocol that has sessions.
const withSessions = "2025-11-25"

// connect begins a session with the node's server at /mcp, in the newest version
// of the protocol.
func connect(t *testing.T, n *nodetest.Node, bearer string, options *sdk.ClientOptions) hand {
	t.Helper()
	return connectAs(t, n, bearer, options, nil)
}

func connectAs(t *testing.T, n *nodetest.Node, bearer string, options *sdk.ClientOptions, version *sdk.ClientSessionOptions) hand {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, options)
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: n.Info.AgentsURL + "/mcp", HTTPClient: &http.Client{Transport: bearing{bearer}}, MaxRetries: -1,
	}, version)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return hand{t: t, session: session}
}

// outcome is what a tool answered.
type outcome struct {
	t      *testing.T
	Result *sdk.CallToolResult
}

func (h hand) call(name string, arguments map[string]any) outcome {
	h.t.Helper()
	result, err := h.session.CallTool(h.t.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		h.t.Fatalf("%s: %v", name, err)
	}
	return outcome{t: h.t, Result: result}
}

// text is the first block.
func (o outcome) text() string { return o.Result.Content[0].(*sdk.TextContent).Text }

// value is the structured answer, or of a failed call the error.
func (o outcome) value() nodetest.Answer {
	o.t.Helper()
	var raw []byte
	if o.Result.IsError {
		raw = []byte(o.text())
	} else {
		var err error
		if raw, err = json.Marshal(o.Result.StructuredContent); err != nil {
			o.t.Fatal(err)
		}
	}
	return nodetest.NewAnswer(o.t, raw)
}

// fine fails the test where the call was refused.
func (o outcome) fine() nodetest.Answer {
	o.t.Helper()
	if o.Result.IsError {
		o.t.Fatalf("refused: %s", o.text())
	}
	return o.value()
}

// refused is the code of the error.
func (o outcome) refused() string {
	o.t.Helper()
	if !o.Result.IsError {
		o.t.Fatalf("not refused: %s", o.text())
	}
	return o.value().Text("error.code")
}
