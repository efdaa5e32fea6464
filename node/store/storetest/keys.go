package storetest

import (
	"crypto/ed25519"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/identity"
	"agentlink/node/store"
	"agentlink/node/token"
)

// Keys is what both databases do for keys that are replaced.
func Keys(t *testing.T, open func(t *testing.T) *store.Store) {
	for name, test := range map[string]func(*testing.T, *store.Store){
		"replaced": keysReplaced, "erased": keysErased, "one at a time": keysOneAtATime,
		"of contacts": keysOfContacts, "offers": keyOffers, "who knows a key": whoKnowsAKey, "told again": toldAgain,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// rotated makes a node with an earlier key and gives its identity and that key.
func rotated(t *testing.T, s *store.Store) (own *identity.Identity, before, after identity.Key) {
	t.Helper()
	own, err := identity.LoadOrCreate(t.Context(), s, s, node.RandomIDs{})
	if err != nil {
		t.Fatal(err)
	}
	inTx(t, s, func(tx node.Tx) (err error) {
		before, after, err = own.Rotate(tx, "owner", "ana.test")
		return err
	})
	return own, before, after
}

func keysReplaced(t *testing.T, s *store.Store) {
	own, before, after := rotated(t, s)
	again, err := identity.LoadOrCreate(t.Context(), s, s, node.RandomIDs{})
	if err != nil {
		t.Fatal(err)
	}
	for name, i := range map[string]*identity.Identity{"at once": own, "after a restart": again} {
		if i.Signer.Fingerprint() != after.Fingerprint || i.Recipient() != after.Recipient || !i.Signer.Holds(before.Fingerprint) || i.First() != before.Fingerprint {
			t.Errorf("%s: %s, %s", name, i.Signer.Fingerprint(), i.Recipient())
		}
	}
	inTx(t, s, func(tx node.Tx) error {
		retired, err := s.RetiredKeys(tx)
		if err != nil {
			return err
		}
		if len(retired) != 1 || retired[0].Fingerprint != before.Fingerprint || retired[0].Number != 1 || retired[0].OwnerID != "owner" || len(retired[0].Seed) != ed25519.SeedSize {
			t.Errorf("retired %d", len(retired))
		}
		keys, err := token.Follow("ana.test", before.PublicKey, []token.Statement{retired[0].Statement}, tx.Now())
		if err != nil || keys[0].Fingerprint != after.Fingerprint {
			t.Errorf("its statement leads to %v, %v", keys, err)
		}
		return nil
	})
}

func keysErased(t *testing.T, s *store.Store) {
	own, before, _ := rotated(t, s)
	inTx(t, s, func(tx node.Tx) error { return own.EraseSeed(tx, before.Fingerprint) })
	var first time.Time
	check := func(wantLetters bool) {
		t.Helper()
		inTx(t, s, func(tx node.Tx) error {
			retired, err := s.RetiredKeys(tx)
			if err != nil {
				return err
			}
			if first.IsZero() {
				first = retired[0].ErasedAt
			}
			r := retired[0]
			if r.Seed != nil || r.ErasedAt.IsZero() || !r.ErasedAt.Equal(first) || (r.AgeIdentity != "") != wantLetters || token.Fingerprint(r.PublicKey) != before.Fingerprint {
				t.Errorf("erased: %v, letters %v", r.ErasedAt, r.AgeIdentity != "")
			}
			return nil
		})
	}
	check(true)
	if own.Signer.Holds(before.Fingerprint) {
		t.Error("it still signs")
	}
	inTx(t, s, func(tx node.Tx) error { return own.EraseSeed(tx, before.Fingerprint) })
	inTx(t, s, func(tx node.Tx) error { return own.EraseAgeIdentity(tx, before.Fingerprint) })
	check(false)
}

// keysOneAtATime: what two replicas rotate at once are two keys after one another.
func keysOneAtATime(t *testing.T, s *store.Store) {
	one, before, _ := rotated(t, s)
	other, err := identity.LoadOrCreate(t.Context(), s, s, node.RandomIDs{})
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 2)
	for _, i := range []*identity.Identity{one, other} {
		go func() {
			failed <- s.InTx(t.Context(), func(tx node.Tx) error {
				_, _, err := i.Rotate(tx, "owner", "ana.test")
				return err
			})
		}()
	}
	for range 2 {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	inTx(t, s, func(tx node.Tx) error {
		links, known, err := one.Chain(tx, before.Fingerprint)
		if len(links) != 3 || !known {
			t.Errorf("a chain of %d", len(links))
		}
		return err
	})
	if err := other.Refresh(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if err := one.Refresh(t.Context(), s); err != nil || one.Signer.Fingerprint() != other.Signer.Fingerprint() {
		t.Errorf("the replicas differ, %v", err)
	}
}

func keysOfContacts(t *testing.T, s *store.Store) {
	c := aConnection("c1")
	c.KnownKey, c.KeyToldAt, c.KeyDeclined, c.RefusedKeys = "k0", start.Add(time.Hour), true, []string{"bad"}
	c.Offer = &coordination.KeyOffer{Fingerprint: "k1", PublicKey: []byte{3}, Recipient: "age1y", Via: []string{"v"}, At: start, Disputed: "d"}
	c.Peer.Earlier = []coordination.EarlierKey{{Fingerprint: "e", PublicKey: []byte{9}, Until: start}}
	insertConnection(t, s, c)
	inTx(t, s, func(tx node.Tx) error {
		got, err := s.Connection(tx, "c1")
		if diff := cmp.Diff(c, got); diff != "" {
			t.Errorf("what was inserted (-want +got):\n%s", diff)
		}
		return err
	})
	inTx(t, s, func(tx node.Tx) error {
		locked, err := s.LockConnection(tx, "c1")
		if err != nil {
			return err
		}
		locked.Peer.Fingerprint, locked.Offer, locked.KnownKey, locked.KeyDeclined, locked.KeyToldAt = "k1", nil, "k9", false, time.Time{}
		c = locked
		return s.SaveConnection(tx, locked, locked.Status)
	})
	inTx(t, s, func(tx node.Tx) error {
		got, err := s.ConnectionsByKey(tx, "k1")
		if diff := cmp.Diff([]coordination.Connection{c}, got); diff != "" {
			t.Errorf("what was saved (-want +got):\n%s", diff)
		}
		old, oldErr := s.ConnectionsByKey(tx, "f")
		if len(old) != 0 || oldErr != nil {
			t.Errorf("the earlier key finds %d, %v", len(old), oldErr)
		}
		return err
	})
}

func keyOffers(t *testing.T, s *store.Store) {
	for i, id := range []string{"c1", "c2", "c3"} {
		c := aConnection(id)
		c.CreatedAt = start.Add(time.Duration(i) * time.Minute)
		if id != "c2" {
			c.Offer = &coordination.KeyOffer{Fingerprint: id}
		}
		insertConnection(t, s, c)
	}
	inTx(t, s, func(tx node.Tx) error {
		count, err := s.CountKeyOffers(tx)
		if count != 2 {
			t.Errorf("%d offers", count)
		}
		first, firstErr := s.KeyOffers(tx, coordination.Page{Limit: 1})
		if firstErr != nil || len(first) != 1 || first[0].ID != "c3" {
			t.Errorf("the first page has %v, %v", first, firstErr)
			return err
		}
		next, nextErr := s.KeyOffers(tx, coordination.Page{Limit: 5, BeforeAt: first[0].CreatedAt, BeforeID: first[0].ID})
		if nextErr != nil || len(next) != 1 || next[0].ID != "c1" {
			t.Errorf("the next page has %v, %v", next, nextErr)
		}
		return err
	})
}

func whoKnowsAKey(t *testing.T, s *store.Store) {
	for id, change := range map[string]func(*coordination.Connection){
		"active": func(*coordination.Connection) {}, "asked": func(c *coordination.Connection) { c.Status = coordination.PendingOutgoing },
		"over":  func(c *coordination.Connection) { c.Status = coordination.ConnRevoked },
		"owing": func(c *coordination.Connection) { c.Status = coordination.ConnRevoked },
		"newer": func(c *coordination.Connection) { c.KnownKey = "k1" },
	} {
		c := aConnection(id)
		change(&c)
		insertConnection(t, s, c)
	}
	inTx(t, s, func(tx node.Tx) error {
		m := aMessage("m1")
		m.ConnectionID = "owing"
		return s.InsertMessage(tx, m)
	})
	inTx(t, s, func(tx node.Tx) error { return s.FillKnownKey(tx, "k0") })
	inTx(t, s, func(tx node.Tx) error {
		list, err := s.KnowKey(tx, "k0", 10)
		found := map[string]bool{}
		for _, c := range list {
			found[c.ID] = true
		}
		if diff := cmp.Diff(map[string]bool{"active": true, "asked": true, "owing": true}, found); diff != "" {
			t.Error(diff)
		}
		one, oneErr := s.KnowKey(tx, "k0", 1)
		if len(one) != 1 || oneErr != nil {
			t.Errorf("%d, %v", len(one), oneErr)
		}
		newer, newerErr := s.KnowKey(tx, "k1", 10)
		if len(newer) != 1 || newerErr != nil {
			t.Errorf("%d know the newer, %v", len(newer), newerErr)
		}
		return err
	})
}

func toldAgain(t *testing.T, s *store.Store) {
	for id, at := range map[string]time.Time{"never": {}, "early": start, "late": start.Add(time.Hour)} {
		c := aConnection(id)
		c.KeyToldAt = at
		insertConnection(t, s, c)
	}
	inTx(t, s, func(tx node.Tx) error {
		list, err := s.TellKeyAgain(tx, start.Add(time.Minute), 10)
		if len(list) != 1 || list[0].ID != "early" {
			t.Errorf("%d are told again", len(list))
		}
		return err
	})
}
