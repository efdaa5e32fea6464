package owner

import (
	"context"

	"agentlink/node"
)

// SetUp says how far the node's set-up has come.
type SetUp struct {
	Owner Owner // zero before the owner has named themselves
	// WayIn says whether the owner has a password or a passkey.
	WayIn bool
	Codes bool // recovery codes were made
}

// Done says whether the node can be used.
func (s SetUp) Done() bool { return s.Owner.ID != "" && s.WayIn }

// SetUp reads how far it has come.
func (a *Access) SetUp(tx node.Tx) (s SetUp, err error) {
	if s.Owner, err = a.owner.Owner(tx); err != nil {
		if node.CodeOf(err) == node.NotFound {
			err = nil
		}
		return SetUp{}, err
	}
	if s.WayIn, err = a.hasWayIn(tx); err != nil {
		return SetUp{}, err
	}
	codes, err := a.RecoveryCodes(tx)
	s.Codes = !codes.MadeAt.IsZero()
	return s, err
}

// NeedsWayIn says whether a session is to go on with the set-up: its owner has no
// way in yet.
func (a *Access) NeedsWayIn(tx node.Tx, s Session) (bool, error) {
	if s.How != HowSetUp {
		return false, nil
	}
	found, err := a.hasWayIn(tx)
	return !found, err
}

// hasWayIn does not count recovery codes, which run out.
func (a *Access) hasWayIn(tx node.Tx) (bool, error) {
	password, err := a.owner.HasPassword(tx)
	if err != nil || password {
		return password, err
	}
	passkeys, err := a.store.Passkeys(tx)
	return len(passkeys) > 0, err
}

// SetUpLink makes the link that a node prints at its start while its set-up is
// not done. needed is false where it is.
func (a *Access) SetUpLink(ctx context.Context) (link Link, needed bool, err error) {
	err = a.db.InTx(ctx, func(tx node.Tx) error {
		setUp, err := a.SetUp(tx)
		if needed = err == nil && !setUp.Done(); !needed {
			return err
		}
		link, err = a.OneTimeLink(tx, node.Actor{Kind: node.ActorNode, OwnerID: setUp.Owner.ID}, LinkSetUp)
		return err
	})
	return link, needed, err
}

// BeginSetUp uses the link up, makes the owner, who has no way in yet, and opens
// their first session. Where a set-up was left after that step it goes on, and
// name is not looked at. Codes: unauthorized, bad_request for the field "name".
func (a *Access) BeginSetUp(ctx context.Context, client Client, secret, name string) (cookie string, s Session, err error) {
	var refused error
	err = a.db.InTx(ctx, func(tx node.Tx) error {
		if refused, err = a.spend(tx, stranger, LinkSetUp, secret); err != nil || refused != nil {
			return err
		}
		setUp, err := a.SetUp(tx)
		if err != nil {
			return err
		}
		if setUp.Done() { // another link was quicker
			refused = node.Errorf(node.Unauthorized, "The node is set up already: sign in.")
			return nil
		}
		if setUp.Owner.ID == "" {
			if setUp.Owner, err = a.owner.Create(tx, stranger, name, Password{}); err != nil {
				return err
			}
		}
		cookie, s, err = a.open(tx, setUp.Owner, HowSetUp, client)
		return err
	})
	if err == nil {
		err = refused
	}
	return cookie, s, err
}

// mayChangeWays locks the owner, gives the session as it is now, and says whether
// there is no way in yet: then the session of the set-up may make the first one,
// fresh or not. Code: unauthorized.
func (a *Access) mayChangeWays(tx node.Tx, s Session) (now Session, first bool, err error) {
	if _, _, err := a.owner.store.LockOwner(tx); err != nil {
		return Session{}, false, err
	}
	if now, err = a.Still(tx, s); err != nil {
		return Session{}, false, err
	}
	found, err := a.hasWayIn(tx)
	if err != nil {
		return Session{}, false, err
	}
	if !found && now.How == HowSetUp {
		return now, true, nil
	}
	now, err = a.confirmed(tx, now)
	return now, false, err
}

// firstWayIn ends the set-up's links and its other sessions, and takes what was
// just added as a sign-in.
func (a *Access) firstWayIn(tx node.Tx, s Session, first bool, how How) error {
	if !first {
		return nil
	}
	if err := a.store.DeleteLinks(tx, LinkSetUp); err != nil {
		return err
	}
	if _, err := a.EndOtherSessions(tx, s.Actor(), s.ID); err != nil {
		return err
	}
	return a.confirm(tx, s, how)
}
