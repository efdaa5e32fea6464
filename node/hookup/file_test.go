package hookup_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/node/hookup"
)

var now = time.Date(2026, 11, 30, 7, 8, 9, 0, time.UTC)

// clientFile is a client with a file of the given content.
func clientFile(t *testing.T, name, content string) (hookup.Client, string) {
	t.Helper()
	client, ok := hookup.Find(name)
	if !ok {
		t.Fatalf("there is no client %s", name)
	}
	file := filepath.Join(t.TempDir(), "settings")
	if err := os.WriteFile(file, []byte(content), 0o640); err != nil {
		t.Fatal(err)
	}
	return client, file
}

func contentOf(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// small is a server whose lines are short.
var small = hookup.Server{Name: "agentlink", URL: "https://n.example", HTTP: true}

const (
	smallJSON = `{"url": "https://n.example/mcp", "transport": "streamable-http", "auth": "oauth"}`
	smallTOML = "[mcp_servers.agentlink]\nurl = \"https://n.example/mcp\"\ntool_timeout_sec = 90\n"
)

// TestAdd: what is not ours keeps its bytes; a second time changes nothing.
func TestAdd(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, client, before, after string
		change                      hookup.Change
	}{
		{"empty", "openclaw", "", "{\n  \"mcp\": {\n    \"servers\": {\n      \"agentlink\": {\n        \"url\": \"https://n.example/mcp\",\n        \"transport\": \"streamable-http\",\n        \"auth\": \"oauth\"\n      }\n    }\n  }\n}\n", hookup.Added},
		{"one line", "openclaw", `{"a":1e2}`, `{"a":1e2,"mcp": {"servers": {"agentlink": ` + smallJSON + `}}}`, hookup.Added},
		{"tabs", "claude-code", "{\n\t\"a\": [ 1,2 ]\n}\n", "{\n\t\"a\": [ 1,2 ],\n\t\"mcpServers\": {\n\t\t\"agentlink\": {\n\t\t\t\"type\": \"http\",\n\t\t\t\"url\": \"https://n.example/mcp\"\n\t\t}\n\t}\n}\n", hookup.Added},
		{"empty object", "vscode", "{}", "{\n  \"servers\": {\n    \"agentlink\": {\n      \"type\": \"http\",\n      \"url\": \"https://n.example/mcp\"\n    }\n  }\n}", hookup.Added},
		{"beside another", "vscode", "{\n  \"servers\": {\n    \"x\": {}\n  },\n  \"inputs\": []\n}", "{\n  \"servers\": {\n    \"x\": {},\n    \"agentlink\": {\n      \"type\": \"http\",\n      \"url\": \"https://n.example/mcp\"\n    }\n  },\n  \"inputs\": []\n}", hookup.Added},
		{"in the place of an old one", "openclaw", `{"mcp":{"servers":{"agentlink":{"command":"x","args":[],"enabled":false},"y":{}}}}`,
			`{"mcp":{"servers":{"agentlink":{"url": "https://n.example/mcp", "transport": "streamable-http", "auth": "oauth", "enabled": false},"y":{}}}}`, hookup.Replaced},
		{"right already, in another form", "openclaw", `{"mcp":{"servers":{"agentlink":{"auth":"oauth","enabled":false,"transport":"streamable-http","url":"https://n.example/mcp"}}}}`,
			`{"mcp":{"servers":{"agentlink":{"auth":"oauth","enabled":false,"transport":"streamable-http","url":"https://n.example/mcp"}}}}`, hookup.Unchanged},
		{"empty TOML", "codex", "", smallTOML, hookup.Added},
		{"TOML without a last line break", "codex", "a = 1 # one", "a = 1 # one\n\n" + smallTOML, hookup.Added},
		{"TOML in the place of an old one", "codex", "# top\n[mcp_servers.agentlink]\ncommand = \"x\"\nargs = [\n  \"y\",\n]\n# off\nenabled = false\n\n[mcp_servers.agentlink.tools.propose]\napproval_mode = \"approve\"\n\n# next\n[z]\n",
			"# top\n" + smallTOML + "# off\nenabled = false\n\n[mcp_servers.agentlink.tools.propose]\napproval_mode = \"approve\"\n\n# next\n[z]\n", hookup.Replaced},
		{"TOML right already", "codex", "[mcp_servers]\nagentlink = {tool_timeout_sec = 90, url = \"https://n.example/mcp\"}\n",
			"[mcp_servers]\nagentlink = {tool_timeout_sec = 90, url = \"https://n.example/mcp\"}\n", hookup.Unchanged},
		{"TOML with a header in a text", "codex", "a = '''\n[mcp_servers.agentlink]\n'''\n", "a = '''\n[mcp_servers.agentlink]\n'''\n\n" + smallTOML, hookup.Added},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			client, file := clientFile(t, test.client, test.before)
			done, err := client.Add(file, small, now)
			if err != nil || done.Change != test.change {
				t.Fatalf("%+v, %v", done, err)
			}
			if diff := cmp.Diff(test.after, contentOf(t, file)); diff != "" {
				t.Error(diff)
			}
			if again, err := client.Add(file, small, now); err != nil || again.Change != hookup.Unchanged || again.Backup != "" {
				t.Errorf("the second time: %+v, %v", again, err)
			}
		})
	}
}

