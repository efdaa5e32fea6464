package owner

import (
	"context"

	"agentlink/node"
)

// CheckPassword says whether text is the owner's password: nil when it is.
//
// It opens transactions of its own and must not be called inside one: the count
// of guesses and the audit row have to last although the answer is an error, and
// the hash takes too long to hold a lock meanwhile.
//
// Codes: unauthorized; rate_limited with details.retryAfterSeconds; not_found
// where the node has no owner yet; conflict where the owner has no password.
func (s *Service) CheckPassword(ctx context.Context, actor node.Actor, text string) error {
	return s.checkPassword(ctx, actor, commandLine, text, func(node.Tx, Owner) error { return nil })
}

// checkPassword is CheckPassword for any door. then is done in the transaction
// that forgets the guess, where the password was right.
func (s *Service) checkPassword(ctx context.Context, actor node.Actor, kind kind, text string, then func(node.Tx, Owner) error) error {
	// One at a time: what waits here is not counted yet, and so owners who are
	// right many times at once do not shut themselves out.
	select {
	case s.checking <- struct{}{}:
		defer func() { <-s.checking }()
	case <-ctx.Done():
		return &node.Error{Code: node.Unavailable, Message: "The password was not checked in time.", Err: ctx.Err()}
	}
	g, err := s.take(ctx, kind)
	if err != nil {
		return err
	}
	return s.settle(context.WithoutCancel(ctx), actor, g, text, then)
}

// settle compares. It is not cut short by a caller that leaves, or a wrong
// password could go without its audit row.
func (s *Service) settle(ctx context.Context, actor node.Actor, g guess, text string, then func(node.Tx, Owner) error) error {
	right, err := g.password.matches(text)
	if err != nil {
		return node.Wrap(err, "compare a password")
	}
	if !right {
		if err := s.wrong(ctx, actor, g, ""); err != nil {
			return err
		}
		return refusal(g.password)
	}
	return s.db.InTx(ctx, func(tx node.Tx) error {
		if err := s.forget(tx, g); err != nil {
			return err
		}
		return then(tx, g.owner)
	})
}

func refusal(password Password) error {
	if password.none() {
		return node.ConflictFor(node.ReasonBadState, "The owner has no password: set one in the dashboard's settings.")
	}
	return node.Errorf(node.Unauthorized, "The password is wrong.")
}
