package hookup_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"agentlink/node/hookup"
)

// FuzzAdd: whatever stands in a file, it is left as it is or holds the server
// afterwards, and gives it back. That nothing else changes is looked at by Add and
// Remove themselves.
func FuzzAdd(f *testing.F) {
	for _, content := range []string{
		"", "{}", `{"mcpServers":{"agentlink":{"url":"x","n":[1.0]}}}`, "{\n  \"mcp\": {\"servers\": {}}\n}", "{/**/}", `{"a":1,"a":2}`, `{"mcpServers":null}`,
		"a = 1", smallTOML, "[mcp_servers.agentlink]\nx = '''\n[y]\n'''\n", "[mcp_servers.\"agentlink\"]\r\ncommand = 'a'\r\n[b]\r\n", "mcp_servers.agentlink.url = 'x'\n",
		"[[mcp_servers]]\n", "[mcp_servers.agentlink]\nargs = [\n  'a', # b\n]\n[mcp_servers.agentlink.env]\nx = 1\n",
	} {
		f.Add(content)
	}
	clients := []hookup.Client{}
	for _, name := range []string{"claude-code", "openclaw", "codex"} {
		client, _ := hookup.Find(name)
		clients = append(clients, client)
	}
	f.Fuzz(func(t *testing.T, content string) {
		for _, client := range clients {
			addAndRemove(t, client, content)
		}
	})
}

func addAndRemove(t *testing.T, client hookup.Client, content string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "settings")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	var left *hookup.ByHand
	if _, err := client.Add(file, small, now); errors.As(err, &left) {
		if got := contentOf(t, file); got != content {
			t.Fatalf("%s: left, and changed to %q", client.Name, got)
		}
		return
	} else if err != nil {
		t.Fatal(err)
	}
	if again, err := client.Add(file, small, now); err != nil || again.Change != hookup.Unchanged {
		t.Fatalf("%s: the second time: %+v, %v", client.Name, again, err)
	}
	if done, err := client.Remove(file, small.Name, now); !errors.As(err, &left) && (err != nil || done.Change != hookup.Removed) {
		t.Fatalf("%s: removed: %+v, %v", client.Name, done, err)
	}
}
