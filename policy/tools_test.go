package policy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/policy"
)

// TestSetTools: the groups that an agent sees are kept in order, and a change of
// them is told once.
func TestSetTools(t *testing.T) {
	t.Parallel()
	b := setup(t)
	agent, _ := b.agent(t, "juno", policy.Assisted)
	choose := func(groups ...policy.ToolGroup) (changed policy.Agent) {
		b.in(t, func(tx node.Tx) (err error) {
			changed, err = b.SetTools(tx, owner, agent.ID, groups)
			return err
		})
		return changed
	}
	want := []policy.ToolGroup{policy.ToolsRead, policy.ToolsTasks}
	for range 2 { // again: nothing changes
		if diff := cmp.Diff(want, choose(policy.ToolsTasks, policy.ToolsRead).Tools); diff != "" {
			t.Errorf("the groups (-want +got):\n%s", diff)
		}
	}
	b.in(t, func(tx node.Tx) error {
		stored, err := b.Agent(tx, agent.ID)
		if diff := cmp.Diff(want, stored.Tools); diff != "" {
			t.Errorf("what is kept (-want +got):\n%s", diff)
		}
		return err
	})
	rows := b.logged(t, audit.AgentToolsChanged)
	if len(rows) != 1 {
		t.Fatalf("the log says it %d times", len(rows))
	}
	if diff := cmp.Diff(map[string]any{"old": "read,talk,tasks,actions", "new": "read,tasks"}, data(t, rows[0])); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
	if got := choose().Tools; len(got) != 0 {
		t.Errorf("none of them are %v", got)
	}
	for _, wrong := range [][]policy.ToolGroup{{"all"}, {policy.ToolsRead, policy.ToolsRead}} {
		wantFields(t, b.refused(t, node.BadRequest, func(tx node.Tx) error { _, err := b.SetTools(tx, owner, agent.ID, wrong); return err }), "tools")
	}
	b.refused(t, node.NotFound, func(tx node.Tx) error {
		_, err := b.SetTools(tx, owner, "none", want)
		return err
	})
}

// TestToolsAsText: groups are written as one word and read again.
func TestToolsAsText(t *testing.T) {
	t.Parallel()
	for text, groups := range map[string][]policy.ToolGroup{
		"": {}, "read": {policy.ToolsRead}, "read,actions": {policy.ToolsRead, policy.ToolsActions},
	} {
		if got := policy.JoinTools(groups); got != text {
			t.Errorf("%v are written %q", groups, got)
		}
		if diff := cmp.Diff(groups, policy.SplitTools(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}
