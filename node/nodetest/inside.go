package nodetest

import (
	"agentlink/node"
	"agentlink/node/identity"
	"agentlink/node/seal"
	"agentlink/node/store"
)

// Inside opens the node's database a second time, with the node's own keys. Tests
// use it for what only the node can do, to show what somebody without them cannot.
func (n *Node) Inside() (*store.Store, seal.Master) {
	n.tb.Helper()
	master, err := seal.LoadMaster(n.settings.MasterKeyFile, nil)
	if err != nil {
		n.tb.Fatal(err)
	}
	return n.InsideWith(master), master
}

// InsideWith is Inside with another master key.
func (n *Node) InsideWith(master seal.Master) *store.Store {
	n.tb.Helper()
	s, err := store.Open(n.tb.Context(), store.Config{
		URL: n.settings.Database.Reveal(), Box: master.Box(), Clock: node.SystemClock{},
	})
	if err != nil {
		n.tb.Fatal(err)
	}
	n.tb.Cleanup(func() { _ = s.Close() })
	return s
}

// Keys are the node's own secret keys.
func (n *Node) Keys() (keys identity.Keys) {
	n.tb.Helper()
	s, _ := n.Inside()
	err := s.View(n.tb.Context(), func(tx node.Tx) (err error) {
		keys, err = s.NodeKeys(tx)
		return err
	})
	if err != nil {
		n.tb.Fatal(err)
	}
	return keys
}
