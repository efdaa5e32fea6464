package owner

import (
	"context"
	"crypto/hmac"
	"encoding/base64"
	"strings"
	"time"
	"unicode/utf8"

	"agentlink/node"
	"agentlink/node/audit"
)

// How long a session lasts, and how long it counts as just signed in.
const (
	IdleTime    = 12 * time.Hour
	SessionTime = 30 * 24 * time.Hour
	FreshTime   = 5 * time.Minute
	// touchEvery is how exact LastSeenAt is: a page costs no write.
	touchEvery = time.Minute
	// visitGap without a page ends a visit.
	visitGap = 30 * time.Minute
	// MaxSessions is how many are listed; more than that nobody opens by hand.
	MaxSessions = 100
)

// How says by what the owner came in.
type How string

// The ways in.
const (
	HowPasskey  How = "passkey"
	HowPassword How = "password"
	HowRecovery How = "recovery"
	HowLink     How = "link"
	HowSetUp    How = "setup"
)

// Session is one browser in which the owner is signed in. Its cookie's value is
// not kept, only the hash of it.
type Session struct {
	ID      string
	OwnerID string
	How     How
	// UserAgent and IP tell the owner which browser it is; sealed at rest, and
	// read only for the list.
	UserAgent string
	IP        string

	CreatedAt   time.Time
	LastSeenAt  time.Time // within a minute
	ConfirmedAt time.Time // the last time that the owner signed in
	// PreviousAt is when the owner was last here before this visit, in any
	// session; zero at the first.
	PreviousAt time.Time
}

// Over says whether the session has ended by itself.
func (s Session) Over(now time.Time) bool {
	return !now.Before(s.LastSeenAt.Add(IdleTime)) || !now.Before(s.CreatedAt.Add(SessionTime))
}

// Fresh says whether the owner has signed in just now, as the weightiest changes
// demand.
func (s Session) Fresh(now time.Time) bool { return now.Before(s.ConfirmedAt.Add(FreshTime)) }

// Actor is the owner in this session.
func (s Session) Actor() node.Actor {
	return node.Actor{Kind: node.ActorOwner, OwnerID: s.OwnerID, Via: "dashboard session=" + s.ID}
}

// Client is the browser that somebody comes with.
type Client struct {
	UserAgent string
	IP        string
	// Cookie is the value of the session's cookie that it brings, or "". Signing in
	// ends that session and never goes on with it: somebody else may have planted
	// the cookie.
	Cookie string
}

// stranger is who comes without a session.
var stranger = node.Actor{Kind: node.ActorOwner, Via: "dashboard"}

// open begins a session, with a new id always.
func (a *Access) open(tx node.Tx, owner Owner, how How, client Client) (cookie string, s Session, err error) {
	now := tx.Now()
	if err := a.store.DeleteOverSessions(tx, now.Add(-IdleTime), now.Add(-SessionTime)); err != nil {
		return "", Session{}, err
	}
	before, err := a.store.SeeOwner(tx, now)
	if err != nil {
		return "", Session{}, err
	}
	cookie = newSecret()
	s = Session{
		ID: a.ids.New(), OwnerID: owner.ID, How: how, UserAgent: shortened(client.UserAgent), IP: client.IP,
		CreatedAt: now, LastSeenAt: now, ConfirmedAt: now, PreviousAt: before,
	}
	if err := a.replace(tx, client.Cookie, s.Actor()); err != nil {
		return "", Session{}, err
	}
	if err := a.store.InsertSession(tx, s, hashOf(cookie)); err != nil {
		return "", Session{}, err
	}
	err = a.log.Append(tx, audit.Event{
		Type: audit.OwnerSessionOpened, Actor: s.Actor(), Subject: s.ID, Data: map[string]any{"how": string(how)},
	})
	return cookie, s, err
}

// replace ends the session that the browser brought.
func (a *Access) replace(tx node.Tx, cookie string, actor node.Actor) error {
	if cookie == "" {
		return nil
	}
	old, err := a.store.SessionByHash(tx, hashOf(cookie))
	if err != nil {
		if node.CodeOf(err) == node.NotFound {
			err = nil
		}
		return err
	}
	_, err = a.end(tx, actor, old.ID)
	return err
}

// maxUserAgent is what a list shows at most of what a browser says of itself.
const maxUserAgent = 300

func shortened(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if utf8.RuneCountInString(text) <= maxUserAgent {
		return text
	}
	return string([]rune(text)[:maxUserAgent-1]) + "…"
}

