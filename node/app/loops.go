package app

import (
	"context"
	"errors"
	"sync"
	"time"

	"agentlink/node"
	"agentlink/node/store"
)

// deliverers is how many envelopes are on their way at once.
const deliverers = 4

// startLoops starts the background work. It ends with ctx.
func (n *Node) startLoops(ctx context.Context, running *sync.WaitGroup) {
	if n.options.Still {
		return
	}
	for _, l := range n.loops() {
		running.Go(func() { l.run(ctx, n.options.Clock, n.log) })
	}
	n.startDelivery(ctx, running)
	// What the owner approved to run, and what a crash cut off, may start after
	// many kinds of change: an approval, an acknowledgement, a restart.
	n.subscribed(ctx, running, store.TopicFeed, loop{
		name: "runs", step: n.actions.RecoverStep, every: n.options.Poll,
	})
}

// Step does one step of each kind of background work that is due, for tests of a
// node that has no loops. more says that there may be more of it.
func (n *Node) Step(ctx context.Context) (more bool, err error) {
	for _, step := range []func(context.Context) (bool, error){
		n.worker.Step, n.strangers.Step, n.coordination.ExpireStep, n.approvals.ExpireStep, n.actions.RecoverStep,
	} {
		again, failed := step(ctx)
		more, err = more || again, errors.Join(err, failed)
	}
	return more, err
}

// NextDelivery is when something is due to leave; known is false where nothing waits.
func (n *Node) NextDelivery(ctx context.Context) (at time.Time, known bool, err error) {
	return n.nextDelivery(ctx)
}

// startDelivery starts the deliverers. What is queued wakes one of them, which
// wakes the next one when it begins to send.
func (n *Node) startDelivery(ctx context.Context, running *sync.WaitGroup) {
	queued, cancel := n.store.Subscribe(store.TopicOutbox)
	running.Go(func() {
		defer cancel()
		for ctx.Err() == nil {
			select {
			case <-queued:
				n.deliverable.ring()
			case <-ctx.Done():
			}
		}
	})
	deliver := loop{name: "delivery", step: n.worker.Step, wake: n.deliverable, due: n.nextDelivery, every: n.options.Poll}
	for range deliverers {
		running.Go(func() { deliver.run(ctx, n.options.Clock, n.log) })
	}
}

// loops are those that the store does not wake. A confirmation that is owed goes
// out once the owner has lifted what barred it.
func (n *Node) loops() []loop {
	all := []loop{
		{name: "overdue tasks", step: n.coordination.ExpireStep, wake: n.ownerActed, every: minute(n.options)},
		{name: "overdue approvals", step: n.approvals.ExpireStep, every: minute(n.options)},
		{name: "strangers", step: n.strangers.Step, every: min(time.Second, n.options.Poll)},
		{name: "idempotency keys", step: n.sweep, every: time.Hour},
	}
	if n.settings.Database.Postgres() { // another replica may replace the node's keys
		all = append(all, loop{name: "node keys", step: n.refreshKeys, every: min(time.Second, n.options.Poll)})
	}
	return all
}

func (n *Node) refreshKeys(ctx context.Context) (more bool, err error) {
	return false, n.identity.Refresh(ctx, n.store)
}

// minute is how often overdue things are looked for, as the requirement says;
// tests that poll faster get it faster.
func minute(o Options) time.Duration {
	if o.Poll < time.Second {
		return o.Poll
	}
	return time.Minute
}

// subscribed starts a loop that the store wakes.
func (n *Node) subscribed(ctx context.Context, running *sync.WaitGroup, topic string, l loop) {
	wake, cancel := n.store.Subscribe(topic)
	l.wake = wake
	running.Go(func() {
		defer cancel()
		l.run(ctx, n.options.Clock, n.log)
	})
}

func (n *Node) nextDelivery(ctx context.Context) (at time.Time, known bool, err error) {
	err = n.store.View(ctx, func(tx node.Tx) error {
		at, known, err = n.store.NextOutbox(tx)
		return err
	})
	return at, known, err
}

// sweepBatch is how many forgotten keys one transaction removes.
const sweepBatch = 500

func (n *Node) sweep(ctx context.Context) (more bool, err error) {
	err = n.store.InTx(ctx, func(tx node.Tx) error {
		swept, err := n.store.SweepIdempotency(tx, sweepBatch)
		more = swept == sweepBatch
		return err
	})
	return more, err
}
