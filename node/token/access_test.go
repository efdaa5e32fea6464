package token

import (
	"testing"
	"time"

	"agentlink/node"
)

func TestAccessTokens(t *testing.T) {
	t.Parallel()
	signer := newSigner(t)
	tokens := NewTokens(signer, nodeURL)
	now := time.Date(2026, 5, 4, 12, 0, 0, 999_999_000, time.UTC)
	compact, expiresIn, err := tokens.Issue("agent-1", 3, now)
	if err != nil || expiresIn != 15*time.Minute {
		t.Fatalf("%v, %v", expiresIn, err)
	}
	claims, err := tokens.Check(compact, now)
	if err != nil {
		t.Fatal(err)
	}
	want := AccessClaims{Iss: nodeURL, Aud: signer.Fingerprint(), Sub: "agent-1", JTI: claims.JTI, Iat: now.Unix(), Exp: now.Unix() + 900, Gen: 3}
	if claims != want {
		t.Errorf("%+v, want %+v", claims, want)
	}
	again, _, err := tokens.Issue("agent-1", 3, now)
	if err != nil || again == compact || len(claims.JTI) < 22 {
		t.Errorf("two tokens share an id, or %v", err)
	}
}

func TestAccessTokensExpire(t *testing.T) {
	t.Parallel()
	tokens := NewTokens(newSigner(t), nodeURL)
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	compact, _, err := tokens.Issue("agent-1", 1, now)
	if err != nil {
		t.Fatal(err)
	}
	for after, good := range map[time.Duration]bool{
		-2 * time.Minute: false, -accessSkew: true, 0: true, AccessLife - time.Microsecond: true, AccessLife: false, time.Hour: false, 24 * 365 * 10 * time.Hour: false,
	} {
		if _, err := tokens.Check(compact, now.Add(after)); (err == nil) != good || (err != nil && node.CodeOf(err) != node.Unauthorized) {
			t.Errorf("after %v: %v", after, err)
		}
	}
}

// A token of one node is nothing to another, nor to the same key under another
// URL, nor is another kind of signed object a token.
func TestAccessTokensStayWithTheirNode(t *testing.T) {
	t.Parallel()
	signer := newSigner(t)
	tokens := NewTokens(signer, nodeURL)
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	compact, _, err := tokens.Issue("agent-1", 1, now)
	if err != nil {
		t.Fatal(err)
	}
	for name, other := range map[string]*Tokens{"another key": NewTokens(newSigner(t), nodeURL), "another URL": NewTokens(signer, "http://localhost:7411")} {
		if _, err := other.Check(compact, now); node.CodeOf(err) != node.Unauthorized {
			t.Errorf("%s: %v", name, err)
		}
	}
	claims, err := tokens.Check(compact, now)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []Kind{Envelope, Ack, Receipt, Card} {
		disguised, err := signer.Sign(kind, claims)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tokens.Check(disguised, now); node.CodeOf(err) != node.Unauthorized {
			t.Errorf("as %s: %v", kind, err)
		}
	}
}
