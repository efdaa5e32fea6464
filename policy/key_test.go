package policy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
	"agentlink/policy"
)

// TestAuthenticateKey: a key alone finds its agent, and nothing else does.
func TestAuthenticateKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, adaKey := b.agent(t, "ada", "")
	ben, benKey := b.agent(t, "ben", "")
	b.in(t, func(tx node.Tx) error { _, err := b.SetStatus(tx, owner, ben.ID, policy.Disabled); return err })
	b.in(t, func(tx node.Tx) error {
		got, err := b.AuthenticateKey(tx, adaKey)
		if got.ID != ada.ID {
			t.Errorf("the key is of %+v", got)
		}
		return err
	})
	var first *node.Error
	for name, key := range map[string]string{
		"unknown": adaKey + "x", "of a disabled agent": benKey, "empty": "", "a hash": ada.KeyHash, "no text": "a\x00\xff",
	} {
		err := b.refused(t, node.Unauthorized, func(tx node.Tx) error { _, err := b.AuthenticateKey(tx, key); return err })
		if first == nil {
			first = err
		}
		if diff := cmp.Diff(*first, *err); diff != "" {
			t.Errorf("%s: answered differently:\n%s", name, diff)
		}
	}
	if !policy.IsKey(adaKey) || policy.IsKey("ada") {
		t.Error("what looks like a key and what does not are confused")
	}
}
