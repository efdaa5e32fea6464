package dashboard_test

import (
	"crypto/ed25519"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/display"
	"agentlink/node/token"
	"agentlink/policy"
)

// offer puts a new key before the owner, as one that a contact's node has announced.
func (b *bundle) offer(id, disputed string) (fingerprint string) {
	b.t.Helper()
	public, _, err := ed25519.GenerateKey(nil)
	b.must(err)
	fingerprint = token.Fingerprint(public)
	b.in(func(tx node.Tx) error {
		c, err := b.store.LockConnection(tx, id)
		if err != nil {
			return err
		}
		c.Offer = &coordination.KeyOffer{
			Fingerprint: fingerprint, PublicKey: public, Recipient: c.Peer.Recipient, At: tx.Now(), Disputed: disputed,
		}
		return b.store.SaveConnection(tx, c, c.Status)
	})
	return fingerprint
}

func withOffer(t *testing.T, disputed string) (b *bundle, c coordination.Connection, fingerprint string) {
	t.Helper()
	t.Parallel()
	b = newBundle(t)
	_, c = b.connect(b.agent("scout", policy.Autonomous), b.agent("juno", policy.Autonomous))
	return b, c, b.offer(c.ID, disputed)
}

// TestNewKeyOfAContact: it waits on the first page, the contact's page shows both
// keys, and the owner's yes makes it the known one.
func TestNewKeyOfAContact(t *testing.T) {
	b, c, fingerprint := withOffer(t, "")
	b.get("/").want(http.StatusOK).says("announces a new key", "One thing waits for you")
	b.get("/contacts/"+c.ID).want(http.StatusOK).says("Their key changes", display.Grouped(fingerprint))
	b.get("/contacts/"+c.ID+"/key").want(http.StatusOK).says("The new key", "The key that you know")
	answer := url.Values{"decision": {"accept"}, "fingerprint": {c.Peer.Fingerprint}}
	b.post("/contacts/"+c.ID+"/key", answer).want(http.StatusConflict)
	answer.Set("fingerprint", fingerprint)
	b.post("/contacts/"+c.ID+"/key", answer).want(http.StatusSeeOther)
	if now := b.connectionNow(c.ID); now.Peer.Fingerprint != fingerprint || now.Offer != nil {
		t.Errorf("accepted, and the connection has %+v", now)
	}
	b.get("/contacts/" + c.ID + "/key").want(http.StatusConflict)
	if b.happened(audit.ConnectionKeyAccepted) != 1 {
		t.Error("the log does not say so")
	}
}

func TestNewKeyOfAContactRefused(t *testing.T) {
	b, c, fingerprint := withOffer(t, "")
	b.post("/contacts/"+c.ID+"/key", url.Values{"decision": {"perhaps"}, "fingerprint": {fingerprint}}).want(http.StatusBadRequest)
	b.post("/contacts/"+c.ID+"/key", url.Values{"decision": {"refuse"}, "fingerprint": {fingerprint}}).want(http.StatusSeeOther)
	if now := b.connectionNow(c.ID); now.Peer.Fingerprint != c.Peer.Fingerprint || now.Offer != nil {
		t.Errorf("refused, and the connection has %+v", now)
	}
	b.get("/").want(http.StatusOK).says("Nothing waits for you")
}

func TestDisputedKeysOfAContact(t *testing.T) {
	b, c, fingerprint := withOffer(t, "zzzz2345efgh6723ijkl4567mnop2345qrst6723uvwx4567yzab")
	b.get("/").want(http.StatusOK).says("two keys contradict each other")
	b.get("/contacts/"+c.ID+"/key").want(http.StatusOK).says("One of them is a thief", "End the connection")
	b.post("/contacts/"+c.ID+"/key", url.Values{"decision": {"accept"}, "fingerprint": {fingerprint}}).want(http.StatusConflict)
}

// TestReplaceTheNodesKey: agents of the same node go on with each other at once.
func TestReplaceTheNodesKey(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	scout, juno := b.agent("scout", policy.Autonomous), b.agent("juno", policy.Autonomous)
	ofScout, ofJuno := b.connect(scout, juno)
	before := b.identity.Signer.Fingerprint()
	b.get("/settings/key").want(http.StatusOK).says("Replace it")
	b.post("/settings/key", url.Values{}).want(http.StatusBadRequest)
	b.post("/settings/key", url.Values{"confirm": {"yes"}}).want(http.StatusSeeOther)
	after := b.identity.Signer.Fingerprint()
	if after == before || b.happened(audit.KeyRotated) != 1 {
		t.Fatalf("%s after %s", after, before)
	}
	b.get("/settings/key").want(http.StatusOK).says("All contacts have accepted", display.Grouped(before))
	for _, id := range []string{ofScout.ID, ofJuno.ID} {
		if c := b.connectionNow(id); c.Peer.Fingerprint != after || c.KnownKey != after || c.Offer != nil {
			t.Errorf("within the node: %+v", c)
		}
	}
	b.in(func(tx node.Tx) error {
		_, err := b.coordination.SendMessage(tx, b.ownerOf(scout), ofScout.ID, "still here?")
		return err
	})
	b.deliver()
	b.get("/messages/" + ofJuno.ID).want(http.StatusOK).says("still here?")
}

// TestKeysNeedAFreshSession: a session that was left open replaces no key and
// accepts none.
func TestKeysNeedAFreshSession(t *testing.T) {
	b, c, fingerprint := withOffer(t, "")
	before := b.identity.Signer.Fingerprint()
	b.visitor.Fresh = false
	for path, form := range map[string]url.Values{
		"/settings/key": {"confirm": {"yes"}}, "/contacts/" + c.ID + "/key": {"decision": {"accept"}, "fingerprint": {fingerprint}},
	} {
		if p := b.post(path, form).want(http.StatusSeeOther); !strings.HasPrefix(p.Header.Get("Location"), "/confirm?") {
			t.Errorf("%s leads to %s", path, p.Header.Get("Location"))
		}
	}
	if b.identity.Signer.Fingerprint() != before || b.connectionNow(c.ID).Offer == nil {
		t.Error("something was done")
	}
}
