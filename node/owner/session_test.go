package owner_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/owner"
)

// A session lasts 12 idle hours and 30 days, and at that moment it is over.
func TestSessionEnds(t *testing.T) {
	eachSetUp(t, func(w world) {
		cookie, s := w.signIn()
		w.clock.Advance(owner.IdleTime - time.Microsecond)
		if !w.open(cookie) { // seen now
			t.Fatal("over before 12 hours")
		}
		w.clock.Advance(owner.IdleTime - time.Microsecond)
		if _, err := w.access.Look(w.Context(), cookie); err != nil { // which is no visit
			t.Errorf("over before 12 hours: %v", err)
		}
		w.clock.Advance(time.Microsecond)
		if _, err := w.access.Look(w.Context(), cookie); node.CodeOf(err) != node.Unauthorized {
			t.Errorf("open after 12 idle hours: %v", err)
		}
		if w.open(cookie) {
			t.Error("open after 12 idle hours")
		}
		w.want(w.try(func(tx node.Tx) error {
			_, err := w.access.Still(tx, s)
			return err
		}), node.Unauthorized)

		cookie, _ = w.signIn()
		for day := range 60 {
			w.clock.Advance(12*time.Hour - time.Minute)
			if w.open(cookie) != (time.Duration(day+1)*(12*time.Hour-time.Minute) < owner.SessionTime) {
				t.Fatalf("open or over at the wrong time, half day %d", day)
			}
		}
		cookie, _ = w.signIn()
		w.clock.Advance(owner.SessionTime)
		if w.open(cookie) {
			t.Error("open after 30 days")
		}
	})
}

// A page is a write once a minute only, and the idle time counts from there.
func TestSessionIsTouchedOnceAMinute(t *testing.T) {
	eachSetUp(t, func(w world) {
		cookie, s := w.signIn()
		opened := s.LastSeenAt
		for _, step := range []struct {
			advance time.Duration
			want    time.Duration
		}{{59 * time.Second, 0}, {time.Second, time.Minute}, {30 * time.Second, time.Minute}, {time.Hour, time.Minute + 30*time.Second + time.Hour}} {
			w.clock.Advance(step.advance)
			s, err := w.access.Visit(w.Context(), cookie)
			w.want(err, "")
			if got := s.LastSeenAt.Sub(opened); got != step.want {
				t.Errorf("last seen %v after it was opened, want %v", got, step.want)
			}
		}
	})
}

// The time of the visit before this one is that of any session, and stays for
// the length of a visit.
func TestPreviousVisit(t *testing.T) {
	eachSetUp(t, func(w world) {
		first, s := w.signIn()
		if !s.PreviousAt.IsZero() {
			t.Errorf("a first visit has one before it: %v", s.PreviousAt)
		}
		visit := func(cookie string, want time.Time) {
			t.Helper()
			s, err := w.access.Visit(w.Context(), cookie)
			w.want(err, "")
			if !s.PreviousAt.Equal(want) {
				t.Errorf("previous visit at %v, want %v", s.PreviousAt, want)
			}
		}
		w.clock.Advance(10 * time.Minute)
		visit(first, time.Time{})
		lastOfFirst := w.clock.Now()

		w.clock.Advance(2 * time.Hour)
		second, s := w.signIn()
		if !s.PreviousAt.Equal(lastOfFirst) {
			t.Errorf("second session: previous visit at %v, want %v", s.PreviousAt, lastOfFirst)
		}
		w.clock.Advance(5 * time.Minute)
		visit(second, lastOfFirst)
		lastOfSecond := w.clock.Now()

		w.clock.Advance(time.Hour)
		visit(first, lastOfSecond)
		w.clock.Advance(20 * time.Minute)
		visit(first, lastOfSecond)
	})
}

// An id that a browser brings is never taken over, and signing in ends the
// session that it brings.
func TestSessionFixation(t *testing.T) {
	eachSetUp(t, func(w world) {
		for _, planted := range []string{"planted", strings.Repeat("A", 43), "", " "} {
			if w.open(planted) {
				t.Fatalf("%q opens a session", planted)
			}
			cookie, _, err := w.access.SignInByPassword(w.Context(), owner.Client{Cookie: planted}, password)
			w.want(err, "")
			if cookie == planted || len(cookie) != 43 || w.open(planted) {
				t.Errorf("%q was taken over as %q", planted, cookie)
			}
		}
		before, _ := w.signIn()
		after, _, err := w.access.SignInByPassword(w.Context(), owner.Client{Cookie: before}, password)
		w.want(err, "")
		if w.open(before) || !w.open(after) || before == after {
			t.Error("signing in goes on with the old session")
		}
	})
}

// A database that is read does not give a session away.
func TestSessionCookieIsNotStored(t *testing.T) {
	eachSetUp(t, func(w world) {
		cookie, s := w.signIn()
		if w.open(s.ID) {
			t.Error("the id of a session opens it")
		}
		w.in(func(tx node.Tx) error {
			all, err := w.access.Sessions(tx)
			if len(all) != 1 || all[0].ID != s.ID || all[0].UserAgent != someone.UserAgent || all[0].IP != someone.IP || strings.Contains(all[0].ID, cookie) {
				t.Errorf("sessions %+v", all)
			}
			return err
		})
	})
}

