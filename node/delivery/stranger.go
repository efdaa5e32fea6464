package delivery

import (
	"context"
	"log/slog"
	"time"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/budget"
	"agentlink/node/outbox"
	"agentlink/node/token"
)

// Look-ups that strangers can cause in an hour. Without a bound they could send
// us to knock at a third party's door.
const (
	lookupsPerHost = 10
	lookupsPerIP   = 20
	lookupWindow   = time.Hour
	// strangerTries is how often a card is asked for before the request is dropped.
	strangerTries = 5
)

// StrangersConfig is what Strangers needs. All is required but Log.
type StrangersConfig struct {
	DB        node.DB
	Store     coordination.StrangerStore
	Directory coordination.Directory
	// Inbox ends the waiting of a stranger whose card was read; it settles its row.
	Inbox interface {
		Introduce(ctx context.Context, stranger coordination.Stranger, peer coordination.Peer) error
	}
	Jitter func() float64
	Log    *slog.Logger
}

// Strangers reads the cards of nodes that asked to connect and are not known.
type Strangers struct {
	StrangersConfig
	byHost, byIP *budget.Budget
}

// NewStrangers makes the worker for strangers.
func NewStrangers(config StrangersConfig) *Strangers {
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	return &Strangers{
		StrangersConfig: config,
		byHost:          budget.New(lookupsPerHost, lookupWindow, coordination.MaxStrangers),
		byIP:            budget.New(lookupsPerIP, lookupWindow, coordination.MaxStrangers),
	}
}

// Step looks up the card of one waiting stranger. more is false when none is due.
func (s *Strangers) Step(ctx context.Context) (more bool, err error) {
	stranger, now, claimed, err := s.claim(ctx)
	if err != nil || !claimed {
		return false, err
	}
	host, ok := senderHost(stranger)
	if !ok {
		return true, s.drop(ctx, stranger)
	}
	if pause, over := s.spend(stranger, now); over {
		return true, s.reschedule(ctx, stranger, pause, stranger.Attempts-1)
	}
	peer, err := s.Directory.Lookup(ctx, host, "")
	if err != nil {
		return true, s.again(ctx, stranger, err)
	}
	return true, s.Inbox.Introduce(ctx, stranger, peer)
}

func (s *Strangers) claim(ctx context.Context) (stranger coordination.Stranger, now time.Time, claimed bool, err error) {
	err = s.DB.InTx(ctx, func(tx node.Tx) (err error) {
		now = tx.Now()
		if err := s.Store.DeleteExpiredStrangers(tx); err != nil {
			return err
		}
		stranger, claimed, err = s.Store.ClaimStranger(tx, now.Add(outbox.Lease))
		return err
	})
	return stranger, now, claimed && err == nil, err
}

// spend counts a look-up. One for which there is no budget has to wait, and
// loses no try by that. This node's own card costs nothing.
func (s *Strangers) spend(stranger coordination.Stranger, now time.Time) (time.Duration, bool) {
	if stranger.IP == "" {
		return 0, false
	}
	byHost, hostOver := s.byHost.Over(stranger.Host, now)
	byIP, ipOver := s.byIP.Over(stranger.IP, now)
	if hostOver || ipOver {
		return max(byHost, byIP), true
	}
	s.byHost.Spend(stranger.Host, now)
	s.byIP.Spend(stranger.IP, now)
	return 0, false
}

func senderHost(stranger coordination.Stranger) (string, bool) {
	var envelope wire.Envelope
	if token.Peek(token.Envelope, string(stranger.Envelope), &envelope) != nil {
		return "", false
	}
	address, err := node.ParseAddress(envelope.Iss)
	return address.Host, err == nil
}

func (s *Strangers) drop(ctx context.Context, stranger coordination.Stranger) error {
	return s.DB.InTx(ctx, func(tx node.Tx) error { return s.Store.DeleteStranger(tx, stranger.ID) })
}

// again tries the look-up later, or gives up.
func (s *Strangers) again(ctx context.Context, stranger coordination.Stranger, problem error) error {
	s.Log.Info("card not read", "attempts", stranger.Attempts, "problem", problem)
	if stranger.Attempts >= strangerTries {
		return s.drop(ctx, stranger)
	}
	return s.reschedule(ctx, stranger, outbox.Pause(stranger.Attempts, s.Jitter()), stranger.Attempts)
}

func (s *Strangers) reschedule(ctx context.Context, stranger coordination.Stranger, pause time.Duration, attempts int) error {
	return s.DB.InTx(ctx, func(tx node.Tx) error {
		return s.Store.RescheduleStranger(tx, stranger.ID, tx.Now().Add(pause), attempts)
	})
}
