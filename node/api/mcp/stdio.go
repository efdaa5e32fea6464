package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agentlink/node"
)

// Stdio is a server for a client that starts it as its child. It passes
// everything on to the node's server at /mcp, which alone knows the tools.
type Stdio struct {
	// URL is the node's, without a path.
	URL string
	// Key is the agent's.
	Key     string
	In      io.ReadCloser
	Out     io.WriteCloser
	Version string
}

// Run serves until the client ends it, or ctx does. Before it says a word to the
// client it reaches the node once: a wrong address or key is told to a person.
// Codes: unavailable, unauthorized.
func (s Stdio) Run(ctx context.Context) error {
	p := &passer{}
	client := sdk.NewClient(identity(s.Version), &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{}, ProgressNotificationHandler: p.progress,
	})
	bearer := &keyed{key: s.Key}
	session, err := client.Connect(ctx, &sdk.StreamableClientTransport{
		Endpoint: strings.TrimSuffix(s.URL, "/") + Path, HTTPClient: &http.Client{Transport: bearer},
		MaxRetries: -1, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		return s.cannotReach(bearer.refused, err)
	}
	defer session.Close()
	p.node = session
	server := sdk.NewServer(identity(s.Version), &sdk.ServerOptions{
		Instructions: instructions,
		Capabilities: &sdk.ServerCapabilities{
			Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{}, Prompts: &sdk.PromptCapabilities{},
		},
	})
	server.AddReceivingMiddleware(p.pass)
	local, err := server.Connect(ctx, &sdk.IOTransport{Reader: lingering{s.In, p.busy}, Writer: s.Out}, nil)
	if err != nil {
		return fmt.Errorf("begin with the client: %w", err)
	}
	p.client.Store(local)
	return ended(local.Wait())
}

// ended: that the client has gone is how a session ends.
func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func (s Stdio) cannotReach(refused bool, err error) error {
	if refused {
		return node.Errorf(node.Unauthorized, "The node at %s does not know this key, or the agent is disabled. Ask the owner for the agent's key.", s.URL)
	}
	return &node.Error{Code: node.Unavailable, Message: fmt.Sprintf("There is no AgentLink node at %s. Start it, or give its address with --url.", s.URL), Err: err}
}

// keyed sends the agent's key along, to the node and nowhere else.
type keyed struct {
	key     string
	refused bool // before the first answer only
}

// RoundTrip implements http.RoundTripper.
func (k *keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+k.key)
	response, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && response.StatusCode == http.StatusUnauthorized {
		k.refused = true
	}
	return response, err
}

var errNodeAway = &jsonrpc.Error{
	Code:    jsonrpc.CodeInternalError,
	Message: "The node did not answer. Whether a call that changes something has arrived is not known: look before you repeat it, or repeat it with the same idempotencyKey.",
}
