package owner

import (
	"context"
	"math"
	"time"

	"agentlink/node"
	"agentlink/node/audit"
)

// MaxGuesses wrong passwords in GuessWindow are taken; then every password is
// refused unread until the oldest of them is that old.
const (
	MaxGuesses  = 10
	GuessWindow = time.Minute
)

// guess is a counted attempt, and what it is compared with.
type guess struct {
	id       string
	owner    Owner
	password Password
	refused  bool
	wait     time.Duration // until another guess is taken, where this one is refused
}

// CheckPassword says whether text is the owner's password: nil when it is.
//
// It opens transactions of its own and must not be called inside one: the count
// of guesses and the audit row have to last although the answer is an error, and
// the hash takes too long to hold a lock meanwhile. The guess is counted before
// it is compared and forgotten when it was right, so that no number of attempts
// at once gets more than MaxGuesses through.
//
// Codes: unauthorized; rate_limited with details.retryAfterSeconds; not_found
// where the node has no owner yet.
func (s *Service) CheckPassword(ctx context.Context, actor node.Actor, text string) error {
	// One at a time: what waits here is not counted yet, and so owners who are
	// right many times at once do not shut themselves out.
	select {
	case s.checking <- struct{}{}:
		defer func() { <-s.checking }()
	case <-ctx.Done():
		return &node.Error{Code: node.Unavailable, Message: "The password was not checked in time.", Err: ctx.Err()}
	}
	g, err := s.takeGuess(ctx)
	if err != nil {
		return err
	}
	if g.refused {
		return tooManyGuesses(g.wait)
	}
	return s.settle(context.WithoutCancel(ctx), actor, g, text)
}

// settle compares. It is not cut short by a caller that leaves, or a wrong
// password could go without its audit row.
func (s *Service) settle(ctx context.Context, actor node.Actor, g guess, text string) error {
	right, err := g.password.matches(text)
	if err != nil {
		return node.Wrap(err, "compare a password")
	}
	if right {
		return s.db.InTx(ctx, func(tx node.Tx) error { return s.store.DeletePasswordGuess(tx, g.id) })
	}
	actor.OwnerID = g.owner.ID
	err = s.db.InTx(ctx, func(tx node.Tx) error {
		_, err := s.log.Append(tx, audit.Event{Type: audit.OwnerAuthFailed, Actor: actor, Subject: g.owner.ID})
		return err
	})
	if err != nil {
		return err
	}
	return node.Errorf(node.Unauthorized, "The password is wrong.")
}

// takeGuess counts a guess unless there were too many.
func (s *Service) takeGuess(ctx context.Context) (guess, error) {
	var g guess
	id := s.ids.New()
	err := s.db.InTx(ctx, func(tx node.Tx) error {
		owner, hash, err := s.store.LockOwner(tx)
		if err != nil {
			return err
		}
		count, oldest, err := s.store.PasswordGuesses(tx, tx.Now().Add(-GuessWindow))
		if err != nil {
			return err
		}
		g = guess{id: id, owner: owner, password: Password{phc: hash}}
		if count >= MaxGuesses {
			g.refused, g.wait = true, oldest.Add(GuessWindow).Sub(tx.Now())
			return nil
		}
		return s.store.InsertPasswordGuess(tx, id, tx.Now())
	})
	return g, err
}

func tooManyGuesses(wait time.Duration) error {
	seconds := max(1, int(math.Ceil(wait.Seconds())))
	err := node.Errorf(node.RateLimited, "Too many wrong passwords: try again in %d seconds.", seconds)
	err.Details = map[string]any{"retryAfterSeconds": seconds}
	return err
}
