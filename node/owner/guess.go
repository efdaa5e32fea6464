package owner

import (
	"context"
	"math"
	"time"

	"agentlink/node"
	"agentlink/node/audit"
)

// MaxGuesses wrong guesses of one kind in GuessWindow are taken; then every
// guess of that kind is refused unread until the oldest of them is that old.
const (
	MaxGuesses  = 10
	GuessWindow = time.Minute
)

// kind is what is guessed at and through which door. Each kind has a count of
// its own, so that a stranger who may only knock at one door shuts no other.
type kind struct {
	bucket string
	how    How
	plural string // for people
}

// commandLine is the kind of guesses that come through the owner's socket.
var commandLine = kind{bucket: "command line", how: HowPassword, plural: "passwords"}

// guess is a counted attempt, and what it is compared with.
type guess struct {
	id       string
	kind     kind
	owner    Owner
	password Password
	refused  bool
	wait     time.Duration // until another guess is taken, where this one is refused
}

// take counts a guess before it is looked at, so that no number of attempts at
// once gets more than MaxGuesses through. Codes: rate_limited with
// details.retryAfterSeconds; not_found where the node has no owner yet.
func (s *Service) take(ctx context.Context, kind kind) (guess, error) {
	var g guess
	id := s.ids.New()
	err := s.db.InTx(ctx, func(tx node.Tx) error {
		owner, hash, err := s.store.LockOwner(tx)
		if err != nil {
			return err
		}
		count, oldest, err := s.store.Guesses(tx, kind.bucket, tx.Now().Add(-GuessWindow))
		if err != nil {
			return err
		}
		g = guess{id: id, kind: kind, owner: owner, password: Password{phc: hash}}
		if count >= MaxGuesses {
			g.refused, g.wait = true, oldest.Add(GuessWindow).Sub(tx.Now())
			return nil
		}
		return s.store.InsertGuess(tx, kind.bucket, id, tx.Now())
	})
	if err == nil && g.refused {
		err = tooMany(kind, g.wait)
	}
	return g, err
}

// forget gives a guess back that was right.
func (s *Service) forget(tx node.Tx, g guess) error { return s.store.DeleteGuess(tx, g.id) }

// wrong puts a guess that was wrong into the audit log. why is "" where the kind
// says it all.
func (s *Service) wrong(ctx context.Context, actor node.Actor, g guess, why string) error {
	return s.db.InTx(ctx, func(tx node.Tx) error { return s.recordWrong(tx, actor, g, why) })
}

func (s *Service) recordWrong(tx node.Tx, actor node.Actor, g guess, why string) error {
	actor.OwnerID = g.owner.ID
	data := map[string]any{"how": string(g.kind.how)}
	if why != "" {
		data["why"] = why
	}
	return s.log.Append(tx, audit.Event{Type: audit.OwnerAuthFailed, Actor: actor, Subject: g.owner.ID, Data: data})
}

func tooMany(kind kind, wait time.Duration) error {
	seconds := max(1, int(math.Ceil(wait.Seconds())))
	err := node.Errorf(node.RateLimited, "Too many wrong %s: try again in %d seconds.", kind.plural, seconds)
	err.Details = map[string]any{"retryAfterSeconds": seconds}
	return err
}
