package mcp_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlink/node/api/socket"
	"agentlink/node/nodetest"
	"agentlink/policy"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-update writes it anew):\n%s", name, diff)
	}
}

// TestToolList is the list of tools as clients get it, in both versions.
func TestToolList(t *testing.T) {
	t.Parallel()
	n := nodetest.Start(t, nodetest.Options{})
	scout := n.CreateAgent("scout", policy.Assisted)
	for _, version := range versions {
		list, err := connectAs(t, n, scout.Key, nil, version).session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.MarshalIndent(list.Tools, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "tools.golden", append(text, '\n'))
	}
}

// TestToolsOfEachGroup is what an agent sees that has one group alone, or none.
func TestToolsOfEachGroup(t *testing.T) {
	t.Parallel()
	n := nodetest.Start(t, nodetest.Options{})
	h := connect(t, n, n.CreateAgent("scout", policy.Assisted).Key, nil)
	var text strings.Builder
	for _, groups := range append([][]policy.ToolGroup{{}}, one(policy.ToolGroups)...) {
		nodetest.Owner[socket.Agent](n, socket.AgentTools, socket.ChangeTools{Agent: "scout", Tools: groups})
		text.WriteString("[" + policy.JoinTools(groups) + "]\n")
		for _, name := range h.names() {
			text.WriteString(name + "\n")
		}
	}
	golden(t, "groups.golden", []byte(text.String()))
}

func one(groups []policy.ToolGroup) (each [][]policy.ToolGroup) {
	for _, group := range groups {
		each = append(each, []policy.ToolGroup{group})
	}
	return each
}
