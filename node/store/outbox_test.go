package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"agentlink/node"
	"agentlink/node/outbox"
	"agentlink/node/store/storetest"
)

// TestAbsentPeer: what waits behind an item that was put off is not looked at
// again at each claim.
func TestAbsentPeer(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, open storetest.Opener) {
		s := open(t)
		inTx(t, s, func(tx node.Tx) error {
			var errs []error
			for i := range 50 {
				id := fmt.Sprintf("i%02d", i)
				item := outbox.Item{ID: id, AgentID: "a1", Kind: outbox.Envelope, Lane: "task", Order: int64(i), Ref: id, NextAt: tx.Now()}
				errs = append(errs, s.InsertOutbox(tx, item))
			}
			item, ok, err := s.ClaimOutbox(tx, "i00", "token", tx.Now().Add(time.Minute))
			if !ok || item.ID != "i00" {
				t.Errorf("claimed %+v", item)
			}
			_, err2 := s.RescheduleOutbox(tx, item.ID, "token", tx.Now().Add(time.Hour))
			return errors.Join(append(errs, err, err2)...)
		})
		inTx(t, s, func(tx node.Tx) error {
			var due int
			err := s.One(tx, `SELECT COUNT(*) FROM outbox WHERE due_at <= $1`, []any{tx.Now().UnixMicro()}, &due)
			if due != 0 {
				t.Errorf("%d items of the lane are looked at by each claim", due)
			}
			return err
		})
	})
}
