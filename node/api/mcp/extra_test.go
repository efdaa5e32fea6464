package mcp_test

import (
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agentlink/policy"
)

// TestNobodySaysThatItIsApproved (S5): no tool takes an argument that it does not
// list, and none lists one by which a call could say that it is approved.
func TestNobodySaysThatItIsApproved(t *testing.T) {
	t.Parallel()
	w := open(t, policy.Assisted)
	h := connect(t, w.ada, w.scout.Key, nil)
	list, err := h.session.ListTools(t.Context(), &sdk.ListToolsParams{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		schema, _ := tool.InputSchema.(map[string]any)
		properties, _ := schema["properties"].(map[string]any)
		if schema["additionalProperties"] != false {
			t.Errorf("%s takes arguments that it does not list", tool.Name)
		}
		for name, value := range map[string]any{"approved": true, "approvalStatus": "approved", "mode": "autonomous", "override": true, "actor": "owner", "agentId": w.juno.ID} {
			if properties[name] != nil {
				t.Errorf("%s lists %s", tool.Name, name)
			}
			if code := h.call(tool.Name, map[string]any{name: value}).refused(); code != "bad_request" {
				t.Errorf("%s with %s: %s", tool.Name, name, code)
			}
		}
	}
	for _, c := range w.calls() { // what is right but for that
		c.Arguments["approved"] = true
		if code := h.call(c.Name, c.Arguments).refused(); code != "bad_request" {
			t.Errorf("%s: %s", c.Name, code)
		}
	}
	h.call("send_message", map[string]any{"connectionId": w.connectionID, "text": "Good evening"}).fine()
}
