package mcp_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"strings"
	"testing"

	"agentlink/node/nodetest"
	"agentlink/policy"
)

// Exit codes of agentlink.
const (
	exitFailed = 1
	exitUsage  = 2
)

const beginning = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

// stdioServer prepares `agentlink mcp`.
func stdioServer(t *testing.T, url, key string) *exec.Cmd {
	t.Helper()
	return exec.CommandContext(t.Context(), agentlink(t), "mcp", "--url", url, "--key-file", keyFile(t, key))
}

// protocolOnly fails the test where a line of standard output is no message.
func protocolOnly(t *testing.T, stdout string) (messages []map[string]any) {
	t.Helper()
	for line := range strings.Lines(stdout) {
		var message map[string]any
		if err := json.Unmarshal([]byte(line), &message); err != nil || message["jsonrpc"] != "2.0" {
			t.Errorf("not of the protocol: %q", line)
		}
		messages = append(messages, message)
	}
	return messages
}

// anyMessages: the end may come before the answer.
const anyMessages = -1

// TestStdoutIsProtocolOnly: whatever happens, a client reads messages and nothing
// else; what a person should know is on standard error, without the key.
func TestStdoutIsProtocolOnly(t *testing.T) {
	t.Parallel()
	n := nodetest.Start(t, nodetest.Options{})
	scout := n.CreateAgent("scout", policy.Assisted)
	const wrong = "alk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	for _, c := range []struct {
		name, url, key, stdin string
		messages, code        int
		says                  string
	}{
		{"wrong address", "http://127.0.0.1:1", scout.Key, beginning, 0, exitFailed, "There is no AgentLink node at http://127.0.0.1:1."},
		{"no address", "nonsense", scout.Key, beginning, 0, exitFailed, "There is no AgentLink node at nonsense."},
		{"wrong key", n.Info.AgentsURL, wrong, beginning, 0, exitFailed, "does not know this key"},
		{"no key", n.Info.AgentsURL, "sesame", beginning, 0, exitUsage, "This is not an agent's key"},
		{"garbage", n.Info.AgentsURL, scout.Key, "garbage\n", 0, exitFailed, "agentlink:"},
		{"garbage after a beginning", n.Info.AgentsURL, scout.Key, beginning + "{\"garbage\n", anyMessages, exitFailed, "agentlink:"},
		{"nothing", n.Info.AgentsURL, scout.Key, "", 0, 0, ""},
		{"unknown method", n.Info.AgentsURL, scout.Key, beginning + `{"jsonrpc":"2.0","id":2,"method":"no/such"}` + "\n", 2, 0, ""},
		{"a session", n.Info.AgentsURL, scout.Key, beginning + `{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"get_me","arguments":{}}}
{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"no_such_tool","arguments":{}}}
{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"agentlink://task-types/dinner.coordination"}}
{"jsonrpc":"2.0","id":6,"method":"prompts/get","params":{"name":"coordinate","arguments":{"contact":"juno","goal":"dinner"}}}
`, 6, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			command := stdioServer(t, c.url, c.key)
			command.Stdin = strings.NewReader(c.stdin)
			stdout, stderr, code := output(t, command)
			if got := protocolOnly(t, stdout); len(got) != c.messages && c.messages != anyMessages {
				t.Errorf("%d messages, want %d:\n%s", len(got), c.messages, stdout)
			}
			if code != c.code || !strings.Contains(stderr, c.says) || (c.says == "" && stderr != "") {
				t.Errorf("exit code %d, want %d; standard error: %q, want %q", code, c.code, stderr, c.says)
			}
			if strings.Contains(stderr, c.key) {
				t.Errorf("the key is on standard error: %q", stderr)
			}
		})
	}
}

// TestNodeStopsMidSession: the client is told in the protocol, and goes on when
// the node is back.
func TestNodeStopsMidSession(t *testing.T) {
	t.Parallel()
	n := nodetest.Start(t, nodetest.Options{})
	command := stdioServer(t, n.Info.AgentsURL, n.CreateAgent("scout", policy.Assisted).Key)
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	command.Stderr = &stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stdout)
	ask := func(text string) map[string]any {
		t.Helper()
		if _, err := io.WriteString(stdin, text); err != nil {
			t.Fatal(err)
		}
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("%v; standard error: %s", err, stderr.String())
		}
		return protocolOnly(t, line)[0]
	}
	const me = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_me","arguments":{}}}` + "\n"
	ask(beginning)
	if answer := ask(me); answer["result"] == nil {
		t.Fatalf("%v", answer)
	}
	n.Stop()
	if answer := ask(me); answer["error"] == nil || !strings.Contains(toJSON(t, answer), "The node did not answer.") {
		t.Errorf("%v", answer)
	}
	n.Restart()
	if answer := ask(me); answer["result"] == nil {
		t.Errorf("after the node's return: %v", answer)
	}
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(lines)
	if err != nil || len(rest) > 0 {
		t.Errorf("%v: %s", err, rest)
	}
	if err := command.Wait(); err != nil {
		t.Errorf("%v: %s", err, stderr.String())
	}
}

func toJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
