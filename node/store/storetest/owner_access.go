package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
	"agentlink/node/owner"
	"agentlink/node/store"
)

// OwnerAccess tests what lets the owner into the dashboard.
func OwnerAccess(t *testing.T, open func(t *testing.T) *store.Store) {
	for name, test := range map[string]func(*testing.T, *store.Store){
		"sessions":       sessions,
		"many sessions":  manySessions,
		"owner seen":     ownerSeen,
		"links":          links,
		"passkeys":       passkeys,
		"challenges":     challenges,
		"recovery codes": recoveryCodes,
		"once":           onlyOnce,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

func sessions(t *testing.T, s *store.Store) {
	var want owner.Session
	inTx(t, s, func(tx node.Tx) error {
		_, err := s.SessionByHash(tx, "h1")
		wantCode(t, err, node.NotFound)
		wantCode(t, s.ConfirmSession(tx, "s1", tx.Now()), node.NotFound)
		want = owner.Session{
			ID: "s1", OwnerID: "o1", How: owner.HowPasskey, UserAgent: "A browser", IP: "192.0.2.7",
			CreatedAt: tx.Now(), LastSeenAt: tx.Now(), ConfirmedAt: tx.Now(), PreviousAt: tx.Now().Add(-time.Hour),
		}
		return s.InsertSession(tx, want, "h1")
	})
	inTx(t, s, func(tx node.Tx) error {
		listed, err := s.Sessions(tx)
		if diff := cmp.Diff([]owner.Session{want}, listed); diff != "" {
			t.Errorf("listed (-want +got):\n%s", diff)
		}
		want.UserAgent, want.IP = "", "" // a page does not need them
		byHash, errHash := s.SessionByHash(tx, "h1")
		byID, errID := s.SessionByID(tx, "s1")
		if diff := cmp.Diff([]owner.Session{want, want}, []owner.Session{byHash, byID}); diff != "" {
			t.Errorf("found (-want +got):\n%s", diff)
		}
		return errors.Join(err, errHash, errID)
	})
	inTx(t, s, func(tx node.Tx) error {
		later := want.LastSeenAt.Add(time.Minute)
		err := errors.Join(
			s.TouchSession(tx, "s1", later, later.Add(-time.Second)),
			s.TouchSession(tx, "s1", later.Add(-time.Second), time.Time{}), // an older page
			s.ConfirmSession(tx, "s1", later))
		want.LastSeenAt, want.PreviousAt, want.ConfirmedAt = later, later.Add(-time.Second), later
		got, errGot := s.SessionByID(tx, "s1")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("touched (-want +got):\n%s", diff)
		}
		return errors.Join(err, errGot)
	})
	inTx(t, s, func(tx node.Tx) error {
		was, err := s.DeleteSession(tx, "s1")
		again, errAgain := s.DeleteSession(tx, "s1")
		if !was || again {
			t.Errorf("deleted %v, then %v", was, again)
		}
		return errors.Join(err, errAgain)
	})
}

func manySessions(t *testing.T, s *store.Store) {
	const more = owner.MaxSessions + 5
	inTx(t, s, func(tx node.Tx) error {
		for i := range more {
			at := tx.Now().Add(time.Duration(i) * time.Minute)
			x := owner.Session{ID: fmt.Sprintf("s%03d", i), OwnerID: "o1", How: owner.HowLink, CreatedAt: at, LastSeenAt: at, ConfirmedAt: at}
			if err := s.InsertSession(tx, x, x.ID); err != nil {
				return err
			}
		}
		listed, err := s.Sessions(tx)
		if len(listed) != owner.MaxSessions || listed[0].ID != fmt.Sprintf("s%03d", more-1) {
			t.Errorf("%d listed, first %s", len(listed), listed[0].ID)
		}
		// Those of minute 10 and before are idle, those of minute 20 and before old.
		err = errors.Join(err, s.DeleteOverSessions(tx, tx.Now().Add(10*time.Minute), tx.Now().Add(20*time.Minute)))
		_, errOver := s.SessionByID(tx, "s020")
		wantCode(t, errOver, node.NotFound)
		_, errOpen := s.SessionByID(tx, "s021")
		return errors.Join(err, errOpen)
	})
}

func ownerSeen(t *testing.T, s *store.Store) {
	inTx(t, s, func(tx node.Tx) error {
		_, err := s.SeeOwner(tx, tx.Now())
		wantCode(t, err, node.NotFound)
		_, err = s.InsertOwner(tx, owner.Owner{ID: "o1", Name: "Ada", CreatedAt: tx.Now()}, "hash")
		return err
	})
	inTx(t, s, func(tx node.Tx) error {
		at := tx.Now()
		first, err1 := s.SeeOwner(tx, at)
		second, err2 := s.SeeOwner(tx, at.Add(time.Minute))
		third, err3 := s.SeeOwner(tx, at.Add(-time.Hour)) // a slower replica
		fourth, err4 := s.SeeOwner(tx, at.Add(time.Hour))
		if diff := cmp.Diff([]time.Time{{}, at, at.Add(time.Minute), at.Add(time.Minute)}, []time.Time{first, second, third, fourth}); diff != "" {
			t.Errorf("seen before (-want +got):\n%s", diff)
		}
		return errors.Join(err1, err2, err3, err4)
	})
}

func links(t *testing.T, s *store.Store) {
	var link owner.Link
	use := func(tx node.Tx, hash string, purpose owner.Purpose, want bool) {
		t.Helper()
		if used, err := s.UseLink(tx, hash, purpose); used != want || err != nil {
			t.Errorf("using %s as %s: %v, %v; want %v", hash, purpose, used, err, want)
		}
	}
	inTx(t, s, func(tx node.Tx) error {
		link = owner.Link{Purpose: owner.LinkSignIn, CreatedAt: tx.Now(), ExpiresAt: tx.Now().Add(time.Hour)}
		over := owner.Link{Purpose: owner.LinkSignIn, CreatedAt: tx.Now(), ExpiresAt: tx.Now()}
		setUp := owner.Link{Purpose: owner.LinkSetUp, CreatedAt: tx.Now(), ExpiresAt: tx.Now().Add(time.Hour)}
		err := errors.Join(s.InsertLink(tx, over, "over", time.Time{}), s.InsertLink(tx, link, "good", time.Time{}), s.InsertLink(tx, setUp, "setup", time.Time{}))
		use(tx, "unknown", owner.LinkSignIn, false)
		use(tx, "over", owner.LinkSignIn, false)
		use(tx, "good", owner.LinkSetUp, false)
		use(tx, "good", owner.LinkSignIn, true)
		use(tx, "good", owner.LinkSignIn, false)
		link.UsedAt = tx.Now()
		return err
	})
	inTx(t, s, func(tx node.Tx) error {
		got, err := s.LinkByHash(tx, "good")
		if diff := cmp.Diff(link, got); diff != "" {
			t.Errorf("link (-want +got):\n%s", diff)
		}
		// A new link lets those be forgotten that were over for long.
		err = errors.Join(err, s.InsertLink(tx, link, "next", link.ExpiresAt.Add(-time.Second)), s.DeleteLinks(tx, owner.LinkSetUp))
		for _, gone := range []string{"over", "setup", "unknown"} {
			_, errGone := s.LinkByHash(tx, gone)
			wantCode(t, errGone, node.NotFound)
		}
		_, errKept := s.LinkByHash(tx, "good")
		return errors.Join(err, errKept)
	})
}

func passkeys(t *testing.T, s *store.Store) {
	var first, second owner.Passkey
	inTx(t, s, func(tx node.Tx) error {
		_, err := s.LockPasskey(tx, []byte{1, 2})
		wantCode(t, err, node.NotFound)
		first = owner.Passkey{
			ID: "p1", OwnerID: "o1", Name: "Telephone", Party: "localhost", CredentialID: []byte{1, 2},
			Credential: []byte(`{"id":"AQI="}`), CreatedAt: tx.Now(),
		}
		second = first
		second.ID, second.CredentialID, second.CreatedAt = "p2", []byte{1, 3}, tx.Now().Add(time.Second)
		same := first
		same.ID = "p3"
		for _, insert := range []struct {
			passkey owner.Passkey
			want    bool
		}{{second, true}, {first, true}, {same, false}} {
			if fresh, err := s.InsertPasskey(tx, insert.passkey); fresh != insert.want || err != nil {
				t.Errorf("inserting %s: %v, %v", insert.passkey.ID, fresh, err)
			}
		}
		return nil
	})
	inTx(t, s, func(tx node.Tx) error {
		used, err := s.LockPasskey(tx, []byte{1, 2})
		if diff := cmp.Diff(first, used); diff != "" {
			t.Errorf("locked (-want +got):\n%s", diff)
		}
		first.Credential, first.LastUsedAt = []byte(`{"id":"AQI=","n":2}`), tx.Now()
		return errors.Join(err, s.UsedPasskey(tx, first))
	})
	inTx(t, s, func(tx node.Tx) error {
		all, err := s.Passkeys(tx)
		if diff := cmp.Diff([]owner.Passkey{first, second}, all); diff != "" {
			t.Errorf("passkeys (-want +got):\n%s", diff)
		}
		was, errWas := s.DeletePasskey(tx, "p1")
		again, errAgain := s.DeletePasskey(tx, "p1")
		if !was || again {
			t.Errorf("deleted %v, then %v", was, again)
		}
		wantCode(t, s.UsedPasskey(tx, first), node.NotFound)
		return errors.Join(err, errWas, errAgain)
	})
}

func challenges(t *testing.T, s *store.Store) {
	inTx(t, s, func(tx node.Tx) error {
		for _, spend := range []struct {
			hash string
			over time.Time
			want bool
		}{
			{"a", tx.Now().Add(time.Minute), true}, {"a", tx.Now().Add(time.Minute), false},
			{"over", tx.Now(), true}, {"b", tx.Now().Add(time.Minute), true},
			{"over", tx.Now(), true}, // what is over is forgotten: the caller has looked at the time
		} {
			if first, err := s.SpendChallenge(tx, spend.hash, spend.over); first != spend.want || err != nil {
				t.Errorf("spending %s: %v, %v; want %v", spend.hash, first, err, spend.want)
			}
		}
		return nil
	})
}

func recoveryCodes(t *testing.T, s *store.Store) {
	counted := func(tx node.Tx, left int, madeAt time.Time) {
		t.Helper()
		if got, at, err := s.RecoveryCodes(tx); got != left || !at.Equal(madeAt) || err != nil {
			t.Errorf("%d codes of %v, %v; want %d of %v", got, at, err, left, madeAt)
		}
	}
	inTx(t, s, func(tx node.Tx) error {
		counted(tx, 0, time.Time{})
		if err := s.ReplaceRecoveryCodes(tx, "o1", []string{"a", "b"}); err != nil {
			return err
		}
		counted(tx, 2, tx.Now())
		for _, use := range []struct {
			hash string
			want bool
		}{{"a", true}, {"a", false}, {"c", false}, {"b", true}} {
			if used, err := s.UseRecoveryCode(tx, use.hash); used != use.want || err != nil {
				t.Errorf("using %s: %v, %v", use.hash, used, err)
			}
		}
		counted(tx, 0, tx.Now())
		if err := s.ReplaceRecoveryCodes(tx, "o1", []string{"c"}); err != nil {
			return err
		}
		counted(tx, 1, tx.Now())
		return nil
	})
}

// onlyOnce: of 100 transactions at once that use the same thing, one succeeds.
func onlyOnce(t *testing.T, s *store.Store) {
	inTx(t, s, func(tx node.Tx) error {
		link := owner.Link{Purpose: owner.LinkSignIn, CreatedAt: tx.Now(), ExpiresAt: tx.Now().Add(time.Hour)}
		return errors.Join(s.InsertLink(tx, link, "link", time.Time{}), s.ReplaceRecoveryCodes(tx, "o1", []string{"code"}))
	})
	for name, use := range map[string]func(tx node.Tx) (bool, error){
		"link":      func(tx node.Tx) (bool, error) { return s.UseLink(tx, "link", owner.LinkSignIn) },
		"code":      func(tx node.Tx) (bool, error) { return s.UseRecoveryCode(tx, "code") },
		"challenge": func(tx node.Tx) (bool, error) { return s.SpendChallenge(tx, "challenge", tx.Now().Add(time.Hour)) },
	} {
		var successes atomic.Int64
		var done sync.WaitGroup
		for range 100 {
			done.Go(func() {
				used := false
				err := s.InTx(t.Context(), func(tx node.Tx) (err error) {
					used, err = use(tx)
					return err
				})
				if err != nil {
					t.Error(err)
				}
				if used {
					successes.Add(1)
				}
			})
		}
		done.Wait()
		if successes.Load() != 1 {
			t.Errorf("the %s was used %d times", name, successes.Load())
		}
	}
}
