package token

import (
	"crypto/ed25519"
	"strings"
	"testing"
	"time"

	"agentlink/node"
)

var rotatedAt = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func stated(t testing.TB, old, next *Signer, host string) Statement {
	t.Helper()
	statement, err := NewStatement(old, next, host, "age1x", rotatedAt)
	if err != nil {
		t.Fatal(err)
	}
	return statement
}

func TestFollow(t *testing.T) {
	t.Parallel()
	one, two, three := newSigner(t), newSigner(t), newSigner(t)
	chain := []Statement{stated(t, one, two, "ana.test"), stated(t, two, three, "ana.test")}
	keys, err := Follow("ana.test", one.PublicKey(), chain, rotatedAt)
	if err != nil || len(keys) != 2 || keys[0].Fingerprint != two.Fingerprint() || keys[1].Fingerprint != three.Fingerprint() || keys[1].Recipient != "age1x" {
		t.Fatalf("%v, %v", keys, err)
	}
	other := newSigner(t)
	for name, bad := range map[string]struct {
		host  string
		known ed25519.PublicKey
		chain []Statement
		now   time.Time
	}{
		"nothing":           {"ana.test", one.PublicKey(), nil, rotatedAt},
		"another host":      {"ben.test", one.PublicKey(), chain, rotatedAt},
		"another key":       {"ana.test", other.PublicKey(), chain, rotatedAt},
		"from the middle":   {"ana.test", one.PublicKey(), chain[1:], rotatedAt},
		"the order":         {"ana.test", one.PublicKey(), []Statement{chain[1], chain[0]}, rotatedAt},
		"twice":             {"ana.test", one.PublicKey(), []Statement{chain[0], chain[0]}, rotatedAt},
		"a ring":            {"ana.test", one.PublicKey(), append(chain[:2:2], stated(t, three, one, "ana.test")), rotatedAt},
		"to itself":         {"ana.test", one.PublicKey(), []Statement{stated(t, one, one, "ana.test")}, rotatedAt},
		"before its time":   {"ana.test", one.PublicKey(), chain, rotatedAt.Add(-time.Hour)},
		"without the proof": {"ana.test", one.PublicKey(), []Statement{{Old: chain[0].Old}}, rotatedAt},
		"another's proof":   {"ana.test", one.PublicKey(), []Statement{{Old: chain[0].Old, New: stated(t, one, other, "ana.test").New}}, rotatedAt},
		"proof as the word": {"ana.test", one.PublicKey(), []Statement{{Old: chain[0].New, New: chain[0].Old}}, rotatedAt},
	} {
		if keys, err := Follow(bad.host, bad.known, bad.chain, bad.now); err == nil {
			t.Errorf("%s: leads to %v", name, keys)
		}
	}
}

// TestSuccessionIsNoOtherKind: a statement passes for nothing else that a key signs.
func TestSuccessionIsNoOtherKind(t *testing.T) {
	t.Parallel()
	one, two := newSigner(t), newSigner(t)
	statement := stated(t, one, two, "ana.test")
	for _, kind := range []Kind{Access, Envelope, Ack, Receipt, Card, AuditHead, possessed} {
		var claims any
		if err := Open(kind, one.PublicKey(), statement.Old, &claims); node.CodeOf(err) != node.Unauthorized {
			t.Errorf("taken as %s: %v", kind, err)
		}
	}
}

func TestSignAs(t *testing.T) {
	t.Parallel()
	old, today := newSigner(t), newSigner(t)
	oldKey, todayKey := old.keys.Load().today.private, today.keys.Load().today.private
	s := NewSigner(oldKey)
	s.Replace(todayKey, []Earlier{{Public: old.PublicKey(), Private: oldKey}})
	for as, key := range map[string]ed25519.PublicKey{"": today.PublicKey(), today.Fingerprint(): today.PublicKey(), old.Fingerprint(): old.PublicKey()} {
		compact, err := s.SignAs(as, Ack, map[string]string{})
		if err != nil || Open(Ack, key, compact, &map[string]string{}) != nil || SignedWith(Ack, compact) != Fingerprint(key) {
			t.Errorf("as %q: %v", as, err)
		}
		if s.OpenOwn(Ack, compact, &map[string]string{}) != nil || s.OpenOwn(Card, compact, &map[string]string{}) == nil {
			t.Errorf("as %q it is not its own", as)
		}
	}
	if _, err := s.SignAs(newSigner(t).Fingerprint(), Ack, map[string]string{}); node.CodeOf(err) != node.Unavailable {
		t.Errorf("as somebody else: %v", err)
	}
	stranger, err := newSigner(t).Sign(Ack, map[string]string{})
	if err != nil || s.OpenOwn(Ack, stranger, &map[string]string{}) == nil || SignedWith(Ack, strings.ToUpper(stranger)) != "" {
		t.Errorf("a stranger's: %v", err)
	}
	if got := s.KeyOf(old.Fingerprint()); !got.Equal(old.PublicKey()) || !s.KeyOf("unknown").Equal(today.PublicKey()) {
		t.Error("KeyOf gives another key")
	}
}

// FuzzFollow: statements of anybody end in a refusal or lead to a usable key.
func FuzzFollow(f *testing.F) {
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		f.Fatal(err)
	}
	one := NewSigner(private)
	statement := stated(f, one, newSigner(f), "ana.test")
	f.Add(statement.Old, statement.New)
	f.Add("", "")
	f.Add(statement.New, statement.Old)
	f.Fuzz(func(t *testing.T, old, next string) {
		keys, err := Follow("ana.test", one.PublicKey(), []Statement{{Old: old, New: next}}, rotatedAt)
		if err != nil {
			return
		}
		if _, err := ParseKey(keys[0].Key); err != nil || keys[0].Fingerprint != Fingerprint(keys[0].Key) {
			t.Errorf("leads to %v", keys)
		}
	})
}
