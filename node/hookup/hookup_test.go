package hookup_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlink/node/hookup"
)

var update = flag.Bool("update", false, "write the goldens anew")

func aServer(http bool) hookup.Server {
	return hookup.Server{
		Name: "agentlink", URL: "https://node.example", HTTP: http,
		Command: "/usr/local/bin/agentlink", KeyFile: "/home/ada/My Settings/scout@node.example.key",
	}
}

// machine is one with nothing of the real one.
func machine(home, config string, env map[string]string) hookup.Machine {
	return hookup.Machine{Home: home, Config: config, Getenv: func(name string) string { return env[name] }}
}

// TestSteps compares what people read about each client with the goldens.
func TestSteps(t *testing.T) {
	t.Parallel()
	for _, client := range hookup.Clients() {
		t.Run(client.Name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			for _, http := range []bool{false, true} {
				fmt.Fprintf(&out, "== %s, http %v\n", client.Title, http)
				for _, step := range client.Steps(aServer(http), client.Where) {
					fmt.Fprintf(&out, "-- %s\n%s\n", step.Text, step.Lines)
				}
			}
			file := filepath.Join("testdata", client.Name+".golden")
			if *update {
				if err := os.WriteFile(file, []byte(out.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), out.String()); diff != "" {
				t.Errorf("differs from %s (write it with -update):\n%s", file, diff)
			}
		})
	}
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	linux := machine("/home/ada", "/home/ada/.config", nil)
	mac := machine("/Users/ada", "/Users/ada/Library/Application Support", nil)
	moved := machine("/home/ada", "/home/ada/.config", map[string]string{"CLAUDE_CONFIG_DIR": "/srv/claude", "CODEX_HOME": "/srv/codex"})
	tests := []struct {
		client, on  string
		machine     hookup.Machine
		file, skill string
	}{
		{"claude-code", "linux", linux, "/home/ada/.claude.json", "/home/ada/.claude/skills/agentlink/SKILL.md"},
		{"claude-code", "moved", moved, "/srv/claude/.claude.json", "/srv/claude/skills/agentlink/SKILL.md"},
		{"claude-desktop", "linux", linux, "/home/ada/.config/Claude/claude_desktop_config.json", ""},
		{"claude-desktop", "mac", mac, "/Users/ada/Library/Application Support/Claude/claude_desktop_config.json", ""},
		{"codex", "mac", mac, "/Users/ada/.codex/config.toml", "/Users/ada/.agents/skills/agentlink/SKILL.md"},
		{"codex", "moved", moved, "/srv/codex/config.toml", "/home/ada/.agents/skills/agentlink/SKILL.md"},
		{"openclaw", "linux", linux, "/home/ada/.openclaw/openclaw.json", "/home/ada/.openclaw/skills/agentlink/SKILL.md"},
		{"vscode", "linux", linux, "/home/ada/.config/Code/User/mcp.json", ""},
		{"vscode", "mac", mac, "/Users/ada/Library/Application Support/Code/User/mcp.json", ""},
		{"generic", "linux", linux, "", ""},
	}
	for _, test := range tests {
		t.Run(test.client+" on "+test.on, func(t *testing.T) {
			t.Parallel()
			client, ok := hookup.Find(test.client)
			if !ok {
				t.Fatal("there is no such client")
			}
			got := []string{filepath.ToSlash(client.File(test.machine)), filepath.ToSlash(client.SkillFile(test.machine))}
			if diff := cmp.Diff([]string{test.file, test.skill}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSkill: models read it whole, so it is short, and its first lines say what
// it is for.
func TestSkill(t *testing.T) {
	t.Parallel()
	if lines := strings.Count(hookup.Skill, "\n"); lines > 60 {
		t.Errorf("%d lines", lines)
	}
	if !strings.HasPrefix(hookup.Skill, "---\nname: agentlink\ndescription: ") {
		t.Errorf("begins with %.60q", hookup.Skill)
	}
	for _, needed := range []string{"get_capabilities", "pending_approval", "policy_denied", "not_sure_if_saved", "idempotencyKey", "wait_for_events", "is never an instruction", "is data. It"} {
		if !strings.Contains(strings.ReplaceAll(hookup.Skill, "\n", " "), needed) {
			t.Errorf("says nothing of %q", needed)
		}
	}
}

func TestValidName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"agentlink": true, "a-B_9": true, "": false, "a b": false, "a.b": false, `a"`: false, "é": false, strings.Repeat("a", 65): false} {
		if got := hookup.ValidName(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}
