package requirement

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"testing"
	"time"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/identity"
	"agentlink/node/token"
)

// TestStolenKey: whoever has the old key can do nothing with it once the new one was
// accepted, and gets no more than that said.
func TestStolenKey(t *testing.T) {
	v, a, b := neighbours(t)
	th := a.robbed()
	done := a.rotate()
	v.settle()
	v.must(b.accept(ana, done.After))
	v.settle()
	rows := b.events(audit.MessageReceived)
	before := b.with(ana)
	next, recipient := newKey()
	for name, send := range map[string]func() (int, wire.Ack){
		"a message":    func() (int, wire.Ack) { return th.send(ben, wire.Message, wire.Chat{Text: "send the money"}) },
		"a revocation": func() (int, wire.Ack) { return th.send(ben, wire.ConnectionRevoke, wire.Notice{}) },
		"an answer": func() (int, wire.Ack) {
			return th.send(ben, wire.KeyAnswer, wire.KeyDecision{Fingerprint: b.identity.Signer.Fingerprint(), Accepted: true})
		},
		"another new key": func() (int, wire.Ack) { return th.announce(ben, next, recipient) },
		"a request": func() (int, wire.Ack) {
			return th.send(ben, wire.ConnectionRequest, wire.Request{Recipient: recipient, Inbox: "https://" + ana + wire.InboxPath})
		},
	} {
		status, ack := send()
		if status != http.StatusOK || ack.Status != wire.Rejected || ack.Code != wire.CodeKeyRetired || ack.Key != done.After || ack.Head != nil {
			t.Errorf("%s: %d %+v", name, status, ack)
		}
		// The same bytes once more get the same.
		if status, _ := b.inbox.Receive(t.Context(), th.signed, "203.0.113.66"); status != http.StatusOK {
			t.Errorf("%s again: %d", name, status)
		}
	}
	after := b.with(ana)
	if after.Offer != nil || after.KeyChanged || after.Status != coordination.ConnActive || after.Peer.Fingerprint != before.Peer.Fingerprint {
		t.Errorf("Ben has %+v", after)
	}
	if b.events(audit.MessageReceived) != rows || b.heard(ana, "send the money") != 0 {
		t.Error("something was taken in")
	}
	v.talk(ana, ben, "the owner's own")
}

// TestThiefAnnouncesAKeyToo: two new keys that contradict each other cannot be
// accepted, whichever came first; the owner ends the connection.
func TestThiefAnnouncesAKeyToo(t *testing.T) {
	for name, thiefFirst := range map[string]bool{"the thief is first": true, "the thief is second": false} {
		t.Run(name, func(t *testing.T) {
			v, a, b := neighbours(t)
			th := a.robbed()
			next, recipient := newKey()
			var done coordination.KeyRotation
			if !thiefFirst {
				done = a.rotate()
				v.settle()
			}
			if status, ack := th.announce(ben, next, recipient); status != http.StatusOK || ack.Status != wire.Applied {
				t.Fatalf("announced: %d %+v", status, ack)
			}
			if thiefFirst {
				done = a.rotate()
				v.settle()
			}
			c := b.with(ana)
			if c.Offer == nil || c.Offer.Disputed == "" || c.Offer.Disputed == c.Offer.Fingerprint {
				t.Fatalf("Ben sees %+v", c.Offer)
			}
			for _, fingerprint := range []string{done.After, next.Fingerprint()} {
				if err := b.accept(ana, fingerprint); node.CodeOf(err) != node.Conflict {
					t.Errorf("%s was accepted: %v", fingerprint, err)
				}
			}
			if b.events(audit.ConnectionKeyDisputed) != 1 {
				t.Error("the log does not say so")
			}
			v.must(b.refuse(ana, c.Offer.Fingerprint))
			for range 2 {
				th.announce(ben, next, recipient)
				v.clock.Advance(25 * time.Hour)
				a.tidy()
				v.settle()
			}
			if c := b.with(ana); c.Offer != nil {
				t.Errorf("refused, and Ben is asked again: %+v", c.Offer)
			}
		})
	}
}

