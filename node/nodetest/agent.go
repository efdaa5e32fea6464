package nodetest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"agentlink/node/api/socket"
	"agentlink/policy"
)

// Agent is an agent's program: it knows the node's address and its key, and
// nothing else.
type Agent struct {
	socket.Agent
	node  *Node
	token string
}

// CreateAgent makes an agent; mode "" is the default.
func (n *Node) CreateAgent(handle string, mode policy.Mode) *Agent {
	n.tb.Helper()
	made := Owner[socket.Agent](n, socket.AgentCreate, socket.CreateAgent{Handle: handle, Mode: mode})
	return &Agent{Agent: made, node: n}
}

// Answer is an answer of the REST API.
type Answer struct {
	tb     testing.TB
	Status int
	Header http.Header
	Body   []byte
}

// Get reads.
func (a *Agent) Get(path string) Answer {
	a.node.tb.Helper()
	return a.Do(http.MethodGet, path, nil, nil)
}

// Post writes.
func (a *Agent) Post(path string, body any) Answer {
	a.node.tb.Helper()
	return a.Do(http.MethodPost, path, body, nil)
}

// Do sends a request with the agent's token, which it gets where it has none.
func (a *Agent) Do(method, path string, body any, header map[string]string) Answer {
	a.node.tb.Helper()
	if a.token == "" {
		a.token = a.Token()
	}
	var content io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			a.node.tb.Fatal(err)
		}
		content = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(a.node.tb.Context(), method, a.node.Info.AgentsURL+path, content)
	if err != nil {
		a.node.tb.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+a.token)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	return send(a.node.tb, r)
}

// Renew takes a fresh token for what follows.
func (a *Agent) Renew() { a.node.tb.Helper(); a.token = a.Token() }

// Token gets a fresh access token.
func (a *Agent) Token() string {
	a.node.tb.Helper()
	form := url.Values{"grant_type": {"client_credentials"}}.Encode()
	r, err := http.NewRequestWithContext(a.node.tb.Context(), http.MethodPost, a.node.Info.AgentsURL+"/oauth/token", strings.NewReader(form))
	if err != nil {
		a.node.tb.Fatal(err)
	}
	r.SetBasicAuth(a.ID, a.Key)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer := send(a.node.tb, r)
	answer.Want(http.StatusOK)
	return answer.Text("access_token")
}

var client = http.Client{Timeout: 90 * time.Second}

func send(tb testing.TB, r *http.Request) Answer {
	tb.Helper()
	response, err := client.Do(r)
	if err != nil {
		tb.Fatalf("%s %s: %v", r.Method, r.URL.Path, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		tb.Fatalf("%s %s: %v", r.Method, r.URL.Path, err)
	}
	return Answer{tb: tb, Status: response.StatusCode, Header: response.Header, Body: body}
}

// Want fails the test where the status is another.
func (a Answer) Want(status int) Answer {
	a.tb.Helper()
	if a.Status != status {
		a.tb.Fatalf("status %d, want %d: %s", a.Status, status, a.Body)
	}
	return a
}

// Into decodes the body.
func (a Answer) Into(into any) {
	a.tb.Helper()
	if err := json.Unmarshal(a.Body, into); err != nil {
		a.tb.Fatalf("%v in %s", err, a.Body)
	}
}

// Value finds a member of the body by its dotted path: "error.details.reason".
// It is nil where there is none.
func (a Answer) Value(path string) any {
	a.tb.Helper()
	var value any
	a.Into(&value)
	for name := range strings.SplitSeq(path, ".") {
		object, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = object[name]
	}
	return value
}

// Text is Value for a string; "" where there is none.
func (a Answer) Text(path string) string {
	a.tb.Helper()
	text, _ := a.Value(path).(string)
	return text
}

func port(tb testing.TB, address string) string {
	tb.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		tb.Fatal(err)
	}
	return parsed.Port()
}

// NewAnswer makes an answer of a JSON text that came by another way.
func NewAnswer(tb testing.TB, body []byte) Answer {
	return Answer{tb: tb, Status: http.StatusOK, Body: body}
}
