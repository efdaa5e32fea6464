package coordination

import (
	"context"
	"time"

	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/identity"
)

// keepKeys tells contacts again of a key that they have not decided about, and
// erases earlier keys that nobody goes by, or that were kept long enough.
func (s *Service) keepKeys(ctx context.Context) (more bool, err error) {
	if s.Keys == nil {
		return false, nil
	}
	var waiting []Connection
	var retired []identity.Retired
	err = s.DB.View(ctx, func(tx node.Tx) (err error) {
		if waiting, err = s.Store.TellKeyAgain(tx, s.Clock.Now().Add(-tellAgain), batch); err == nil {
			retired, err = s.Keys.Retired(tx)
		}
		return err
	})
	for _, c := range waiting {
		if err == nil {
			err = s.DB.InTx(ctx, func(tx node.Tx) error { return s.tellOnceMore(tx, c.ID) })
		}
	}
	for _, r := range retired {
		if err == nil && (r.ErasedAt.IsZero() || r.AgeIdentity != "") {
			err = s.DB.InTx(ctx, func(tx node.Tx) error { return s.letGo(tx, r) })
		}
	}
	return len(waiting) == batch, err
}

// tellOnceMore serves a contact that has lost what it was told, by a restore say.
// One that knows it already answers that.
func (s *Service) tellOnceMore(tx node.Tx, id string) error {
	c, err := s.Store.LockConnection(tx, id)
	if err != nil || c.KeyToldAt.IsZero() || tx.Now().Sub(c.KeyToldAt) < tellAgain {
		return err
	}
	if c.Status != ConnActive || c.KeyDeclined {
		c.KeyToldAt = time.Time{}
		return s.Store.SaveConnection(tx, c, c.Status)
	}
	return s.tellKey(tx, nodeActor(c.OwnerID, c.AgentID), c)
}

// letGo erases of a retired key what need no longer be there.
func (s *Service) letGo(tx node.Tx, r identity.Retired) error {
	if r.AgeIdentity != "" && tx.Now().Sub(r.RetiredAt) > LettersLife {
		if err := s.Keys.EraseAgeIdentity(tx, r.Fingerprint); err != nil {
			return err
		}
	}
	if !r.ErasedAt.IsZero() {
		return nil
	}
	holders, err := s.Store.KnowKey(tx, r.Fingerprint, 1)
	if err != nil || len(holders) > 0 && tx.Now().Sub(r.RetiredAt) < KeyPatience {
		return err
	}
	left, err := s.leaveBehind(tx, r)
	if err != nil {
		return err
	}
	if err := s.Keys.EraseSeed(tx, r.Fingerprint); err != nil {
		return err
	}
	return s.audit(tx, audit.Event{
		Type: audit.KeyErased, Actor: nodeActor(r.OwnerID, ""), Data: map[string]any{"fingerprint": r.Fingerprint, "left": left},
	})
}

// leaveBehind marks the contacts that still go by a key that is about to be erased:
// nothing that they would take can be signed for them any more.
func (s *Service) leaveBehind(tx node.Tx, r identity.Retired) (left int, err error) {
	holders, err := s.Store.KnowKey(tx, r.Fingerprint, maxLeft)
	if err != nil {
		return 0, err
	}
	for _, listed := range holders {
		c, err := s.Store.LockConnection(tx, listed.ID)
		if err != nil {
			return 0, err
		}
		if c.Status.Ended() {
			continue
		}
		left++
		c.KeyChanged, c.KeyToldAt, c.UpdatedAt = true, time.Time{}, tx.Now()
		if err := s.Store.SaveConnection(tx, c, c.Status); err != nil {
			return 0, err
		}
		if err := s.Agents.BumpRules(tx, c.AgentID); err != nil {
			return 0, err
		}
		err = s.auditKey(tx, audit.ConnectionKeyChanged, nodeActor(c.OwnerID, c.AgentID), c, map[string]any{
			"fingerprint": r.Fingerprint, "status": string(c.Status), "ours": true,
		})
		if err != nil {
			return 0, err
		}
	}
	return left, nil
}

// maxLeft bounds the contacts that one transaction leaves behind: more than anybody has.
const maxLeft = 100_000