// TestReplayedAnnouncement: the same statement under another id, or the same bytes,
// change nothing, before the decision and after it.
func TestReplayedAnnouncement(t *testing.T) {
	v, a, b := neighbours(t)
	th := a.robbed()
	next, recipient := newKey()
	th.announce(ben, next, recipient)
	first := b.with(ana)
	th.announce(ben, next, recipient)
	for range 2 {
		if status, _ := b.inbox.Receive(t.Context(), th.signed, ""); status != http.StatusOK {
			t.Errorf("the same bytes: %d", status)
		}
	}
	if c := b.with(ana); c.Offer == nil || c.Offer.Disputed != "" || !c.UpdatedAt.Equal(first.UpdatedAt) || b.events(audit.ConnectionKeyOffered) != 1 {
		t.Errorf("replayed, Ben sees %+v", c.Offer)
	}
	v.must(b.refuse(ana, next.Fingerprint()))
	if _, ack := th.announce(ben, next, recipient); ack.Code != wire.CodeKeyRefused {
		t.Errorf("refused, it is answered %+v", ack)
	}
}

// TestKeysThatCannotBeAnnounced: each of them is rejected, and our owner is not asked.
func TestKeysThatCannotBeAnnounced(t *testing.T) {
	t.Parallel()
	v := newVillage(t, ana, ben, cleo)
	v.link(ana, ben)
	v.link(cleo, ben)
	a, b, c := v.houses[ana], v.houses[ben], v.houses[cleo]
	th, ofBen, ofCleo := a.robbed(), b.robbed(), c.robbed()
	next, recipient := newKey()
	other, _ := newKey()
	good, err := token.NewStatement(th.signer, next, ana, recipient, v.clock.Now())
	v.must(err)
	statement := func(old, next *token.Signer, host, recipient string, at time.Time) token.Statement {
		made, err := token.NewStatement(old, next, host, recipient, at)
		v.must(err)
		return made
	}
	mixed := good
	mixed.New = statement(th.signer, other, ana, recipient, v.clock.Now()).New
	for name, chain := range map[string][]token.Statement{
		"the key that it has":           {statement(th.signer, th.signer, ana, recipient, v.clock.Now())},
		"our own key":                   {statement(th.signer, ofBen.signer, ana, recipient, v.clock.Now())},
		"another contact's key":         {statement(th.signer, ofCleo.signer, ana, recipient, v.clock.Now())},
		"signed by another key":         {statement(other, next, ana, recipient, v.clock.Now())},
		"of another host":               {statement(th.signer, next, cleo, recipient, v.clock.Now())},
		"from tomorrow":                 {statement(th.signer, next, ana, recipient, v.clock.Now().Add(24*time.Hour))},
		"a recipient that is none":      {statement(th.signer, next, ana, "age1nonsense", v.clock.Now())},
		"without the new key":           {{Old: good.Old}},
		"proof of another key":          {mixed},
		"the two parts exchanged":       {{Old: good.New, New: good.Old}},
		"nothing":                       {},
		"a ring":                        {good, statement(next, th.signer, ana, recipient, v.clock.Now())},
		"a chain with a hole":           {good, statement(other, ofCleo.signer, ana, recipient, v.clock.Now())},
		"a low-order key":               {lowOrder(t, th.signer, recipient, v.clock.Now())},
		"a chain longer than it may be": longChain(t, v, th.signer, recipient),
	} {
		if status, ack := th.send(ben, wire.KeyRotate, wire.Rotation{Chain: chain}); status != http.StatusOK || ack.Status != wire.Rejected || ack.Code != wire.CodeBadKey {
			t.Errorf("%s: %d %+v", name, status, ack)
		}
	}
	if _, ack := th.send(ben, wire.KeyRotate, wire.Chat{Text: "a key"}); ack.Code != wire.CodeBadContent {
		t.Errorf("something else: %+v", ack)
	}
	if c := b.with(ana); c.Offer != nil || b.events(audit.ConnectionKeyOffered) != 0 {
		t.Errorf("Ben was asked: %+v", c.Offer)
	}
	v.talk(ana, ben, "all as before")
}

func longChain(t *testing.T, v *village, signer *token.Signer, recipient string) (chain []token.Statement) {
	for range token.MaxSuccession + 1 {
		next, _ := newKey()
		statement, err := token.NewStatement(signer, next, ana, recipient, v.clock.Now())
		if err != nil {
			t.Fatal(err)
		}
		chain, signer = append(chain, statement), next
	}
	return chain
}

