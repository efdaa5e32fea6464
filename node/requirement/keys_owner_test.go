package requirement

import (
	"net/http"
	"testing"

	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/api/socket"
	"agentlink/node/audit"
	"agentlink/node/delivery"
	"agentlink/node/nodetest"
	"agentlink/policy"
)

// TestOwnersReplaceAKey: two whole nodes. The owner replaces the key, the card shows
// it, agents fetch new tokens, the other owner compares and accepts, and what was
// signed before still verifies.
func TestOwnersReplaceAKey(t *testing.T) {
	p := open(t, policy.Autonomous, policy.Autonomous)
	booked := p.agreedDinner()
	if keys := nodetest.Owner[socket.Keys](p.ada, socket.KeyShow, nil); len(keys.Earlier) != 0 || keys.Fingerprint != p.ada.Made.Fingerprint {
		t.Errorf("before: %+v", keys)
	}
	done := nodetest.Owner[socket.RotatedKey](p.ada, socket.KeyRotate, nil)
	if done.Told != 1 || done.Before != p.ada.Made.Fingerprint {
		t.Fatalf("%+v", done)
	}
	p.scout.Get("/v1/agent/me").Want(http.StatusUnauthorized)
	p.scout.Renew()
	p.scout.Get("/v1/agent/me").Want(http.StatusOK)
	p.cardShows(p.ada, done.Fingerprint)

	// Nothing waits for the other owner's word.
	p.reaches(p.scout, booked, "agreed")
	uid := p.dinner()
	offered := p.offered(done.Fingerprint)
	if offered.Fingerprint != done.Before {
		t.Errorf("Ben knows %s already", offered.Fingerprint)
	}
	err := p.ben.Try(socket.ConnectionAcceptKey, socket.DecideKey{ID: offered.ID, Fingerprint: done.Before}, nil)
	if node.CodeOf(err) != node.Conflict {
		t.Errorf("another key than the one that waits: %v", err)
	}
	k := nodetest.Owner[socket.Connection](p.ben, socket.ConnectionAcceptKey, socket.DecideKey{ID: offered.ID, Fingerprint: done.Fingerprint})
	if k.Fingerprint != done.Fingerprint || k.OfferedKey != nil {
		t.Errorf("accepted: %+v", k)
	}
	p.respond(p.juno, uid, 1, "accept").Want(http.StatusCreated)
	p.reaches(p.scout, uid, "agreed")
	nodetest.Eventually(t, "the old key is erased", func() bool {
		keys := nodetest.Owner[socket.Keys](p.ada, socket.KeyShow, nil)
		return len(keys.Earlier) == 1 && keys.Earlier[0].ErasedAt != nil && len(keys.Earlier[0].Waiting) == 0
	})
	p.ada.Restart()
	p.scout.Renew()
	uid = p.dinner()
	p.respond(p.juno, uid, 1, "accept").Want(http.StatusCreated)
	p.reaches(p.scout, uid, "agreed")
	p.cardShows(p.ada, done.Fingerprint)
	p.ada.VerifyAudit()
	p.ben.VerifyAudit()
	for n, types := range map[*nodetest.Node][]audit.Type{
		p.ada: {audit.KeyRotated, audit.ConnectionKeyKnown, audit.KeyErased}, p.ben: {audit.ConnectionKeyOffered, audit.ConnectionKeyAccepted},
	} {
		for _, typ := range types {
			if events := p.audited(n, typ); len(events) != 1 {
				t.Errorf("%s: %d", typ, len(events))
			}
		}
	}
}

// offered waits for the new key to wait for Ben.
func (p *pair) offered(fingerprint string) (k socket.Connection) {
	p.Helper()
	nodetest.Eventually(p.T, "the new key waits for Ben", func() bool {
		k = nodetest.Owner[socket.Connection](p.ben, socket.ConnectionShow, socket.ByID{ID: p.ofJuno.ID})
		return k.OfferedKey != nil && k.OfferedKey.Fingerprint == fingerprint
	})
	return k
}

// cardShows reads the card that a node serves.
func (p *pair) cardShows(n *nodetest.Node, fingerprint string) {
	p.Helper()
	client := delivery.NewClient(delivery.ClientConfig{Reach: delivery.Reach{Loopback: true}})
	defer client.Close()
	d := &delivery.Directory{Client: client, Clock: p.clock, Self: coordination.Self{Host: "somebody.else"}}
	if _, err := d.Lookup(p.Context(), n.Info.Host, fingerprint); err != nil {
		p.Errorf("its card: %v", err)
	}
}

// TestReceiptsOfAnEarlierKey: a receipt says which key signed it, and is verified
// with that one, on both sides.
func TestReceiptsOfAnEarlierKey(t *testing.T) {
	p := open(t, policy.Autonomous, policy.Autonomous)
	p.ada.Grant(p.scout, p.juno.Address, "action.reservation.book", policy.Allow)
	uid := p.agreedDinner()
	ran := p.scout.Post("/v1/agent/actions", body{"action": "reservation.book", "parameters": booking(uid)})
	if ran.Status >= http.StatusMultipleChoices {
		t.Fatalf("%d: %s", ran.Status, ran.Body)
	}
	p.reaches(p.juno, uid, "confirmed")
	check := func(n *nodetest.Node, when string) {
		t.Helper()
		file := nodetest.Owner[map[string]any](n, socket.ReceiptExport, socket.ByID{ID: uid})
		if file["publicKey"] != p.ada.Info.PublicKey {
			t.Errorf("%s: verified with %v", when, file["publicKey"])
		}
	}
	check(p.ada, "Ada before")
	check(p.ben, "Ben before")
	done := nodetest.Owner[socket.RotatedKey](p.ada, socket.KeyRotate, nil)
	k := p.offered(done.Fingerprint)
	nodetest.Owner[socket.Connection](p.ben, socket.ConnectionAcceptKey, socket.DecideKey{ID: k.ID, Fingerprint: done.Fingerprint})
	check(p.ada, "Ada after")
	check(p.ben, "Ben after")
}
