package owner_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/owner"
)

// A passkey is added, signs in on its address again and again, and is removed.
func TestPasskey(t *testing.T) {
	eachSetUp(t, func(w world) {
		_, s := w.signIn()
		p := newPhone(w.T)
		passkey := w.add(p, w.home, s)
		if passkey.Name != "Telephone" || passkey.Party != "localhost" || !passkey.LastUsedAt.IsZero() {
			t.Errorf("passkey %+v", passkey)
		}
		for range 3 {
			w.clock.Advance(time.Minute)
			p.key.Counter++
			cookie, opened, err := w.access.SignInByPasskey(w.Context(), w.home, someone, p.get(w.T, w.beginSignIn(w.home), origins[0], "localhost"))
			w.want(err, "")
			if !w.open(cookie) || opened.How != owner.HowPasskey || opened.OwnerID != s.OwnerID {
				t.Errorf("session %+v", opened)
			}
			w.in(func(tx node.Tx) error {
				all, err := w.access.Passkeys(tx)
				if len(all) != 1 || !all[0].LastUsedAt.Equal(w.clock.Now()) {
					t.Errorf("passkeys %+v", all)
				}
				return err
			})
		}
		w.in(func(tx node.Tx) error { return w.access.RemovePasskey(tx, s, passkey.ID) })
		w.want(w.try(func(tx node.Tx) error { return w.access.RemovePasskey(tx, s, passkey.ID) }), node.NotFound)
		w.want(w.try(func(tx node.Tx) error {
			_, err := w.access.BeginSignIn(tx, w.home)
			return err
		}), node.NotFound)
		if w.count(audit.OwnerPasskeyAdded) != 1 || w.count(audit.OwnerPasskeyRemoved) != 1 || w.count(audit.OwnerAuthFailed) != 0 {
			t.Error("the log lacks the passkey, or holds a refusal")
		}
	})
}

