package requirement

import (
	"testing"
	"time"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/audit"
)

const ana, ben, cleo = "ana.test", "ben.test", "cleo.test"

func neighbours(t *testing.T) (*village, *house, *house) {
	t.Parallel()
	v := newVillage(t, ana, ben)
	v.link(ana, ben)
	return v, v.houses[ana], v.houses[ben]
}

// TestNewKeyIsAccepted: until the other owner has accepted it nothing changes for
// either side; then the new key counts, and the old one is erased.
func TestNewKeyIsAccepted(t *testing.T) {
	v, a, b := neighbours(t)
	v.talk(ana, ben, "before")
	done := a.rotate()
	if done.Told != 1 || done.After == done.Before || a.identity.Signer.Fingerprint() != done.After {
		t.Fatalf("%+v", done)
	}
	v.talk(ana, ben, "not decided")
	c := b.with(ana)
	if c.Offer == nil || c.Offer.Fingerprint != done.After || c.Peer.Fingerprint != done.Before || c.KeyChanged {
		t.Fatalf("Ben sees %+v", c)
	}
	if err := b.accept(ana, done.Before); node.CodeOf(err) != node.Conflict {
		t.Errorf("another key than the one that was seen: %v", err)
	}
	v.must(b.accept(ana, done.After))
	if c := b.with(ana); c.Peer.Fingerprint != done.After || c.Offer != nil || c.Peer.Recipient != a.identity.Recipient() {
		t.Errorf("accepted, Ben has %+v", c)
	}
	v.talk(ana, ben, "accepted")
	if c := a.with(ben); c.KnownKey != done.After || !c.KeyToldAt.IsZero() {
		t.Errorf("Ana has %+v", c)
	}
	a.tidy()
	if a.identity.Signer.Holds(done.Before) {
		t.Error("the old key is still there")
	}
	v.talk(ana, ben, "erased")
	if err := b.accept(ana, done.After); node.CodeOf(err) != node.Conflict {
		t.Errorf("accepted twice: %v", err)
	}
	for h, types := range map[*house][]audit.Type{
		a: {audit.KeyRotated, audit.ConnectionKeyKnown, audit.KeyErased}, b: {audit.ConnectionKeyOffered, audit.ConnectionKeyAccepted},
	} {
		for _, typ := range types {
			if count := h.events(typ); count != 1 {
				t.Errorf("%s: %d of %s", h.host, count, typ)
			}
		}
	}
}

// TestNewKeysOfBoth: both owners replace their keys before either has decided.
func TestNewKeysOfBoth(t *testing.T) {
	v, a, b := neighbours(t)
	ofA, ofB := a.rotate(), b.rotate()
	v.talk(ana, ben, "both")
	v.must(b.accept(ana, ofA.After))
	v.talk(ana, ben, "one has accepted")
	v.must(a.accept(ben, ofB.After))
	v.talk(ana, ben, "both have")
	if a.with(ben).KnownKey != ofA.After || b.with(ana).KnownKey != ofB.After {
		t.Errorf("known as %s and %s", a.with(ben).KnownKey, b.with(ana).KnownKey)
	}
}

// TestNewKeyIsRefused: what comes under the old key counts as before, the same key
// is not asked about again, and after 30 days the old one is gone.
func TestNewKeyIsRefused(t *testing.T) {
	v, a, b := neighbours(t)
	done := a.rotate()
	v.settle()
	v.must(b.refuse(ana, done.After))
	v.settle()
	if c := a.with(ben); !c.KeyDeclined || c.KnownKey != done.Before || !c.KeyToldAt.IsZero() {
		t.Errorf("Ana sees %+v", c)
	}
	v.talk(ana, ben, "refused")
	// As a node that has forgotten the answer.
	a.change(ben, func(c *coordination.Connection) { c.KeyDeclined, c.KeyToldAt = false, v.clock.Now() })
	v.clock.Advance(25 * time.Hour)
	a.tidy()
	v.settle()
	if !a.with(ben).KeyDeclined {
		t.Error("told again, Ana has no answer")
	}
	if c := b.with(ana); c.Offer != nil || c.Peer.Fingerprint != done.Before {
		t.Errorf("told again, Ben sees %+v", c)
	}
	v.clock.Advance(coordination.KeyPatience)
	a.tidy()
	c := a.with(ben)
	if a.identity.Signer.Holds(done.Before) || !c.KeyChanged {
		t.Errorf("after 30 days Ana holds it: %v, %+v", a.identity.Signer.Holds(done.Before), c)
	}
	err := a.store.InTx(t.Context(), func(tx node.Tx) error {
		_, err := a.coordination.SendMessage(tx, a.asOwner(), c.ID, "too late")
		return err
	})
	if node.CodeOf(err) != node.Conflict {
		t.Errorf("sent all the same: %v", err)
	}
	// The way out: who still has the old key ends the connection, and asks anew.
	b.leave(ana)
	v.settle()
	v.link(ben, ana)
	v.talk(ana, ben, "again")
	if b.with(ana).Peer.Fingerprint != done.After {
		t.Error("connected with another key")
	}
}

