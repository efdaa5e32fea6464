package browsertest

import (
	"testing"

	"agentlink/node/api/socket"
	"agentlink/node/nodetest"
)

// TestNewKeys: Ben replaces the key of his node, and Ada compares and accepts it; then
// she replaces her own.
func TestNewKeys(t *testing.T) {
	t.Parallel()
	browser(t)
	w := newWorld(t)
	rotated := nodetest.Owner[socket.RotatedKey](w.ben, socket.KeyRotate, nil)
	nodetest.Eventually(t, "Ada is asked", func() bool {
		return nodetest.Owner[socket.Status](w.ada, socket.NodeStatus, nil).KeyOffers == 1
	})
	b := signedIn(t, w.ada)
	b.visit("/")
	b.says("announces a new key")
	b.visit("/contacts/" + w.ofScout.ID)
	b.says("Their key changes")
	b.look("a contact with a new key")
	b.follow("Decide")
	b.says("The key that you know", "The new key")
	b.look("a new key")
	b.follow("I have compared: accept it")
	b.says("Accepted. They are known by their new key.")
	if c := nodetest.Owner[socket.Connection](w.ada, socket.ConnectionShow, socket.ByID{ID: w.ofScout.ID}); c.Fingerprint != rotated.Fingerprint {
		t.Errorf("Ada knows %s, want %s", c.Fingerprint, rotated.Fingerprint)
	}
	b.visit("/settings/key")
	b.look("the key of the node")
	b.press("Replace the key of this node")
	b.follow("Replace it")
	b.says("The node has a new key", "have not accepted the key after it")
	b.look("an earlier key of the node")
}
