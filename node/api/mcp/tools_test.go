package mcp

import (
	"testing"

	"agentlink/node/api/agent"
	"agentlink/policy"
)

// TestEveryOperationHasItsTool compares the table of tools with what an agent may
// do, in both directions.
func TestEveryOperationHasItsTool(t *testing.T) {
	t.Parallel()
	operations := agent.New(agent.Config{CursorKey: make([]byte, 32)}).Operations
	routes, names := map[string]string{}, map[string]bool{}
	for _, tool := range tools {
		if routes[tool.route] != "" || names[tool.name] {
			t.Errorf("%s or its operation is there twice", tool.name)
		}
		routes[tool.route], names[tool.name] = tool.name, true
		if _, ok := policy.ValidToolGroups([]policy.ToolGroup{tool.group}); !ok {
			t.Errorf("%s is in no group", tool.name)
		}
	}
	for _, operation := range operations {
		if routes[operation.Route()] == "" {
			t.Errorf("no tool for %s", operation.Route())
		}
	}
	if len(operations) != len(tools) {
		t.Errorf("%d operations, %d tools", len(operations), len(tools))
	}
}
