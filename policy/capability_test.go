package policy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlink/policy"
)

func TestValidCapability(t *testing.T) {
	t.Parallel()
	valid := append([]string{
		"disclose.shoe-size_2", "disclose." + strings.Repeat("a", 119), "action.pay", "action.my.own-1.thing_2", "action." + strings.Repeat("a", 121),
	}, policy.Known...)
	for _, name := range valid {
		if !policy.ValidCapability(name) || !policy.ValidPattern(name) {
			t.Errorf("%q is refused", name)
		}
	}
	invalid := []string{
		"", "root", "message", "message.read", "task", "task.", "task.confirm", "connection.accept", "disclose", "disclose.", "disclose.a.b",
		"disclose.Dietary", "disclose.é", "disclose.a b", "disclose.a\n", "action", "action.", "action..pay", "action.pay.", "action.Pay",
		"disclose." + strings.Repeat("a", 120), "action." + strings.Repeat("a", 122), " message.send",
	}
	for _, name := range invalid {
		if policy.ValidCapability(name) || policy.ValidPattern(name) {
			t.Errorf("%q is accepted", name)
		}
	}
}

func TestWildcards(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"task.*", "disclose.*", "action.*", "action.reservation.*", "action.a.b-c.d_1.*", "action." + strings.Repeat("a", 119) + ".*"} {
		if !policy.ValidPattern(pattern) || policy.ValidCapability(pattern) {
			t.Errorf("%q: pattern %v, capability %v", pattern, policy.ValidPattern(pattern), policy.ValidCapability(pattern))
		}
	}
	for _, pattern := range []string{"*", "*.*", "message.*", "connection.*", "disclose.a.*", "task.a.*", "action.*.book", "action.**", "action..*", "action.A.*", "action." + strings.Repeat("a", 120) + ".*"} {
		if policy.ValidPattern(pattern) {
			t.Errorf("%q is accepted", pattern)
		}
	}
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	for capability, want := range map[string][]string{
		"message.send":            {"message.send"},
		"connection.request":      {"connection.request"},
		"task.propose":            {"task.propose", "task.*"},
		"disclose.dietary":        {"disclose.dietary", "disclose.*"},
		"action.pay":              {"action.pay", "action.*"},
		"action.reservation.book": {"action.reservation.book", "action.reservation.*", "action.*"},
	} {
		if diff := cmp.Diff(want, policy.Patterns(capability)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", capability, diff)
		}
	}
}