func TestEndSessions(t *testing.T) {
	eachSetUp(t, func(w world) {
		var cookies []string
		var last owner.Session
		for range 4 {
			var cookie string
			cookie, last = w.signIn()
			cookies = append(cookies, cookie)
		}
		w.in(func(tx node.Tx) error {
			first, err := w.access.Session(tx, cookies[0])
			if err != nil {
				return err
			}
			return w.access.EndSession(tx, last.Actor(), first.ID)
		})
		w.want(w.try(func(tx node.Tx) error { return w.access.EndSession(tx, last.Actor(), last.ID+"x") }), node.NotFound)
		if w.open(cookies[0]) || !w.open(cookies[1]) {
			t.Error("another session was ended")
		}
		w.in(func(tx node.Tx) error {
			ended, err := w.access.EndOtherSessions(tx, last.Actor(), last.ID)
			if ended != 2 {
				t.Errorf("%d sessions ended, want 2", ended)
			}
			return err
		})
		for i, cookie := range cookies {
			if w.open(cookie) != (i == 3) {
				t.Errorf("session %d is open: %v", i, i != 3)
			}
		}
		if opened, ended := w.count(audit.OwnerSessionOpened), w.count(audit.OwnerSessionEnded); opened != 4 || ended != 3 {
			t.Errorf("%d opened and %d ended in the log", opened, ended)
		}
	})
}

// More sessions than a list shows end all the same.
func TestEndManySessions(t *testing.T) {
	eachSetUp(t, func(w world) {
		const many = owner.MaxSessions + 20
		w.in(func(tx node.Tx) error {
			person, err := w.owner.Owner(tx)
			for i := range many {
				s := owner.Session{ID: node.RandomIDs{}.New(), OwnerID: person.ID, How: owner.HowLink, CreatedAt: tx.Now(), LastSeenAt: tx.Now().Add(-time.Duration(i) * time.Second)}
				if err := w.store.InsertSession(tx, s, s.ID); err != nil {
					return err
				}
			}
			return err
		})
		w.in(func(tx node.Tx) error {
			ended, err := w.access.EndOtherSessions(tx, node.Actor{Kind: node.ActorOwner}, "")
			if ended != many {
				t.Errorf("%d ended, want %d", ended, many)
			}
			return err
		})
	})
}

func TestFresh(t *testing.T) {
	eachSetUp(t, func(w world) {
		cookie, s := w.signIn()
		now := s.ConfirmedAt
		if !s.Fresh(now.Add(owner.FreshTime-time.Microsecond)) || s.Fresh(now.Add(owner.FreshTime)) {
			t.Error("a session is fresh for 5 minutes, and then no longer")
		}
		w.clock.Advance(owner.FreshTime)
		w.want(w.access.ConfirmByPassword(w.Context(), s, "wrong "+password), node.Unauthorized)
		w.want(w.access.SetPassword(w.Context(), s, password, "another password"), node.Unauthorized)
		w.want(w.access.ConfirmByPassword(w.Context(), s, password), "")
		again, err := w.access.Visit(w.Context(), cookie)
		w.want(err, "")
		if again.ID != s.ID || !again.Fresh(w.clock.Now()) || w.count(audit.OwnerConfirmed) != 1 {
			t.Errorf("after the password: %+v", again)
		}
		w.in(func(tx node.Tx) error { return w.access.EndSession(tx, s.Actor(), s.ID) })
		w.want(w.access.ConfirmByPassword(w.Context(), s, password), node.Unauthorized)
	})
}

func TestFormToken(t *testing.T) {
	eachSetUp(t, func(w world) {
		_, a := w.signIn()
		_, b := w.signIn()
		token := w.access.FormToken(a)
		if !w.access.CheckFormToken(a, token) || w.access.CheckFormToken(b, token) || w.access.CheckFormToken(a, "") || w.access.CheckFormToken(a, token[1:]) {
			t.Error("a form's token is of one session")
		}
	})
}

func TestSites(t *testing.T) {
	each(t, func(w world) {
		for host, want := range map[string]struct {
			cookie  string
			secure  bool
			passkey string
		}{
			"localhost:7410":       {"agentlink-abcdefgh", false, "localhost"},
			"LOCALHOST:7410":       {"agentlink-abcdefgh", false, "localhost"},
			"node.example.org":     {"__Host-agentlink-abcdefgh", true, "node.example.org"},
			"node.example.org:443": {"__Host-agentlink-abcdefgh", true, "node.example.org"},
			"192.0.2.7:7410":       {"__Host-agentlink-abcdefgh", true, ""},
		} {
			site, known := w.access.Site(host)
			if !known {
				t.Errorf("%s is not known", host)
				continue
			}
			cookie := site.Cookie("value")
			if cookie.Name != want.cookie || cookie.Secure != want.secure || !cookie.HttpOnly || cookie.Path != "/" || cookie.Domain != "" ||
				cookie.SameSite != http.SameSiteStrictMode || site.Party() != want.passkey || site.Passkeys() != (want.passkey != "") {
				t.Errorf("%s: %+v, party %q", host, cookie, site.Party())
			}
			if gone := site.NoCookie(); gone.MaxAge >= 0 || gone.Value != "" || gone.Name != want.cookie {
				t.Errorf("%s: taking away is %+v", host, gone)
			}
		}
		for _, host := range []string{"", "localhost", "127.0.0.1:7410", "evil.example", "node.example.org:80", "node.example.org.", "localhost:7410@evil.example"} {
			if _, known := w.access.Site(host); known {
				t.Errorf("%q is known", host)
			}
		}
	})
}

func TestSitesAreRefused(t *testing.T) {
	t.Parallel()
	for _, origin := range []string{"", "localhost:7410", "http://", "http://localhost:7410/", "http://localhost:7410/x", "http://u@localhost", "https://Node.example"} {
		if _, err := owner.NewAccess(owner.AccessConfig{Fingerprint: fingerprint, Origins: []string{origin}}); err == nil {
			t.Errorf("%q is taken", origin)
		}
	}
	if _, err := owner.NewAccess(owner.AccessConfig{Fingerprint: fingerprint}); err == nil {
		t.Error("no address at all is taken")
	}
}
