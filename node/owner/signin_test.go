package owner_test

import (
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/owner"
)

// atOnce calls use from many at once, and counts the sessions that are opened;
// the others have to be refused, and cleanly.
func (w world) atOnce(times int, use func() (string, owner.Session, error)) int64 {
	w.Helper()
	var opened atomic.Int64
	var done sync.WaitGroup
	for range times {
		done.Go(func() {
			cookie, _, err := use()
			switch code := node.CodeOf(err); {
			case err == nil && cookie != "":
				opened.Add(1)
			case err == nil || cookie != "" || (code != node.Unauthorized && code != node.RateLimited && code != node.Conflict):
				w.Errorf("cookie %q, %v", cookie, err)
			}
		})
	}
	done.Wait()
	return opened.Load()
}

// Wrong passwords at the dashboard's door shut that door alone, and not for an
// owner who is in.
func TestDoorsAreCountedApart(t *testing.T) {
	eachSetUp(t, func(w world) {
		cookie, s := w.signIn()
		p := newPhone(w.T)
		w.add(p, w.home, s)
		for range owner.MaxGuesses {
			_, _, err := w.access.SignInByPassword(w.Context(), someone, "wrong "+password)
			w.want(err, node.Unauthorized)
		}
		_, _, err := w.access.SignInByPassword(w.Context(), someone, password)
		w.want(err, node.RateLimited)
		if e, _ := node.AsError(err); e.Details["retryAfterSeconds"] != 60 {
			t.Errorf("details %v", e.Details)
		}
		w.want(w.owner.CheckPassword(w.Context(), node.Actor{Kind: node.ActorOwner}, password), "")
		w.want(w.access.ConfirmByPassword(w.Context(), s, password), "")
		_, _, err = w.access.SignInByPasskey(w.Context(), w.home, someone, p.get(w.T, w.beginSignIn(w.home), origins[0], "localhost"))
		w.want(err, "")
		if !w.open(cookie) || w.count(audit.OwnerAuthFailed) != owner.MaxGuesses {
			t.Errorf("%d refusals in the log", w.count(audit.OwnerAuthFailed))
		}
		w.clock.Advance(owner.GuessWindow)
		w.signIn()
	})
}

func TestRecoveryCodes(t *testing.T) {
	eachSetUp(t, func(w world) {
		_, s := w.signIn()
		state := func() (state owner.RecoveryCodes) {
			w.in(func(tx node.Tx) (err error) {
				state, err = w.access.RecoveryCodes(tx)
				return err
			})
			return state
		}
		if got := state(); got.Left != 0 || !got.MadeAt.IsZero() {
			t.Errorf("before: %+v", got)
		}
		var old, codes []string
		w.in(func(tx node.Tx) (err error) {
			if old, err = w.access.MakeRecoveryCodes(tx, s); err != nil {
				return err
			}
			codes, err = w.access.MakeRecoveryCodes(tx, s)
			return err
		})
		form := regexp.MustCompile(`^[0-9a-hjkmnp-tv-z]{4}(-[0-9a-hjkmnp-tv-z]{4}){6}$`)
		for _, code := range codes {
			if !form.MatchString(code) {
				t.Errorf("a code is %q", code)
			}
		}
		_, _, err := w.access.SignInByRecoveryCode(w.Context(), someone, old[0])
		w.want(err, node.Unauthorized)

		written := strings.ReplaceAll(strings.ReplaceAll(strings.ToUpper(codes[0]), "-", " "), "0", "O")
		cookie, opened, err := w.access.SignInByRecoveryCode(w.Context(), someone, " "+strings.ReplaceAll(written, "1", "l"))
		w.want(err, "")
		if !w.open(cookie) || opened.How != owner.HowRecovery || state().Left != owner.RecoveryCodeCount-1 {
			t.Errorf("session %+v, %+v", opened, state())
		}
		_, _, err = w.access.SignInByRecoveryCode(w.Context(), someone, codes[0])
		w.want(err, node.Unauthorized)
		if w.count(audit.OwnerRecoveryCodesMade) != 2 || w.count(audit.OwnerRecoveryCodeUsed) != 1 {
			t.Error("the log lacks codes made, or used")
		}

		w.clock.Advance(owner.FreshTime)
		w.want(w.try(func(tx node.Tx) error {
			_, err := w.access.MakeRecoveryCodes(tx, s)
			return err
		}), node.Unauthorized)
	})
}

func TestRecoveryCodesAreLimited(t *testing.T) {
	eachSetUp(t, func(w world) {
		_, s := w.signIn()
		var codes []string
		w.in(func(tx node.Tx) (err error) {
			codes, err = w.access.MakeRecoveryCodes(tx, s)
			return err
		})
		for range owner.MaxGuesses {
			_, _, err := w.access.SignInByRecoveryCode(w.Context(), someone, "0000-0000-0000-0000")
			w.want(err, node.Unauthorized)
		}
		_, _, err := w.access.SignInByRecoveryCode(w.Context(), someone, codes[0])
		w.want(err, node.RateLimited)
		w.clock.Advance(owner.GuessWindow)
		_, _, err = w.access.SignInByRecoveryCode(w.Context(), someone, codes[0])
		w.want(err, "")
	})
}

// A password stays good until its owner changes it, however old it is.
func TestPasswordStaysGood(t *testing.T) {
	eachSetUp(t, func(w world) {
		w.clock.Advance(10 * 365 * 24 * time.Hour)
		_, _, err := w.access.SignInByPassword(w.Context(), someone, password)
		w.want(err, "")
	})
}

// A new password puts everybody else out, and the session that set it stays.
func TestSetPassword(t *testing.T) {
	eachSetUp(t, func(w world) {
		other, _ := w.signIn()
		cookie, s := w.signIn()
		w.want(w.access.SetPassword(w.Context(), s, "wrong "+password, "another "+password), node.Unauthorized)
		w.want(w.access.SetPassword(w.Context(), s, password, "another "+password), "")
		if w.open(other) || !w.open(cookie) {
			t.Error("the other session is open, or this one is not")
		}
		_, _, err := w.access.SignInByPassword(w.Context(), someone, password)
		w.want(err, node.Unauthorized)
		_, _, err = w.access.SignInByPassword(w.Context(), someone, "another "+password)
		w.want(err, "")
	})
}

// What a browser says of itself is kept short and readable, and a session that
// is over is listed no longer.
func TestListedSessions(t *testing.T) {
	eachSetUp(t, func(w world) {
		long := owner.Client{UserAgent: strings.Repeat("é", 5000) + "\xff", IP: "2001:db8::1"}
		_, s, err := w.access.SignInByPassword(w.Context(), long, password)
		w.want(err, "")
		w.in(func(tx node.Tx) error {
			all, err := w.access.Sessions(tx)
			if len(all) != 1 || all[0].ID != s.ID || len([]rune(all[0].UserAgent)) != 300 || !strings.HasSuffix(all[0].UserAgent, "…") {
				t.Errorf("user agent of %d characters", len([]rune(all[0].UserAgent)))
			}
			return err
		})
		w.clock.Advance(owner.IdleTime)
		w.in(func(tx node.Tx) error {
			all, err := w.access.Sessions(tx)
			if len(all) != 0 {
				t.Errorf("sessions that are over are listed: %+v", all)
			}
			return err
		})
		w.clock.Advance(time.Minute)
		w.signIn()
	})
}