// TestNewKeyBeforeTheLastWasDecided: the newer one takes the place of the other, in
// whichever order the two arrive, and a decision about the older one leads on.
func TestNewKeyBeforeTheLastWasDecided(t *testing.T) {
	v, a, b := neighbours(t)
	first := a.rotate()
	v.settle()
	second := a.rotate()
	v.settle()
	if c := b.with(ana); c.Offer == nil || c.Offer.Fingerprint != second.After || c.Offer.Disputed != "" {
		t.Fatalf("Ben sees %+v", c.Offer)
	}
	if err := b.accept(ana, first.After); node.CodeOf(err) != node.Conflict {
		t.Errorf("the one that was overtaken: %v", err)
	}
	v.must(b.accept(ana, second.After))
	v.talk(ana, ben, "two steps at once")
	if a.with(ben).KnownKey != second.After {
		t.Error("Ana does not know that Ben has accepted")
	}
	// The next: accepted while the one after it is already made, but not told.
	third := a.rotate()
	v.settle()
	b.down = true
	fourth := a.rotate()
	v.run()
	b.down = false
	v.must(b.accept(ana, third.After))
	v.settle()
	if c := b.with(ana); c.Offer == nil || c.Offer.Fingerprint != fourth.After || c.Peer.Fingerprint != third.After {
		t.Fatalf("Ben sees %+v", c)
	}
	v.talk(ana, ben, "between two keys")
	v.must(b.accept(ana, fourth.After))
	v.talk(ana, ben, "the fourth")
	a.tidy()
	for _, old := range []string{first.Before, first.After, second.After, third.After} {
		if a.identity.Signer.Holds(old) {
			t.Errorf("%s is still there", old)
		}
	}
}

// TestPeerIsAwayWhileTheKeyChanges: it is told when it is back, and again each day
// until it has decided.
func TestPeerIsAwayWhileTheKeyChanges(t *testing.T) {
	v, a, b := neighbours(t)
	b.down = true
	done := a.rotate()
	waiting := a.say(ben, "while you were away")
	v.settle()
	v.clock.Advance(5 * 24 * time.Hour)
	a.tidy()
	b.down = false
	v.settle()
	if c := b.with(ana); c.Offer == nil || c.Offer.Fingerprint != done.After {
		t.Fatalf("back, Ben sees %+v", c.Offer)
	}
	if a.status(waiting) != coordination.MsgDelivered || b.heard(ana, "while you were away") != 1 {
		t.Error("what waited has not arrived")
	}
	// Ben's node loses what it was told, as a restore would.
	b.change(ana, func(c *coordination.Connection) { c.Offer = nil })
	v.clock.Advance(25 * time.Hour)
	a.tidy()
	v.settle()
	v.must(b.accept(ana, done.After))
	v.talk(ana, ben, "told again")
}

// TestMessagesUnderWayWhenTheKeyIsAccepted: bytes under the old key that had arrived
// get their answer; those that had not are signed anew, and none counts twice.
func TestMessagesUnderWayWhenTheKeyIsAccepted(t *testing.T) {
	v, a, b := neighbours(t)
	done := a.rotate()
	v.settle()
	arrived := a.say(ben, "the answer is lost")
	v.lost = func(host string, e wire.Envelope) bool { return e.JTI == arrived }
	v.run()
	v.lost = nil
	// This one leaves under the old key, and the line breaks before it is there.
	cut := a.say(ben, "cut off")
	b.breaks = true
	v.run()
	b.breaks = false
	v.must(b.accept(ana, done.After))
	back := b.say(ana, "from Ben meanwhile")
	v.settle()
	for text, id := range map[string]string{"the answer is lost": arrived, "cut off": cut} {
		if b.heard(ana, text) != 1 || a.status(id) != coordination.MsgDelivered {
			t.Errorf("%q was heard %d times and is %s", text, b.heard(ana, text), a.status(id))
		}
	}
	if a.heard(ben, "from Ben meanwhile") != 1 || b.status(back) != coordination.MsgDelivered {
		t.Error("Ben's message has not arrived")
	}
}