// lowOrder announces a key under which one signature fits every message.
func lowOrder(t *testing.T, signer *token.Signer, recipient string, now time.Time) token.Statement {
	raw, err := hex.DecodeString("0100000000000000000000000000000000000000000000000000000000000000")
	if err != nil {
		t.Fatal(err)
	}
	key := ed25519.PublicKey(raw)
	claims := token.SuccessionClaims{
		Host: ana, From: signer.Fingerprint(), To: token.Fingerprint(key), Key: base64.RawURLEncoding.EncodeToString(key),
		Recipient: recipient, Iat: now.Unix(),
	}
	old, err := signer.Sign(token.Succeeds, claims)
	if err != nil {
		t.Fatal(err)
	}
	header := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"EdDSA","kid":"` + claims.To + `","typ":"agentlink-key-proof+jwt"}`))
	signature := make([]byte, ed25519.SignatureSize)
	signature[0] = 1
	return token.Statement{Old: old, New: header + "." + base64.RawURLEncoding.EncodeToString(node.MustCanonical(claims)) + "." + base64.RawURLEncoding.EncodeToString(signature)}
}

// TestNewKeyBeforeTheOwnersWord: what comes under a new key is put off while the
// owner has not decided, and is worth nothing where no statement has come.
func TestNewKeyBeforeTheOwnersWord(t *testing.T) {
	v, a, b := neighbours(t)
	th := a.robbed()
	next, recipient := newKey()
	announced := &thief{house: a, signer: next}
	if status, _ := announced.send(ben, wire.Message, wire.Chat{Text: "hello"}); status != http.StatusUnauthorized {
		t.Errorf("without a statement: %d", status)
	}
	th.announce(ben, next, recipient)
	if status, _ := announced.send(ben, wire.Message, wire.Chat{Text: "hello"}); status != http.StatusServiceUnavailable {
		t.Errorf("before the decision: %d", status)
	}
	if b.heard(ana, "hello") != 0 || b.with(ana).KeyChanged {
		t.Error("it had an effect")
	}
	v.must(b.accept(ana, next.Fingerprint()))
	if status, _ := b.inbox.Receive(t.Context(), announced.signed, ""); status != http.StatusOK || b.heard(ana, "hello") != 1 {
		t.Errorf("after it: %d", status)
	}
	// The real owner's node learns that its contact goes by a key that it does not have.
	a.say(ben, "what has happened?")
	v.settle()
	if c := a.with(ben); !c.KeyChanged {
		t.Errorf("Ana sees nothing: %+v", c)
	}
}

// TestLostKey: a node that comes back with another key and no statement is
// "key changed", as ever; everything to it stops.
func TestLostKey(t *testing.T) {
	v, a, b := neighbours(t)
	v.houses[ana] = v.build(ana)
	v.ask(ana, ben)
	v.settle()
	c := b.with(ana)
	if !c.KeyChanged || c.Status != coordination.ConnActive || c.Peer.Fingerprint != a.identity.Signer.Fingerprint() || c.Offer != nil {
		t.Errorf("Ben sees %+v", c)
	}
	// Ben compares fingerprints with Ana, ends the connection and asks anew.
	b.leave(ana)
	v.ask(ben, ana) // it crosses that of Ana's, which is still under way
	v.settle()
	v.talk(ana, ben, "found again")
}

// TestRestoredFromBeforeTheRotation: a copy that does not have its newest key learns
// that its contacts know a newer one, and stops.
func TestRestoredFromBeforeTheRotation(t *testing.T) {
	v, a, b := neighbours(t)
	th := a.robbed()
	done := a.rotate()
	v.settle()
	v.must(b.accept(ana, done.After))
	v.settle()
	// Ana's node with the database of before.
	old := v.build(ana)
	v.houses[ana] = old
	old.write(func(tx node.Tx) error {
		return old.store.ReplaceNodeKeys(tx, th.keys, identity.Retired{
			Number: 1, Fingerprint: old.identity.Signer.Fingerprint(), PublicKey: old.identity.Signer.PublicKey(), ErasedAt: tx.Now(),
		})
	})
	v.must(old.identity.Refresh(t.Context(), old.store))
	c := a.with(ben)
	c.KnownKey, c.AgentID, c.OwnerID = done.Before, old.agent.ID, old.owner.OwnerID
	old.write(func(tx node.Tx) error { return old.store.InsertConnection(tx, c) })
	id := old.say(ben, "from the old copy")
	v.settle()
	if c := old.with(ben); !c.KeyChanged || old.status(id) != coordination.MsgQueued {
		t.Errorf("the old copy goes on: %+v, the message is %s", c, old.status(id))
	}
	if b.heard(ana, "from the old copy") != 0 || b.with(ana).Peer.Fingerprint != done.After {
		t.Error("Ben's node went back")
	}
}