// TestLeft: a file that cannot be changed safely is left as it is, with the lines
// for people.
func TestLeft(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, client, content, reason string }{
		{"comment", "vscode", "{\n  // mine\n}", "has comments"},
		{"block comment", "claude-code", "{/* mine */}", "has comments"},
		{"trailing comma", "vscode", `{"servers": {},}`, "trailing commas"},
		{"broken", "claude-code", `{"a": `, "cannot be read as JSON"},
		{"JSON5", "openclaw", `{a: 1}`, "cannot be read as JSON"},
		{"list", "claude-code", `[]`, "has something else than an object"},
		{"servers are a list", "vscode", `{"servers": []}`, "has something else than an object"},
		{"name stands twice", "vscode", `{"servers": {}, "servers": {"x": {}}}`, "could not be changed"},
		{"server stands twice", "vscode", `{"servers": {"agentlink": {}, "agentlink": {}}}`, "could not be changed"},
		{"broken TOML", "codex", "[a", "cannot be read as TOML"},
		{"inline servers", "codex", "mcp_servers = {x = {command = \"x\"}}\n", "could not be changed"},
		{"inline server", "codex", "[mcp_servers]\nagentlink = {command = \"x\"}\n", "could not be changed"},
		{"remark behind a line of ours", "codex", "[mcp_servers.agentlink]\ncommand = \"x\" # mine\n", "has a remark"},
		{"remark behind the header", "codex", "[mcp_servers.agentlink] # mine\ncommand = \"x\"\n", "could not be changed"},
		{"only a header in a text", "codex", "mcp_servers.agentlink.command = 'x'\na = '''\n[mcp_servers.agentlink]\n'''\n", "could not be changed"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			client, file := clientFile(t, test.client, test.content)
			_, err := client.Add(file, small, now)
			var left *hookup.ByHand
			if !errors.As(err, &left) || !strings.Contains(left.Reason, test.reason) || left.Lines != client.Lines(small) {
				t.Fatalf("%v", err)
			}
			if got := contentOf(t, file); got != test.content {
				t.Errorf("the file is now %q", got)
			}
		})
	}
}

// TestRemove: what was added goes, and nothing else.
func TestRemove(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ client, content string }{
		"JSON":           {"vscode", "{\n  \"servers\": {\n    \"x\": {}\n  },\n  \"inputs\": []\n}"},
		"JSON, empty":    {"claude-code", "{\n  \"mcpServers\": {},\n  \"n\": 1.0\n}\n"},
		"TOML":           {"codex", "a = 1\n\n# x\n[mcp_servers.x]\ncommand = \"y\"\n"},
		"TOML, nothing":  {"codex", ""},
		"JSON, one line": {"openclaw", `{"mcp":{"servers":{"x":{}}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, file := clientFile(t, test.client, test.content)
			for _, http := range []bool{false, true} { // the second replaces the first
				if _, err := client.Add(file, aServer(http), now); err != nil {
					t.Fatal(err)
				}
			}
			for _, want := range []hookup.Change{hookup.Removed, hookup.Unchanged} {
				if done, err := client.Remove(file, "agentlink", now); err != nil || done.Change != want {
					t.Fatalf("%+v, %v", done, err)
				}
			}
			if diff := cmp.Diff(test.content, contentOf(t, file)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRemoveTakesWhatBelongsToIt: the tables beneath a server's go with it.
func TestRemoveTakesWhatBelongsToIt(t *testing.T) {
	t.Parallel()
	client, file := clientFile(t, "codex", "[a]\n\n"+smallTOML+"\n[mcp_servers.agentlink.tools.propose]\napproval_mode = \"approve\"\n\n# of b\n[b]\n")
	if done, err := client.Remove(file, "agentlink", now); err != nil || done.Change != hookup.Removed {
		t.Fatalf("%+v, %v", done, err)
	}
	if got, want := contentOf(t, file), "[a]\n\n# of b\n[b]\n"; got != want {
		t.Errorf("%q", got)
	}
}

// TestBackups: each change keeps the file as it was, with its mode, and no copy
// goes over another. A link stays one.
func TestBackups(t *testing.T) {
	t.Parallel()
	client, file := clientFile(t, "codex", "a = 1\n")
	link := filepath.Join(t.TempDir(), "config.toml")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	var copies []string
	for _, http := range []bool{false, true, false} {
		done, err := client.Add(link, aServer(http), now)
		if err != nil {
			t.Fatal(err)
		}
		copies = append(copies, filepath.Base(done.Backup))
	}
	want := []string{"settings.bak-20261130T070809Z", "settings.bak-20261130T070809Z-2", "settings.bak-20261130T070809Z-3"}
	if diff := cmp.Diff(want, copies); diff != "" {
		t.Fatal(diff)
	}
	for _, name := range append(copies, "settings") {
		info, err := os.Stat(filepath.Join(filepath.Dir(file), name))
		if err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if got := contentOf(t, filepath.Join(filepath.Dir(file), copies[0])); got != "a = 1\n" {
		t.Errorf("the first copy is %q", got)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info, err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(file), ".agentlink-*")); err != nil || len(left) > 0 {
		t.Errorf("left lying about: %v, %v", left, err)
	}
}

// TestStoreKey: only the user can read it, whatever was there before.
func TestStoreKey(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "agentlink", "scout.key")
	for _, step := range []struct {
		key  string
		mode os.FileMode
		want hookup.Change
	}{{"alk_1", 0, hookup.Added}, {"alk_1", 0o644, hookup.Unchanged}, {"alk_2", 0o644, hookup.Replaced}} {
		if step.mode != 0 {
			if err := os.Chmod(file, step.mode); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := hookup.StoreKey(file, step.key); err != nil || got != step.want {
			t.Errorf("%s: %v, %v", step.key, got, err)
		}
		if got := contentOf(t, file); got != step.key+"\n" {
			t.Errorf("the file is %q", got)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
	}
}
