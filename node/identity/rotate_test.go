package identity

import (
	"bytes"
	"testing"

	"agentlink/node"
	"agentlink/node/seal"
	"agentlink/node/token"
)

const host = "ana.test"

func rotate(t *testing.T, s *shelf, i *Identity) (before, after Key) {
	t.Helper()
	err := s.InTx(t.Context(), func(tx node.Tx) (err error) {
		before, after, err = i.Rotate(tx, "owner", host)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return before, after
}

// TestRotate: the new keys are used from the commit on, the old ones still sign for
// those who know them, and what was sealed for them is opened.
func TestRotate(t *testing.T) {
	t.Parallel()
	s := &shelf{}
	i := mustLoad(t, s)
	first, letter := i.Signer.Fingerprint(), sealedFor(t, i.Recipient())
	before, after := rotate(t, s, i)
	if before.Fingerprint != first || after.Fingerprint == first || i.Signer.Fingerprint() != after.Fingerprint || i.Recipient() != after.Recipient || after.Recipient == before.Recipient {
		t.Errorf("%s, then %s; used %s", before.Fingerprint, after.Fingerprint, i.Signer.Fingerprint())
	}
	compact, err := i.Signer.SignAs(first, token.Ack, map[string]string{"ref": "1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := token.Open(token.Ack, before.PublicKey, compact, &map[string]string{}); err != nil {
		t.Error(err)
	}
	for name, reader := range map[string]*Identity{"at once": i, "after a restart": mustLoad(t, s)} {
		for _, sealed := range [][]byte{letter, sealedFor(t, after.Recipient)} {
			if opened, err := reader.Open(sealed); err != nil || string(opened) != "hello" {
				t.Errorf("%s: %q, %v", name, opened, err)
			}
		}
		if reader.First() != first {
			t.Errorf("%s its first key is %s", name, reader.First())
		}
	}
}

func sealedFor(t *testing.T, recipient string) []byte {
	t.Helper()
	sealed, err := seal.ToRecipient(recipient, []byte("hello"))
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

// TestRotateRolledBack: what is not committed is not used.
func TestRotateRolledBack(t *testing.T) {
	t.Parallel()
	s := &shelf{}
	i := mustLoad(t, s)
	first := i.Signer.Fingerprint()
	broken := node.Errorf(node.Unavailable, "The disk is full.")
	err := s.InTx(t.Context(), func(tx node.Tx) error {
		if _, _, err := i.Rotate(tx, "owner", host); err != nil {
			t.Error(err)
		}
		return broken
	})
	if node.CodeOf(err) != node.Unavailable || i.Signer.Fingerprint() != first || mustLoad(t, s).Signer.Fingerprint() != first {
		t.Errorf("%v, and the key is %s", err, i.Signer.Fingerprint())
	}
}

// TestChain leads from each key that the node ever had to today's.
func TestChain(t *testing.T) {
	t.Parallel()
	s := &shelf{}
	i := mustLoad(t, s)
	var keys []Key
	for range 3 {
		before, _ := rotate(t, s, i)
		keys = append(keys, before)
	}
	err := s.View(t.Context(), func(tx node.Tx) error {
		for at, key := range keys {
			links, known, err := i.Chain(tx, key.Fingerprint)
			if err != nil || !known || len(links) != len(keys)-at {
				t.Errorf("from key %d: %d links, %v, %v", at, len(links), known, err)
				continue
			}
			var chain []token.Statement
			for _, link := range links {
				chain = append(chain, link.Statement)
			}
			passed, err := token.Follow(host, key.PublicKey, chain, tx.Now())
			if err != nil || passed[len(passed)-1].Fingerprint != i.Signer.Fingerprint() || passed[0].Fingerprint != links[0].To {
				t.Errorf("from key %d: %v", at, err)
			}
		}
		if links, known, err := i.Chain(tx, i.Signer.Fingerprint()); err != nil || !known || len(links) != 0 {
			t.Errorf("from today's: %v, %v, %v", links, known, err)
		}
		if links, known, err := i.Chain(tx, "another"); err != nil || known || len(links) != 0 {
			t.Errorf("from another node's: %v, %v, %v", links, known, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestErasedKeys sign and open nothing any more, and are still known as the node's.
func TestErasedKeys(t *testing.T) {
	t.Parallel()
	s := &shelf{}
	i := mustLoad(t, s)
	letter := sealedFor(t, i.Recipient())
	signed, err := i.Signer.Sign(token.Ack, map[string]string{"ref": "1"})
	if err != nil {
		t.Fatal(err)
	}
	before, _ := rotate(t, s, i)
	for _, erase := range []func(node.Tx, string) error{i.EraseSeed, i.EraseAgeIdentity} {
		if err := s.InTx(t.Context(), func(tx node.Tx) error { return erase(tx, before.Fingerprint) }); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := i.Signer.SignAs(before.Fingerprint, token.Ack, map[string]string{}); node.CodeOf(err) != node.Unavailable {
		t.Errorf("signed with an erased key: %v", err)
	}
	if _, err := i.Open(letter); err == nil {
		t.Error("a letter for an erased key was opened")
	}
	if err := i.Signer.OpenOwn(token.Ack, signed, &map[string]string{}); err != nil {
		t.Errorf("what it signed before: %v", err)
	}
	if key, ours := i.Signer.Key(before.Fingerprint); !ours || !bytes.Equal(key, before.PublicKey) {
		t.Error("it is not known any more")
	}
}

// TestTooManyKeys: not more are in use at once than one announcement can name.
func TestTooManyKeys(t *testing.T) {
	t.Parallel()
	s := &shelf{}
	i := mustLoad(t, s)
	for range MaxUnerased {
		rotate(t, s, i)
	}
	err := s.InTx(t.Context(), func(tx node.Tx) error {
		_, _, err := i.Rotate(tx, "owner", host)
		return err
	})
	if node.CodeOf(err) != node.Conflict {
		t.Errorf("one more: %v", err)
	}
}

// TestDamagedRetiredKeys keep a node from starting.
func TestDamagedRetiredKeys(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(*Retired){
		"another public key": func(r *Retired) { r.PublicKey = append([]byte{1}, r.PublicKey[1:]...) },
		"another name":       func(r *Retired) { r.Fingerprint = "x" },
		"an age identity":    func(r *Retired) { r.AgeIdentity = r.AgeIdentity[:40] },
	} {
		s := &shelf{}
		rotate(t, s, mustLoad(t, s))
		damage(&s.retired[0])
		if _, err := LoadOrCreate(t.Context(), s, s, node.RandomIDs{}); node.CodeOf(err) != node.Internal || err == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
