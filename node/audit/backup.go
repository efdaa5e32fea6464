package audit

import (
	"time"

	"agentlink/node"
)

// What the owner does with the whole node.
const (
	NodeBackedUp       Type = "node.backed_up"
	NodeRestored       Type = "node.restored"            // from a backup; what came after that backup is not known to the node
	NodeMasterReplaced Type = "node.master_key_replaced" // everything is sealed with a new master key
)

// BackedUp is the event of a backup that its owner holds.
func BackedUp(actor node.Actor, madeAt time.Time, rows int64, sha256 string) Event {
	return Event{Type: NodeBackedUp, Actor: actor, Data: map[string]any{
		"madeAt": madeAt.UTC().Format(time.RFC3339), "auditRows": rows, "sha256": sha256,
	}}
}