// Session finds the session of a cookie's value. Code: unauthorized where there
// is none or it is over.
func (a *Access) Session(tx node.Tx, cookie string) (Session, error) {
	s, err := a.store.SessionByHash(tx, hashOf(cookie))
	return alive(s, err, tx.Now())
}

func alive(s Session, err error, now time.Time) (Session, error) {
	switch {
	case err == nil && !s.Over(now):
		return s, nil
	case err == nil || node.CodeOf(err) == node.NotFound:
		return Session{}, node.Errorf(node.Unauthorized, "You are not signed in, or no longer: sign in.")
	}
	return Session{}, err
}

// Look is Session in a transaction of its own. It changes nothing: what an open page
// does by itself keeps no session from ending.
func (a *Access) Look(ctx context.Context, cookie string) (s Session, err error) {
	err = a.db.View(ctx, func(tx node.Tx) (err error) {
		s, err = a.Session(tx, cookie)
		return err
	})
	return s, err
}

// Visit is Session for a page that the owner opens: it counts as seen, which
// is written once a minute.
func (a *Access) Visit(ctx context.Context, cookie string) (s Session, err error) {
	touch := false
	err = a.db.View(ctx, func(tx node.Tx) (err error) {
		s, err = a.Session(tx, cookie)
		touch = err == nil && tx.Now().Sub(s.LastSeenAt) >= touchEvery
		return err
	})
	if err != nil || !touch {
		return s, err
	}
	err = a.db.InTx(ctx, func(tx node.Tx) (err error) {
		s, err = a.touch(tx, s)
		return err
	})
	return s, err
}

func (a *Access) touch(tx node.Tx, s Session) (Session, error) {
	before, err := a.store.SeeOwner(tx, tx.Now())
	if err != nil {
		return s, err
	}
	if tx.Now().Sub(s.LastSeenAt) >= visitGap {
		s.PreviousAt = before
	}
	s.LastSeenAt = tx.Now()
	return s, a.store.TouchSession(tx, s.ID, s.LastSeenAt, s.PreviousAt)
}

// Still gives a session as it is now. Code: unauthorized where it has ended.
func (a *Access) Still(tx node.Tx, s Session) (Session, error) {
	s, err := a.store.SessionByID(tx, s.ID)
	return alive(s, err, tx.Now())
}

// confirmed is Still for changes that need a fresh session. Code: unauthorized.
func (a *Access) confirmed(tx node.Tx, s Session) (Session, error) {
	s, err := a.Still(tx, s)
	if err == nil && !s.Fresh(tx.Now()) {
		err = node.Errorf(node.Unauthorized, "Confirm first that it is you.")
	}
	return s, err
}

// Sessions lists the open sessions, the last seen first.
func (a *Access) Sessions(tx node.Tx) ([]Session, error) {
	all, err := a.store.Sessions(tx)
	var open []Session
	for _, s := range all {
		if !s.Over(tx.Now()) {
			open = append(open, s)
		}
	}
	return open, err
}

// EndSession signs out. Code: not_found.
func (a *Access) EndSession(tx node.Tx, actor node.Actor, id string) error {
	ended, err := a.end(tx, actor, id)
	if err == nil && !ended {
		err = node.Errorf(node.NotFound, "This session has ended already.")
	}
	return err
}

func (a *Access) end(tx node.Tx, actor node.Actor, id string) (bool, error) {
	was, err := a.store.DeleteSession(tx, id)
	if err != nil || !was {
		return false, err
	}
	err = a.log.Append(tx, audit.Event{Type: audit.OwnerSessionEnded, Actor: actor, Subject: id})
	return true, err
}

// EndOtherSessions signs out everywhere but in one session; "" for everywhere.
func (a *Access) EndOtherSessions(tx node.Tx, actor node.Actor, keep string) (ended int, err error) {
	for more := true; more; {
		all, err := a.store.Sessions(tx)
		if err != nil {
			return ended, err
		}
		more = false
		for _, s := range all {
			if s.ID == keep {
				continue
			}
			was, err := a.end(tx, actor, s.ID)
			if err != nil {
				return ended, err
			}
			if was {
				ended++
				more = true // the list may go on
			}
		}
	}
	return ended, nil
}

// FormToken is what every form of a session carries, against pages of others
// that post to ours.
func (a *Access) FormToken(s Session) string {
	return base64.RawURLEncoding.EncodeToString(a.mac("form", s.ID))
}

// CheckFormToken says whether a form came from a page of this session.
func (a *Access) CheckFormToken(s Session, token string) bool {
	return hmac.Equal([]byte(a.FormToken(s)), []byte(token))
}
