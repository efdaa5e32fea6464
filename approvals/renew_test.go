package approvals_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"agentlink/approvals"
	"agentlink/node"
)

// TestRenew: each row that this node wrote counts under the new key, and under the one
// before no more. A row that was changed beneath its MAC stays damaged.
func TestRenew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var ids []string
	for n := range 250 { // more than are in memory together
		r := request(approvals.Action)
		r.AgentID, r.Parameters = fmt.Sprint("agent ", n%25), json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))
		ids = append(ids, w.ask(r).ID)
	}
	changed := w.approval(ids[7])
	changed.Override = true
	w.do(func(tx node.Tx) error { return w.store.SaveApproval(tx, changed, approvals.Pending) })

	former := w.MACKey
	renewed := w.after(func(c *approvals.Config) { c.MACKey = bytes.Repeat([]byte{9}, 32) })
	w.do(func(tx node.Tx) error { return renewed.Renew(tx, former) })
	for _, id := range ids {
		if want, got := id == changed.ID, renewed.approval(id).Damaged; got != want {
			t.Errorf("%s: damaged %v under the new key, want %v", id, got, want)
		}
		if !w.approval(id).Damaged {
			t.Errorf("%s: it counts under the key before, too", id)
		}
	}
}
