package delivery

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/outbox"
	"agentlink/node/token"
)

// Coordination is what the worker needs of coordination.Service.
type Coordination interface {
	// Lock comes before an item is claimed or moved.
	Lock(tx node.Tx, item outbox.Item) error
	// Dispatch keeps what sign makes of a message that has never been sent.
	Dispatch(tx node.Tx, item outbox.Item, sign coordination.Sign) (coordination.Dispatch, error)
	NotSent(tx node.Tx, agentID, messageID string) error
	KeyDiffers(tx node.Tx, agentID, messageID string) error
	Acknowledged(tx node.Tx, agentID string, ack wire.Ack) (done bool, err error)
}

// Inbox takes envelopes in. That of this node is peer.Inbox.
type Inbox interface {
	Receive(ctx context.Context, envelope []byte, remoteIP string) (status int, answer []byte)
}

// WorkerConfig is what a worker needs. All is required but Log.
type WorkerConfig struct {
	DB           node.DB
	Outbox       outbox.Store
	Coordination Coordination
	Directory    coordination.Directory
	Transport    Transport
	// Inbox is this node's own, for envelopes between two of its agents.
	Inbox  Inbox
	Signer *token.Signer
	Host   string // host[:port] of our agents' addresses
	Clock  node.Clock
	IDs    node.IDs
	Jitter func() float64 // in [0, 1)
	Log    *slog.Logger
	// Another is told when a Step is about to send, so that another one can take
	// what else is due meanwhile; nil where nobody waits for it.
	Another func()
}

// Limits of the worker.
const (
	// askAgain is the pause where a peer has not decided yet whether to look at us.
	askAgain = 2 * time.Second
	// patience is how often it is kept before the pauses grow.
	patience = 5
	// settleTimeout bounds writing down what came of an attempt.
	settleTimeout = 10 * time.Second
)

// Worker delivers what waits in the outbox. Any number of Steps may run at once,
// in any number of replicas.
type Worker struct {
	WorkerConfig
	hosts *hosts
}

// NewWorker makes a worker.
func NewWorker(config WorkerConfig) *Worker {
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	return &Worker{WorkerConfig: config, hosts: newHosts()}
}

// attempt is one claimed item on its way.
type attempt struct {
	coordination.Dispatch
	item outbox.Item
	host string
}

// Step claims one due item and brings it as far as it gets. more is false when
// nothing was due. An error is one of the node's own; the item's lease lapses
// and it is tried again.
func (w *Worker) Step(ctx context.Context) (more bool, err error) {
	a, claimed, err := w.claim(ctx)
	if err != nil || !claimed {
		return a.item.ID != "" && err == nil, err // another worker has it; there may be more
	}
	if a.Do != coordination.Send {
		return true, nil
	}
	if w.Another != nil {
		w.Another()
	}
	defer w.leave(a.host)
	return true, w.deliver(ctx, a)
}

// claim leases an item and asks coordination, in one transaction. It looks first:
// mostly another worker was faster, and a look keeps nobody from writing.
func (w *Worker) claim(ctx context.Context) (a attempt, claimed bool, err error) {
	due := false
	err = w.DB.View(ctx, func(tx node.Tx) error {
		_, due, err = w.Outbox.DueOutbox(tx)
		return err
	})
	if err != nil || !due {
		return attempt{}, false, err
	}
	leaseToken := w.IDs.New()
	entered := ""
	err = w.DB.InTx(ctx, func(tx node.Tx) error {
		w.leave(entered) // of a run that was rolled back
		a, claimed, entered = attempt{}, false, ""
		if a.item, claimed, err = w.lease(tx, leaseToken); err != nil || !claimed {
			return err
		}
		if a.Dispatch, err = w.Coordination.Dispatch(tx, a.item, w.sign); err != nil {
			return err
		}
		if a.Do == coordination.Send {
			if err := a.prepare(); err != nil {
				return err
			}
			until, ok := w.hosts.enter(a.host, tx.Now())
			if ok {
				entered = a.host
				return nil
			}
			a.Do = coordination.Wait
			return w.putBack(tx, a, until)
		}
		return w.settleUnsent(tx, a)
	})
	if err != nil {
		w.leave(entered)
		return a, false, w.setAside(ctx, a.item, err)
	}
	return a, claimed, nil
}

// lease takes the item that is to leave next.
func (w *Worker) lease(tx node.Tx, leaseToken string) (item outbox.Item, ok bool, err error) {
	item, ok, err = w.Outbox.DueOutbox(tx)
	if err != nil || !ok {
		return item, false, err
	}
	if err := w.Coordination.Lock(tx, item); err != nil {
		return item, false, err
	}
	claimed, ok, err := w.Outbox.ClaimOutbox(tx, item.ID, leaseToken, tx.Now().Add(outbox.Lease))
	if err != nil || !ok {
		return item, false, err
	}
	return claimed, true, nil
}

// setAside puts off an item that coordination cannot handle, so that it does not
// stand before all others for ever. The failed transaction has given its lease
// back. It returns the reason.
func (w *Worker) setAside(ctx context.Context, failed outbox.Item, reason error) error {
	if failed.ID == "" || ctx.Err() != nil {
		return reason
	}
	leaseToken := w.IDs.New()
	err := w.DB.InTx(ctx, func(tx node.Tx) error {
		item, ok, err := w.Outbox.ClaimOutbox(tx, failed.ID, leaseToken, tx.Now().Add(outbox.Lease))
		if err != nil || !ok {
			return err
		}
		_, err = w.Outbox.RescheduleOutbox(tx, item.ID, leaseToken, tx.Now().Add(outbox.Pause(item.Attempts, w.Jitter())))
		return err
	})
	return errors.Join(reason, err)
}

// prepare reads from the bytes of an earlier attempt what they say, so that nothing
// else is asked of their answer.
func (a *attempt) prepare() error {
	if a.Again {
		if err := token.Peek(token.Envelope, string(a.Envelope), &a.Claims); err != nil {
			return node.Wrap(errors.New("the kept envelope cannot be read"), "dispatch")
		}
	}
	address, err := node.ParseAddress(a.Claims.Aud)
	a.host = address.Host
	return err
}

func (w *Worker) settleUnsent(tx node.Tx, a attempt) error {
	if a.Do == coordination.Wait {
		_, err := w.Outbox.RescheduleOutbox(tx, a.item.ID, a.item.LeaseToken, a.Next)
		return err
	}
	_, err := w.Outbox.DeleteOutbox(tx, a.item.ID, a.item.LeaseToken)
	return err
}

// errLeaseLost rolls back what a worker that overslept may no longer say.
var errLeaseLost = errors.New("the lease was lost")

// putBack ends an attempt of which nothing has left. Whoever lost the lease does
// not know what its next holder has sent.
func (w *Worker) putBack(tx node.Tx, a attempt, next time.Time) error {
	if err := w.Coordination.NotSent(tx, a.AgentID, a.MessageID); err != nil {
		return err
	}
	held, err := w.Outbox.RescheduleOutbox(tx, a.item.ID, a.item.LeaseToken, next)
	if err == nil && !held {
		return errLeaseLost
	}
	return err
}

func (w *Worker) leave(host string) {
	if host != "" {
		w.hosts.leave(host)
	}
}