// Everything that is wrong with an answer is refused, counted and named in the log.
func TestPasskeyRefused(t *testing.T) {
	eachSetUp(t, func(w world) {
		_, s := w.signIn()
		p := newPhone(w.T)
		p.key.Counter = 5
		w.add(p, w.home, s)
		named, _ := w.access.Site("node.example.org")
		type try struct {
			options        []byte
			origin, party  string
			site           owner.Site
			phone          *phone
			wait           time.Duration
			counter        uint32
			unseen, absent bool
			handle         string
			why            string
		}
		usual := func(change func(*try)) try {
			x := try{options: w.beginSignIn(w.home), origin: origins[0], party: "localhost", site: w.home, phone: p, counter: 6}
			change(&x)
			return x
		}
		stranger := newPhone(w.T)
		stranger.Options.UserHandle = []byte(s.OwnerID)
		impostor := newPhone(w.T)
		impostor.key.ID, impostor.Options.UserHandle = p.key.ID, []byte(s.OwnerID)
		for name, x := range map[string]try{
			"another origin":           usual(func(x *try) { x.origin = "http://localhost:7411"; x.why = "Error validating origin" }),
			"a look-alike":             usual(func(x *try) { x.origin = "http://localhost.evil.example:7410"; x.why = "Error validating origin" }),
			"https for http":           usual(func(x *try) { x.origin = "https://localhost:7410"; x.why = "Error validating origin" }),
			"another party":            usual(func(x *try) { x.party = "evil.example"; x.why = "Error validating the authenticator response" }),
			"at the node's other site": usual(func(x *try) { x.site = named; x.why = "unknown challenge" }),
			"nobody verified":          usual(func(x *try) { x.unseen = true; x.why = "Error validating the authenticator response" }),
			"nobody there":             usual(func(x *try) { x.absent = true; x.why = "Error validating the authenticator response" }),
			"a counter that stood":     usual(func(x *try) { x.counter = 5; x.why = "counter went back" }),
			"a counter that went back": usual(func(x *try) { x.counter = 1; x.why = "counter went back" }),
			"another's user":           usual(func(x *try) { x.handle = "somebody else"; x.why = "User handle and User ID do not match" }),
			"an unknown key":           usual(func(x *try) { x.phone = stranger; x.why = "unknown passkey" }),
			"a key of the same name": usual(func(x *try) {
				x.phone = impostor
				x.why = "Error validating the assertion signature"
			}),
			"too late": usual(func(x *try) { x.wait = owner.ChallengeTime; x.why = "challenge is over" }),
			"a challenge of its own": usual(func(x *try) {
				x.options = []byte(`{"publicKey":{"challenge":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}}`)
				x.why = "unknown challenge"
			}),
			"a challenge to confirm":    usual(func(x *try) { x.options = w.beginConfirm(w.home, s); x.why = "unknown challenge" }),
			"a challenge for a passkey": usual(func(x *try) { x.options = w.beginPasskey(w.home, s); x.why = "unknown challenge" }),
			"a changed time":            usual(func(x *try) { x.options = later(t, x.options); x.why = "unknown challenge" }),
		} {
			before := w.count(audit.OwnerAuthFailed)
			w.clock.Advance(x.wait)
			x.phone.key.Counter = x.counter
			x.phone.Options.UserNotVerified, x.phone.Options.UserNotPresent = x.unseen, x.absent
			handle := x.phone.Options.UserHandle
			if x.handle != "" {
				x.phone.Options.UserHandle = []byte(x.handle)
			}
			answer := x.phone.get(w.T, x.options, x.origin, x.party)
			x.phone.Options.UserHandle, x.phone.Options.UserNotVerified, x.phone.Options.UserNotPresent = handle, false, false

			cookie, _, err := w.access.SignInByPasskey(w.Context(), x.site, owner.Client{IP: name}, answer)
			if node.CodeOf(err) != node.Unauthorized || cookie != "" {
				t.Errorf("%s: %v", name, err)
				continue
			}
			events := w.events(audit.OwnerAuthFailed)
			if len(events) != before+1 {
				t.Errorf("%s: not in the log", name)
				continue
			}
			if got := events[before]; got["how"] != "passkey" || !strings.HasPrefix(got["why"].(string), x.why) {
				t.Errorf("%s: the log says %v, want %q", name, got, x.why)
			}
			w.clock.Advance(-x.wait)
		}
		p.key.Counter = 6
		_, _, err := w.access.SignInByPasskey(w.Context(), w.home, someone, p.get(w.T, w.beginSignIn(w.home), origins[0], "localhost"))
		w.want(err, "")
	})
}