// TestStoredAnswersUnderANewKey: an answer that was stored under the old key, and got
// lost on its way, is given again under the one that the contact knows by then.
func TestStoredAnswersUnderANewKey(t *testing.T) {
	v, a, b := neighbours(t)
	id := b.say(ana, "its answer is lost")
	v.lost = func(_ string, e wire.Envelope) bool { return e.JTI == id }
	done := a.rotate()
	v.settle()
	v.must(b.accept(ana, done.After))
	v.settle()
	a.tidy()
	if b.status(id) != coordination.MsgQueued || a.identity.Signer.Holds(done.Before) {
		t.Fatalf("the message is %s", b.status(id))
	}
	v.lost = nil
	v.settle()
	if b.status(id) != coordination.MsgDelivered || a.heard(ben, "its answer is lost") != 1 {
		t.Errorf("it is %s, and was heard %d times", b.status(id), a.heard(ben, "its answer is lost"))
	}
}

// TestNewKeyAndPendingConnections: a request that nobody has answered is made anew
// under the new key; one that has arrived goes on under the old, and its contact is
// told once it has accepted.
func TestNewKeyAndPendingConnections(t *testing.T) {
	t.Parallel()
	v := newVillage(t, ana, ben, cleo)
	a, b, c := v.houses[ana], v.houses[ben], v.houses[cleo]
	v.ask(ana, ben)
	v.settle() // it has arrived at Ben's
	c.breaks = true
	v.ask(ana, cleo)
	v.run() // it may have arrived at Cleo's, for all that Ana knows
	c.breaks = false
	done := a.rotate()
	v.settle()
	if got := c.with(ana); got.Status != coordination.PendingIncoming || got.Peer.Fingerprint != done.After {
		t.Errorf("Cleo has %+v", got)
	}
	b.welcome(ana)
	c.welcome(ana)
	v.settle()
	if got := b.with(ana); got.Offer == nil || got.Offer.Fingerprint != done.After {
		t.Fatalf("Ben was not told: %+v", got)
	}
	v.talk(ana, ben, "under the old key")
	v.must(b.accept(ana, done.After))
	v.talk(ana, ben, "under the new one")
	v.talk(ana, cleo, "under the new one")
}

// TestManyKeys: too many that are not decided about are refused, and one decision
// leads over all of them.
func TestManyKeys(t *testing.T) {
	v, a, b := neighbours(t)
	b.down = true
	for range 20 {
		err := a.store.InTx(t.Context(), func(tx node.Tx) error {
			_, err := a.coordination.RotateKey(tx, a.owner)
			return err
		})
		if node.CodeOf(err) == node.Conflict {
			b.down = false
			v.settle()
			v.must(b.accept(ana, a.identity.Signer.Fingerprint()))
			v.talk(ana, ben, "after many keys")
			return
		}
		v.must(err)
	}
	t.Error("keys without an end")
}

// TestLettersForTheOldKey: what was sealed for the old recipient can be opened for as
// long as it may be under way.
func TestLettersForTheOldKey(t *testing.T) {
	v, a, b := neighbours(t)
	b.breaks, a.breaks = false, true
	id := b.say(ana, "sealed for the old key")
	v.run() // kept as it was sealed
	a.breaks = false
	done := a.rotate()
	v.settle()
	v.must(b.accept(ana, done.After))
	v.settle()
	a.tidy()
	if a.heard(ben, "sealed for the old key") != 1 || b.status(id) != coordination.MsgDelivered {
		t.Error("it could not be read")
	}
	v.clock.Advance(coordination.LettersLife + time.Hour)
	a.tidy()
	a.write(func(tx node.Tx) error {
		retired, err := a.identity.Retired(tx)
		if len(retired) != 1 || retired[0].AgeIdentity != "" || retired[0].Seed != nil {
			t.Errorf("kept for ever: %d", len(retired))
		}
		return err
	})
}
