package owner_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/owner"
)

// link makes a link and gives its secret.
func (w world) link(purpose owner.Purpose) string {
	w.Helper()
	var link owner.Link
	w.in(func(tx node.Tx) (err error) {
		link, err = w.access.OneTimeLink(tx, node.Actor{Kind: node.ActorOwner}, purpose)
		return err
	})
	return w.secret(link)
}

func (w world) secret(link owner.Link) string {
	w.Helper()
	path := map[owner.Purpose]string{owner.LinkSetUp: owner.SetUpPath, owner.LinkSignIn: owner.SignInPath}[link.Purpose]
	secret, found := strings.CutPrefix(link.URL, origins[0]+path)
	if !found || len(secret) != 43 {
		w.Fatalf("the link is %s", link.URL)
	}
	return secret
}

func TestSignInByLink(t *testing.T) {
	eachSetUp(t, func(w world) {
		secret := w.link(owner.LinkSignIn)
		for range 3 { // looking uses nothing up
			w.in(func(tx node.Tx) error {
				_, err := w.access.Link(tx, owner.LinkSignIn, secret)
				return err
			})
		}
		w.clock.Advance(owner.SignInLinkTime - time.Microsecond)
		cookie, s, err := w.access.SignInByLink(w.Context(), someone, secret)
		w.want(err, "")
		if !w.open(cookie) || s.How != owner.HowLink || !s.Fresh(w.clock.Now()) {
			t.Errorf("session %+v", s)
		}
		_, _, err = w.access.SignInByLink(w.Context(), someone, secret)
		w.want(err, node.Unauthorized)
		if !strings.Contains(err.Error(), "used already") {
			t.Errorf("a second use: %v", err)
		}

		late := w.link(owner.LinkSignIn)
		w.clock.Advance(owner.SignInLinkTime)
		_, _, err = w.access.SignInByLink(w.Context(), someone, late)
		w.want(err, node.Unauthorized)
		if !strings.Contains(err.Error(), "is over") {
			t.Errorf("at its end: %v", err)
		}
		_, _, err = w.access.SignInByLink(w.Context(), someone, "never made")
		w.want(err, node.Unauthorized)
		_, _, err = w.access.SignInByLink(w.Context(), someone, w.link(owner.LinkSetUp))
		w.want(err, node.Unauthorized)

		want := []map[string]any{{"how": "link", "purpose": "signin", "why": "used"}, {"how": "link", "purpose": "signin", "why": "over"}, {"how": "link", "purpose": "setup", "why": "over"}}
		if diff := cmp.Diff(want, w.events(audit.OwnerAuthFailed)); diff != "" {
			t.Errorf("refusals in the log (-want +got):\n%s", diff)
		}
		if w.count(audit.OwnerLinkUsed) != 1 || w.count(audit.OwnerLinkMade) != 3 {
			t.Errorf("%d links used, %d made", w.count(audit.OwnerLinkUsed), w.count(audit.OwnerLinkMade))
		}
	})
}

// A new node: the link names the owner, the first way in ends the set-up.
func TestSetUp(t *testing.T) {
	each(t, func(w world) {
		link, needed, err := w.access.SetUpLink(w.Context())
		w.want(err, "")
		if !needed {
			t.Fatal("a new node needs no set-up")
		}
		other := w.link(owner.LinkSetUp) // of a second start
		secret := w.secret(link)
		w.clock.Advance(owner.SetUpLinkTime - time.Microsecond)

		_, _, err = w.access.BeginSetUp(w.Context(), someone, secret, " ")
		w.want(err, node.BadRequest) // and the link is still good
		_, s, err := w.access.BeginSetUp(w.Context(), someone, secret, "Ada")
		w.want(err, "")
		_, _, err = w.access.BeginSetUp(w.Context(), someone, secret, "Eve")
		w.want(err, node.Unauthorized)

		w.in(func(tx node.Tx) error {
			state, err := w.access.SetUp(tx)
			if state.Owner.Name != "Ada" || state.WayIn || state.Codes || state.Done() {
				t.Errorf("state %+v", state)
			}
			return err
		})
		// No password is the right one, and a slow owner may still set one.
		w.want(w.owner.CheckPassword(w.Context(), node.Actor{Kind: node.ActorOwner}, ""), node.Conflict)
		w.clock.Advance(owner.FreshTime)
		_, _, err = w.access.BeginSetUp(w.Context(), someone, other, "Eve")
		w.want(err, node.Unauthorized) // that link is over by now

		w.want(w.access.SetPassword(w.Context(), s, "", "short"), node.BadRequest)
		w.want(w.access.SetPassword(w.Context(), s, "", password), "")
		w.want(w.owner.CheckPassword(w.Context(), node.Actor{Kind: node.ActorOwner}, password), "")
		w.in(func(tx node.Tx) error { // and the session is fresh again
			codes, err := w.access.MakeRecoveryCodes(tx, s)
			if len(codes) != owner.RecoveryCodeCount {
				t.Errorf("%d codes", len(codes))
			}
			state, errState := w.access.SetUp(tx)
			if !state.Done() || !state.Codes || state.Owner.Name != "Ada" {
				t.Errorf("state %+v, %v", state, errState)
			}
			return err
		})
		if _, needed, err := w.access.SetUpLink(w.Context()); needed || err != nil {
			t.Errorf("a set-up node needs a link: %v, %v", needed, err)
		}
	})
}