// later moves the end of a challenge without the key.
func later(t *testing.T, options []byte) []byte {
	t.Helper()
	var parsed map[string]map[string]any
	if err := json.Unmarshal(options, &parsed); err != nil {
		t.Fatal(err)
	}
	challenge, err := base64.RawURLEncoding.DecodeString(parsed["publicKey"]["challenge"].(string))
	if err != nil {
		t.Fatal(err)
	}
	challenge[20]++
	parsed["publicKey"]["challenge"] = base64.RawURLEncoding.EncodeToString(challenge)
	changed, err := json.Marshal(parsed)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

func (w world) beginConfirm(site owner.Site, s owner.Session) (options []byte) {
	w.Helper()
	w.in(func(tx node.Tx) (err error) {
		options, err = w.access.BeginConfirm(tx, site, s)
		return err
	})
	return options
}

// A challenge is good until its last microsecond, and then spent.
func TestChallengeTime(t *testing.T) {
	eachSetUp(t, func(w world) {
		_, s := w.signIn()
		p := newPhone(w.T)
		w.add(p, w.home, s)
		answer := p.get(w.T, w.beginSignIn(w.home), origins[0], "localhost")
		w.clock.Advance(owner.ChallengeTime - time.Microsecond)
		_, _, err := w.access.SignInByPasskey(w.Context(), w.home, someone, answer)
		w.want(err, "")
		_, _, err = w.access.SignInByPasskey(w.Context(), w.home, someone, answer)
		w.want(err, node.Unauthorized)
		if events := w.events(audit.OwnerAuthFailed); len(events) != 1 || events[0]["why"] != "challenge was used" {
			t.Errorf("the log says %v", events)
		}
	})
}

// What is no answer at all is not counted, and says nothing of itself.
func TestPasskeyUnreadable(t *testing.T) {
	eachSetUp(t, func(w world) {
		_, s := w.signIn()
		for _, answer := range []string{"", "{}", "[]", "null", `{"id":"AA","rawId":"AA","type":"public-key","response":{}}`, strings.Repeat("[", 10000), "\xff"} {
			_, _, err := w.access.SignInByPasskey(w.Context(), w.home, someone, []byte(answer))
			w.want(err, node.BadRequest)
			w.want(w.try(func(tx node.Tx) error {
				_, err := w.access.AddPasskey(tx, w.home, s, "Telephone", []byte(answer))
				return err
			}), node.BadRequest)
		}
		if w.count(audit.OwnerAuthFailed) != 0 {
			t.Error("it stands in the log")
		}
	})
}

// Wrong answers from one address shut that address out, and no other.
func TestPasskeysAreLimited(t *testing.T) {
	eachSetUp(t, func(w world) {
		_, s := w.signIn()
		p := newPhone(w.T)
		w.add(p, w.home, s)
		other := newPhone(w.T)
		other.Options.UserHandle = []byte(s.OwnerID)
		from := owner.Client{IP: "192.0.2.66"}
		get := func(p *phone) []byte { return p.get(w.T, w.beginSignIn(w.home), origins[0], "localhost") }
		for range owner.MaxGuesses {
			_, _, err := w.access.SignInByPasskey(w.Context(), w.home, from, get(other))
			w.want(err, node.Unauthorized)
		}
		_, _, err := w.access.SignInByPasskey(w.Context(), w.home, from, get(p))
		w.want(err, node.RateLimited)
		_, _, err = w.access.SignInByPasskey(w.Context(), w.home, someone, get(p))
		w.want(err, "")
		w.clock.Advance(owner.GuessWindow)
		_, _, err = w.access.SignInByPasskey(w.Context(), w.home, from, get(p))
		w.want(err, "")
	})
}

// Confirming with a passkey makes the session fresh, and only the session that
// asked.
func TestConfirmByPasskey(t *testing.T) {
	eachSetUp(t, func(w world) {
		cookie, s := w.signIn()
		_, other := w.signIn()
		p := newPhone(w.T)
		w.add(p, w.home, s)
		w.clock.Advance(owner.FreshTime)
		answer := p.get(w.T, w.beginConfirm(w.home, s), origins[0], "localhost")
		w.want(w.access.ConfirmByPasskey(w.Context(), w.home, other, answer), node.Unauthorized)
		answer = p.get(w.T, w.beginSignIn(w.home), origins[0], "localhost")
		w.want(w.access.ConfirmByPasskey(w.Context(), w.home, s, answer), node.Unauthorized)
		answer = p.get(w.T, w.beginConfirm(w.home, s), origins[0], "localhost")
		w.want(w.access.ConfirmByPasskey(w.Context(), w.home, s, answer), "")
		w.want(w.access.ConfirmByPasskey(w.Context(), w.home, s, answer), node.Unauthorized)
		if s, err := w.access.Visit(w.Context(), cookie); err != nil || !s.Fresh(w.clock.Now()) {
			t.Errorf("session %+v, %v", s, err)
		}
	})
}

// A set-up with a passkey alone: no password opens anything, and the passkey
// stays.
func TestSetUpWithPasskey(t *testing.T) {
	each(t, func(w world) {
		_, s, err := w.access.BeginSetUp(w.Context(), someone, w.link(owner.LinkSetUp), "Ada")
		w.want(err, "")
		w.clock.Advance(time.Hour) // whoever reads on is not asked for what they do not have
		p := newPhone(w.T)
		passkey := w.add(p, w.home, s)
		for _, text := range []string{"", "none", password} {
			_, _, err := w.access.SignInByPassword(w.Context(), someone, text)
			w.want(err, node.Conflict)
		}
		_, fresh, err := w.access.SignInByPasskey(w.Context(), w.home, someone, p.get(w.T, w.beginSignIn(w.home), origins[0], "localhost"))
		w.want(err, "")
		w.want(w.try(func(tx node.Tx) error { return w.access.RemovePasskey(tx, fresh, passkey.ID) }), node.Conflict)

		second := newPhone(w.T)
		w.add(second, w.home, fresh)
		w.in(func(tx node.Tx) error { return w.access.RemovePasskey(tx, fresh, passkey.ID) })
		w.want(w.access.SetPassword(w.Context(), fresh, "", password), "")
		w.in(func(tx node.Tx) error {
			all, err := w.access.Passkeys(tx)
			if len(all) != 1 {
				t.Errorf("%d passkeys", len(all))
				return err
			}
			return w.access.RemovePasskey(tx, fresh, all[0].ID)
		})
		_, err = w.access.Visit(w.Context(), "x")
		w.want(err, node.Unauthorized)
	})
}

func TestAddPasskeyRefused(t *testing.T) {
	eachSetUp(t, func(w world) {
		_, s := w.signIn()
		_, other := w.signIn()
		p := newPhone(w.T)
		add := func(site owner.Site, s owner.Session, name string, answer []byte) error {
			return w.try(func(tx node.Tx) error {
				_, err := w.access.AddPasskey(tx, site, s, name, answer)
				return err
			})
		}
		good := func() []byte { return p.create(w.T, w.beginPasskey(w.home, s), origins[0], "localhost") }
		w.want(add(w.home, s, "x", p.create(w.T, w.beginPasskey(w.home, s), "http://localhost:7411", "localhost")), node.BadRequest)
		w.want(add(w.home, s, "x", p.create(w.T, w.beginPasskey(w.home, s), origins[0], "evil.example")), node.BadRequest)
		w.want(add(w.home, other, "x", good()), node.BadRequest)
		w.want(add(w.home, s, " ", good()), node.BadRequest)
		w.want(add(w.home, s, strings.Repeat("x", owner.MaxPasskeyNameChars+1), good()), node.BadRequest)
		w.want(add(w.home, s, "\xff", good()), node.BadRequest)
		p.Options.UserNotVerified = true
		w.want(add(w.home, s, "x", good()), node.BadRequest)
		p.Options.UserNotVerified = false
		late := good()
		w.clock.Advance(owner.ChallengeTime)
		w.want(add(w.home, s, "x", late), node.Unauthorized) // the session is no longer fresh either
		w.want(w.access.ConfirmByPassword(w.Context(), s, password), "")
		w.want(add(w.home, s, "x", late), node.BadRequest)

		once := good()
		w.want(add(w.home, s, " Telephone ", once), "")
		w.want(add(w.home, s, "Telephone", once), node.BadRequest)
		w.want(add(w.home, s, "Telephone", good()), node.Conflict)

		byAddress, _ := w.access.Site("192.0.2.7:7410")
		w.want(w.try(func(tx node.Tx) error {
			_, err := w.access.BeginPasskey(tx, byAddress, s)
			return err
		}), node.BadRequest)
		_, _, err := w.access.SignInByPasskey(w.Context(), byAddress, someone, late)
		w.want(err, node.BadRequest)

		for range owner.MaxPasskeys - 1 {
			w.add(newPhone(w.T), w.home, s)
		}
		p = newPhone(w.T)
		w.want(add(w.home, s, "one more", good()), node.Conflict)
	})
}

// What an authenticator is asked for: a user that it knows, a key that it keeps
// if it can, and none that is known already.
func TestPasskeyOptions(t *testing.T) {
	eachSetUp(t, func(w world) {
		_, s := w.signIn()
		p := newPhone(w.T)
		passkey := w.add(p, w.home, s)
		type options struct {
			RP   struct{ ID string }
			User struct {
				ID, Name string
			}
			RPID, UserVerification               string
			Attestation                          string
			AuthenticatorSelection               struct{ ResidentKey, UserVerification string }
			ExcludeCredentials, AllowCredentials []struct{ ID string }
			Challenge                            string
		}
		read := func(raw []byte) options {
			var parsed struct{ PublicKey options }
			if err := json.Unmarshal(raw, &parsed); err != nil {
				t.Fatal(err)
			}
			return parsed.PublicKey
		}
		id := base64.RawURLEncoding.EncodeToString(passkey.CredentialID)
		made := read(w.beginPasskey(w.home, s))
		if made.RP.ID != "localhost" || made.AuthenticatorSelection.UserVerification != "required" || made.AuthenticatorSelection.ResidentKey != "preferred" ||
			made.User.Name != "Ada" || made.User.ID != base64.RawURLEncoding.EncodeToString([]byte(s.OwnerID)) ||
			len(made.ExcludeCredentials) != 1 || made.ExcludeCredentials[0].ID != id || made.Attestation == "direct" {
			t.Errorf("to create: %+v", made)
		}
		asked := read(w.beginSignIn(w.home))
		// This authenticator does not say that it keeps its keys, and so it is told
		// which one is meant.
		if asked.RPID != "localhost" || asked.UserVerification != "required" || len(asked.AllowCredentials) != 1 || asked.AllowCredentials[0].ID != id {
			t.Errorf("to get: %+v", asked)
		}
		if again := read(w.beginSignIn(w.home)); again.Challenge == asked.Challenge || len(again.Challenge) != 75 {
			t.Errorf("challenges %s, %s", again.Challenge, asked.Challenge)
		}
		second := newPhone(w.T)
		w.in(func(tx node.Tx) error { return w.access.RemovePasskey(tx, s, passkey.ID) })
		kept := withResidentKey(t, second.create(w.T, w.beginPasskey(w.home, s), origins[0], "localhost"))
		w.in(func(tx node.Tx) error {
			_, err := w.access.AddPasskey(tx, w.home, s, "Keeps its keys", kept)
			return err
		})
		if got := read(w.beginSignIn(w.home)); len(got.AllowCredentials) != 0 {
			t.Errorf("strangers are told the keys: %+v", got.AllowCredentials)
		}
	})
}

// withResidentKey adds that the authenticator keeps the key, as browsers say it.
func withResidentKey(t *testing.T, answer []byte) []byte {
	t.Helper()
	var parsed map[string]any
	if err := json.Unmarshal(answer, &parsed); err != nil {
		t.Fatal(err)
	}
	parsed["clientExtensionResults"] = map[string]any{"credProps": map[string]any{"rk": true}}
	changed, err := json.Marshal(parsed)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

// A passkey belongs to one address: at another it is neither offered nor taken.
func TestPasskeysBelongToAnAddress(t *testing.T) {
	eachSetUp(t, func(w world) {
		_, s := w.signIn()
		p := newPhone(w.T)
		w.add(p, w.home, s)
		named, _ := w.access.Site("node.example.org")
		w.want(w.try(func(tx node.Tx) error {
			_, err := w.access.BeginSignIn(tx, named)
			return err
		}), node.NotFound)
		second := newPhone(w.T)
		w.add(second, named, s)
		_, _, err := w.access.SignInByPasskey(w.Context(), named, someone, second.get(w.T, w.beginSignIn(named), origins[1], "node.example.org"))
		w.want(err, "")
		w.in(func(tx node.Tx) error {
			all, err := w.access.Passkeys(tx)
			var parties []string
			for _, passkey := range all {
				parties = append(parties, passkey.Party)
			}
			if diff := cmp.Diff([]string{"localhost", "node.example.org"}, parties); diff != "" {
				t.Error(diff)
			}
			return err
		})
	})
}
