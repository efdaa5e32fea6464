package app

import "agentlink/node/delivery"

// witness compares the log with what contacts keep of it.
func (n *Node) witness() *delivery.Comparer {
	return &delivery.Comparer{
		Witnesses: &delivery.Witnesses{Transport: n.client, Signer: n.identity.Signer, Clock: n.options.Clock, IDs: n.options.IDs},
		DB:        n.store, Coordination: n.coordination, Audit: n.audit,
	}
}
