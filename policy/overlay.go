package policy

import (
	"fmt"
	"time"

	"agentlink/node"
	"agentlink/node/audit"
)

// OverlayPackage is the Rego package of the owner's own rules, MaxOverlay the
// longest text of them, in bytes. node/docs/overlay.md says what they read and
// answer.
const (
	OverlayPackage = "overlay"
	MaxOverlay     = 16 << 10
)

// Overlay is a version of the owner's own rules. They hold beside the node's for
// all agents of the owner, and only make an answer stricter.
type Overlay struct {
	ID, OwnerID string
	Number      int64     // 1 for the first; 0 where there never was one
	Version     string    // SHA-256 of the text, hex; "" where the rules were removed
	Source      string    // Rego; sealed at rest
	CreatedAt   time.Time // when they came into force
}

// Problem is something in a text that keeps it from being the owner's rules. Line
// 0 is the whole text.
type Problem struct {
	Line int    `json:"line,omitempty"`
	Text string `json:"text"`
}

// String is the problem as a person reads it: "line 3: …".
func (p Problem) String() string {
	if p.Line == 0 {
		return p.Text
	}
	return fmt.Sprintf("line %d: %s", p.Line, p.Text)
}

// BadOverlay refuses a text. Code: bad_request, with a field for each problem.
func BadOverlay(problems []Problem) error {
	fields := make([]node.Field, len(problems))
	for i, problem := range problems {
		fields[i] = node.Field{Field: "overlay", Problem: problem.String()}
	}
	return node.BadFields(fields...)
}

// OverlayStore keeps the versions of the owner's own rules. None is ever changed.
type OverlayStore interface {
	// InsertOverlay is false, and writes nothing, where the owner has a version with
	// this number.
	InsertOverlay(tx node.Tx, o Overlay) (fresh bool, err error)
	// Overlays lists them, the newest first, below a number (0: from the newest).
	Overlays(tx node.Tx, ownerID string, below int64, limit int) ([]Overlay, error)
}

// Overlay gives the owner's own rules; the zero Overlay where there never were any.
// Code: policy_denied (not the owner).
func (s *Service) Overlay(tx node.Tx, actor node.Actor) (Overlay, error) {
	list, err := s.Overlays(tx, actor, 0, 1)
	if err != nil || len(list) == 0 {
		return Overlay{}, err
	}
	return list[0], nil
}

// Overlays lists the versions, the newest first. Code: policy_denied (not the owner).
func (s *Service) Overlays(tx node.Tx, actor node.Actor, below int64, limit int) ([]Overlay, error) {
	if err := mayChange(actor); err != nil {
		return nil, err
	}
	return s.Store.Overlays(tx, actor.OwnerID, below, limit)
}

// SetOverlay puts a text in the place of the owner's own rules; "" removes them.
// Seen is the number of those that it is to replace. In the same transaction every
// agent's rules are raised, so that no replica answers by the old ones. Codes:
// bad_request (what is wrong, by line), conflict, policy_denied (not the owner).
func (s *Service) SetOverlay(tx node.Tx, actor node.Actor, source string, seen int64) (Overlay, error) {
	if err := mayChange(actor); err != nil {
		return Overlay{}, err
	}
	next := Overlay{ID: s.IDs.New(), OwnerID: actor.OwnerID, Number: seen + 1, Source: source, CreatedAt: tx.Now()}
	if source != "" {
		version, problems := s.Imaginer.CheckOverlay(source)
		if len(problems) > 0 {
			return Overlay{}, BadOverlay(problems)
		}
		next.Version = version
	}
	if err := s.raiseAll(tx, actor); err != nil {
		return Overlay{}, err
	}
	now, err := s.Overlay(tx, actor)
	if err != nil {
		return Overlay{}, err
	}
	if now.Number != seen {
		return Overlay{}, errOverlayChanged()
	}
	if now.Version == next.Version {
		return now, nil
	}
	fresh, err := s.Store.InsertOverlay(tx, next)
	if err == nil && !fresh {
		err = errOverlayChanged()
	}
	if err != nil {
		return Overlay{}, err
	}
	what := audit.OverlaySet
	if source == "" {
		what = audit.OverlayRemoved
	}
	return next, s.audit(tx, actor, what, "", next.ID, map[string]any{"number": next.Number, "version": next.Version, "old": now.Version})
}

func errOverlayChanged() error {
	return node.ConflictFor(node.ReasonBadState, "Your own rules have changed since this was shown. Look at them again.")
}

// raiseAll raises the rules of every agent of the owner, in the order of ids, so
// that two of these do not wait for each other.
func (s *Service) raiseAll(tx node.Tx, actor node.Actor) error {
	agents, err := s.agentsOf(tx, actor.OwnerID)
	for _, agent := range agents {
		if _, err := s.raise(tx, actor, agent.ID); err != nil {
			return err
		}
	}
	return err
}
