package owner

import (
	"context"

	"agentlink/node"
	"agentlink/node/audit"
)

// byPassword is the kind of guesses at the password on the dashboard's page.
var byPassword = kind{bucket: "password", how: HowPassword, plural: "passwords"}

// again is the kind of guesses within a session: nobody without one can use
// them up.
func again(s Session, how How, plural string) kind {
	return kind{bucket: "again " + s.ID, how: how, plural: plural}
}

// SignInByPassword opens a session. Codes: those of CheckPassword.
func (a *Access) SignInByPassword(ctx context.Context, client Client, password string) (cookie string, s Session, err error) {
	err = a.owner.checkPassword(ctx, stranger, byPassword, password, func(tx node.Tx, owner Owner) (err error) {
		cookie, s, err = a.open(tx, owner, HowPassword, client)
		return err
	})
	return cookie, s, err
}

// ConfirmByPassword makes a session fresh. Codes: those of CheckPassword;
// unauthorized where the session has ended.
func (a *Access) ConfirmByPassword(ctx context.Context, s Session, password string) error {
	kind := again(s, HowPassword, "passwords")
	return a.owner.checkPassword(ctx, s.Actor(), kind, password, func(tx node.Tx, _ Owner) error {
		return a.confirm(tx, s, HowPassword)
	})
}

// confirm marks a session as fresh.
func (a *Access) confirm(tx node.Tx, s Session, how How) error {
	s, err := a.Still(tx, s)
	if err != nil {
		return err
	}
	if err := a.store.ConfirmSession(tx, s.ID, tx.Now()); err != nil {
		return err
	}
	return a.log.Append(tx, audit.Event{
		Type: audit.OwnerConfirmed, Actor: s.Actor(), Subject: s.ID, Data: map[string]any{"how": string(how)},
	})
}

// NeedsCurrentPassword says whether a session sets a new password only with the
// old one. Who came in by a passkey or a recovery code may have forgotten it.
func (a *Access) NeedsCurrentPassword(tx node.Tx, s Session) (bool, error) {
	s, err := a.Still(tx, s)
	if err != nil || s.How == HowPasskey || s.How == HowRecovery {
		return false, err
	}
	return a.owner.HasPassword(tx)
}

// SetPassword sets or replaces the password and ends the other sessions, which
// somebody else may have opened with the old one. current is looked at where
// NeedsCurrentPassword says so. Codes: bad_request for the field "password";
// unauthorized without a fresh session; those of CheckPassword.
func (a *Access) SetPassword(ctx context.Context, s Session, current, text string) error {
	password, err := NewPassword(text)
	if err != nil {
		return err
	}
	needs := false
	err = a.db.View(ctx, func(tx node.Tx) (err error) {
		needs, err = a.NeedsCurrentPassword(tx, s)
		return err
	})
	switch {
	case err != nil:
		return err
	case needs:
		return a.owner.checkPassword(ctx, s.Actor(), again(s, HowPassword, "passwords"), current, func(tx node.Tx, _ Owner) error {
			return a.replacePassword(tx, s, password)
		})
	}
	return a.db.InTx(ctx, func(tx node.Tx) error { return a.replacePassword(tx, s, password) })
}

func (a *Access) replacePassword(tx node.Tx, s Session, password Password) error {
	s, first, err := a.mayChangeWays(tx, s)
	if err != nil {
		return err
	}
	if err := a.owner.SetPassword(tx, s.Actor(), password); err != nil {
		return err
	}
	if _, err := a.EndOtherSessions(tx, s.Actor(), s.ID); err != nil {
		return err
	}
	return a.firstWayIn(tx, s, first, HowPassword)
}
