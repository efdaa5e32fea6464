package mcp

import (
	"testing"

	"agentlink/node/api"
)

// TestHeld: what waits for the owner is told apart from a run that goes on.
func TestHeld(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		`{"status":"pending_approval","approvalId":"a"}`:     true,
		`{"status":"pending_owner","approvalId":"a"}`:        true,
		`{"runId":"r","outcome":"running","approvalId":"a"}`: false,
	} {
		if got := held(api.Answer{Status: api.Accepted, Body: []byte(body)}); got != want {
			t.Errorf("%s: %v", body, got)
		}
	}
	if held(api.Answer{Status: api.Created, Body: []byte(`{"status":"queued"}`)}) {
		t.Error("what was sent counts as held")
	}
}
