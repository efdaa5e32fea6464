package delivery

import (
	"context"
	"testing"

	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/outbox"
)

// stopping is a database whose node stops after the first transaction.
type stopping struct {
	*memory
	stop context.CancelFunc
}

func (s stopping) InTx(ctx context.Context, f func(node.Tx) error) error {
	defer s.stop()
	return s.memory.InTx(ctx, f)
}

// TestStoppingGivesTheLeaseBack: what a stopping node has claimed and not sent
// goes out when it is back, not when the lease is over.
func TestStoppingGivesTheLeaseBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, ClientConfig{})
	id := b.queue(wire.Message, "chat", 1)
	ctx, stop := context.WithCancel(t.Context())
	config := b.worker.WorkerConfig
	config.DB = stopping{b.db, stop} // it claims, and does not come to send
	if _, err := NewWorker(config).Step(ctx); err != nil {
		t.Fatal(err)
	}
	item, waits := b.db.item(id)
	if x := b.db.message(id); !waits || x.unsent != 1 || b.peer.count(id) != 0 {
		t.Fatalf("waits %v, unsent %d, applied %d", waits, x.unsent, b.peer.count(id))
	}
	if wait := item.NextAt.Sub(b.clock.Now()); wait >= outbox.Lease/2 {
		t.Errorf("it waits %v", wait)
	}
	b.next(t)
	b.drain(t)
	if _, waits := b.db.item(id); waits || b.peer.count(id) != 1 {
		t.Errorf("afterwards: waits %v, applied %d", waits, b.peer.count(id))
	}
}
