package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
	"agentlink/policy"
)

// TestLargestConstraints: a grant may be narrowed up to its limits, which are part of it.
func TestLargestConstraints(t *testing.T) {
	t.Parallel()
	most := float64(node.MaxSafeInt)
	fields := map[string][]any{}
	for i := range policy.MaxConstrainedFields - 1 {
		fields[fmt.Sprintf("field%d", i)] = []any{most, -most}
	}
	values := make([]any, policy.MaxAllowedValues)
	for i := range values {
		values[i] = float64(i)
	}
	fields[strings.Repeat("ü", policy.MaxCapability)] = values

	b := setup(t)
	agent, _ := b.agent(t, "juno", policy.Assisted)
	grant := b.set(t, policy.NewGrant{
		AgentID: agent.ID, Capability: "disclose.budget", Mode: policy.Allow,
		Constraints: &policy.Constraints{MaxAmount: &most, AllowedValues: fields},
	})
	if *grant.Constraints.MaxAmount != most || len(grant.Constraints.AllowedValues) != policy.MaxConstrainedFields {
		t.Errorf("kept are %v and %d fields", *grant.Constraints.MaxAmount, len(grant.Constraints.AllowedValues))
	}
}

// TestDecisionByOutcome: what was refused and what the owner has to approve.
func TestDecisionByOutcome(t *testing.T) {
	t.Parallel()
	d := policy.Decision{Answers: []policy.Answer{
		{Capability: "message.send", Outcome: policy.Allowed, Reason: policy.ModeAllows},
		{Capability: "disclose.budget", Outcome: policy.Refused, Reason: policy.GrantDenies},
		{Capability: "task.propose", Outcome: policy.Held, Reason: policy.GrantAsks},
	}}
	names, reasons := d.Denied()
	if diff := cmp.Diff([]any{[]string{"disclose.budget"}, map[string]policy.Reason{"disclose.budget": policy.GrantDenies}}, []any{names, reasons}); diff != "" {
		t.Errorf("denied (-want +got):\n%s", diff)
	}
	names, reasons = d.NeedApproval()
	if diff := cmp.Diff([]any{[]string{"task.propose"}, map[string]policy.Reason{"task.propose": policy.GrantAsks}}, []any{names, reasons}); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
}
