package token_test

import (
	"crypto/ed25519"
	"testing"
	"time"

	"agentlink/node"
	"agentlink/node/nodetest/tokentest"
	"agentlink/node/token"
)

// TestMutantsOfAccessTokens (S14): none of more than 60 kinds of wrong token is
// taken, though all but a few are signed with the node's own key.
func TestMutantsOfAccessTokens(t *testing.T) {
	t.Parallel()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	forge := tokentest.Forge{Key: key, URL: "http://localhost:7410", Sub: "agent-1", Gen: 1, Time: now}
	tokens := token.NewTokens(token.NewSigner(key), forge.URL)
	if _, err := tokens.Check(forge.Good(), now); err != nil {
		t.Fatalf("the token that all mutants come from: %v", err)
	}
	mutants := forge.Mutants()
	if len(mutants) < 60 {
		t.Fatalf("%d mutants", len(mutants))
	}
	for _, m := range mutants {
		got, err := tokens.Check(m.Compact, now)
		if node.CodeOf(err) != node.Unauthorized || err == nil || got != (token.AccessClaims{}) {
			t.Errorf("%s: %+v, %v", m.Name, got, err)
		}
	}
}