// A set-up that was left before the first way in goes on with the next link, and
// then ends for all.
func TestSetUpGoesOn(t *testing.T) {
	each(t, func(w world) {
		lost, _, err := w.access.BeginSetUp(w.Context(), someone, w.link(owner.LinkSetUp), "Ada")
		w.want(err, "")
		link, needed, err := w.access.SetUpLink(w.Context())
		w.want(err, "")
		if !needed {
			t.Fatal("nobody can get in, and there is no link")
		}
		spare := w.link(owner.LinkSetUp)
		cookie, s, err := w.access.BeginSetUp(w.Context(), someone, w.secret(link), "")
		w.want(err, "")
		w.in(func(tx node.Tx) error {
			person, err := w.owner.Owner(tx)
			if person.Name != "Ada" || s.OwnerID != person.ID {
				t.Errorf("the owner is %+v", person)
			}
			return err
		})
		w.want(w.access.SetPassword(w.Context(), s, "", password), "")
		if w.open(lost) || !w.open(cookie) {
			t.Error("the lost session is open, or the new one is not")
		}
		_, _, err = w.access.BeginSetUp(w.Context(), someone, spare, "Eve")
		w.want(err, node.Unauthorized)
	})
}

// Of many who use the same thing at once one gets in.
func TestOnceAtOnce(t *testing.T) {
	eachSetUp(t, func(w world) {
		_, s := w.signIn()
		p := newPhone(w.T)
		w.add(p, w.home, s)
		link := w.link(owner.LinkSignIn)
		var codes []string
		w.in(func(tx node.Tx) (err error) {
			codes, err = w.access.MakeRecoveryCodes(tx, s)
			return err
		})
		assertion := p.get(w.T, w.beginSignIn(w.home), origins[0], "localhost")
		for name, use := range map[string]func() (string, owner.Session, error){
			"link": func() (string, owner.Session, error) { return w.access.SignInByLink(w.Context(), someone, link) },
			"recovery code": func() (string, owner.Session, error) {
				return w.access.SignInByRecoveryCode(w.Context(), someone, codes[3])
			},
			"challenge": func() (string, owner.Session, error) {
				return w.access.SignInByPasskey(w.Context(), w.home, someone, assertion)
			},
		} {
			if got := w.atOnce(100, use); got != 1 {
				t.Errorf("%s: %d sessions opened", name, got)
			}
		}
	})
}

// Of many who set a new node up at once one becomes the owner.
func TestSetUpAtOnce(t *testing.T) {
	each(t, func(w world) {
		var secrets []string
		for range 20 {
			secrets = append(secrets, w.link(owner.LinkSetUp))
		}
		next := make(chan string, 100)
		for i := range cap(next) {
			next <- secrets[i%len(secrets)]
		}
		w.atOnce(cap(next), func() (string, owner.Session, error) {
			return w.access.BeginSetUp(w.Context(), someone, <-next, "Ada")
		})
		if w.count(audit.OwnerCreated) != 1 {
			t.Errorf("%d owners", w.count(audit.OwnerCreated))
		}
	})
}
