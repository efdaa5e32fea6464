package oauth_test

import (
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/oauth"
	"agentlink/node/store"
	"agentlink/node/store/storetest"
	"agentlink/policy"
)

func TestWholeWay(t *testing.T) {
	each(t, func(w world) {
		c := w.register(oauth.MethodNone, callback+"?kept=1")
		back := w.approve(ask(c.ClientID, "redirect_uri", callback+"?kept=1", "resource", here+"/mcp/", "scope", "openid everything"), "scout")
		want := url.Values{"kept": {"1"}, "state": {"a state"}, "iss": {here}, "code": {back.Query().Get("code")}}
		if diff := cmp.Diff(want, back.Query()); diff != "" {
			t.Errorf("the answer (-want +got):\n%s", diff)
		}
		first := w.gets(redeem(c, back.Query().Get("code"), func(r *oauth.TokenRequest) { r.RedirectURI, r.Resource = callback+"?kept=1", here+"/mcp" }))
		if first.ExpiresIn != 900 || first.TokenType != "Bearer" || first.Scope != oauth.Scope {
			t.Errorf("tokens are %+v", first)
		}
		access, ok := w.opens(first.AccessToken)
		wantAccess := oauth.Access{AgentID: "scout", ClientID: c.ClientID, ClientName: "A program", Expires: noon.Add(oauth.AccessTime)}
		if diff := cmp.Diff(wantAccess, access); !ok || diff != "" {
			t.Errorf("access (-want +got):\n%s", diff)
		}
		w.clock.Advance(time.Minute)
		second := w.gets(refresh(c, first.RefreshToken))
		all := []string{first.AccessToken, first.RefreshToken, second.AccessToken, second.RefreshToken}
		slices.Sort(all)
		if len(slices.Compact(all)) != 4 {
			t.Error("a token comes twice")
		}
		for _, text := range append(all, back.Query().Get("code")) {
			if len(text) != 4+43 {
				t.Errorf("%q has no 256 bits", text)
			}
		}
		for kind, want := range map[audit.Type]int{audit.ClientRegistered: 1, audit.ClientAuthorized: 1, audit.ClientReused: 0, audit.ClientRevoked: 0} {
			if got := w.logged(kind); got != want {
				t.Errorf("%s: %d events, want %d", kind, got, want)
			}
		}
	})
}

// TestCodeIsBound: a code is worth something once, soon, to its client, at its
// address, with its verifier, for its resource.
func TestCodeIsBound(t *testing.T) {
	each(t, func(w world) {
		other := w.register(oauth.MethodNone, callback)
		for _, test := range []struct {
			name   string
			change func(c oauth.Registered, r *oauth.TokenRequest)
			want   string
			spent  bool // the code is used up by the try
		}{
			{"another client", func(_ oauth.Registered, r *oauth.TokenRequest) { r.ClientID = other.ClientID }, "invalid_grant", false},
			{"an unknown client", func(_ oauth.Registered, r *oauth.TokenRequest) { r.ClientID = "nobody" }, "invalid_client", false},
			{"a secret that it does not have", func(_ oauth.Registered, r *oauth.TokenRequest) { r.Secret = "x" }, "invalid_client", false},
			{"another address", func(_ oauth.Registered, r *oauth.TokenRequest) { r.RedirectURI = callback + "/" }, "invalid_grant", false},
			{"another host that ends alike", func(_ oauth.Registered, r *oauth.TokenRequest) {
				r.RedirectURI = "https://evil-program.example/callback"
			}, "invalid_grant", false},
			{"no verifier", func(_ oauth.Registered, r *oauth.TokenRequest) { r.CodeVerifier = "" }, "invalid_request", false},
			{"no code", func(_ oauth.Registered, r *oauth.TokenRequest) { r.Code = "" }, "invalid_request", false},
			{"another code", func(_ oauth.Registered, r *oauth.TokenRequest) { r.Code = flipped(r.Code) }, "invalid_grant", false},
			{"another verifier", func(_ oauth.Registered, r *oauth.TokenRequest) { r.CodeVerifier = verifier + "x" }, "invalid_grant", true},
			{"the challenge for the verifier", func(_ oauth.Registered, r *oauth.TokenRequest) { r.CodeVerifier = challengeOf(verifier) }, "invalid_grant", true},
			{"another resource of the node", func(_ oauth.Registered, r *oauth.TokenRequest) { r.Resource = here + "/mcp" }, "invalid_target", false},
			{"a resource elsewhere", func(_ oauth.Registered, r *oauth.TokenRequest) { r.Resource = "https://elsewhere.example/mcp" }, "invalid_target", false},
			{"another grant", func(_ oauth.Registered, r *oauth.TokenRequest) { r.Grant, r.Refresh = "refresh_token", r.Code }, "invalid_grant", false},
		} {
			c := w.register(oauth.MethodNone, callback)
			code := w.code(c)
			w.refused(test.name, redeem(c, code, func(r *oauth.TokenRequest) { test.change(c, r) }), test.want)
			_, refusal := w.token(redeem(c, code))
			if (refusal != nil) != test.spent {
				t.Errorf("after %s, the right request: %+v", test.name, refusal)
			}
		}
		c := w.register(oauth.MethodNone, callback)
		code := w.code(c)
		w.clock.Advance(oauth.CodeTime)
		w.refused("a minute later", redeem(c, code), "invalid_grant")
		code = w.code(c)
		w.clock.Advance(oauth.CodeTime - time.Microsecond)
		w.gets(redeem(c, code, func(r *oauth.TokenRequest) { r.RedirectURI, r.Resource = "", "" })) // OAuth 2.1 asks for neither
	})
}

func flipped(secret string) string {
	last := "A"
	if strings.HasSuffix(secret, last) {
		last = "E"
	}
	return secret[:len(secret)-1] + last
}

// TestSecondUse: a code or a refresh token that comes twice ends everything that
// came of it.
func TestSecondUse(t *testing.T) {
	each(t, func(w world) {
		c := w.register(oauth.MethodNone, callback)
		code := w.code(c)
		tokens := w.gets(redeem(c, code))
		w.clock.Advance(2 * oauth.CodeTime) // even when it is over
		w.refused("a code again", redeem(c, code), "invalid_grant")
		if _, ok := w.opens(tokens.AccessToken); ok {
			t.Error("after a code came twice its token opens")
		}
		w.refused("the refresh token of such a code", refresh(c, tokens.RefreshToken), "invalid_grant")

		c, first := w.connect()
		second := w.gets(refresh(c, first.RefreshToken))
		third := w.gets(refresh(c, second.RefreshToken))
		w.refused("a refresh token again", refresh(c, first.RefreshToken), "invalid_grant")
		for _, token := range []string{first.AccessToken, second.AccessToken, third.AccessToken} {
			if _, ok := w.opens(token); ok {
				t.Error("after a refresh token came twice a token opens")
			}
		}
		w.refused("the newest refresh token", refresh(c, third.RefreshToken), "invalid_grant")
		if got := w.logged(audit.ClientReused); got != 2 {
			t.Errorf("%d events of reuse, want 2", got)
		}
		// A stranger who has a used token cannot end what belongs to another client.
		c, first = w.connect()
		second = w.gets(refresh(c, first.RefreshToken))
		w.refused("a used token from another client", refresh(w.register(oauth.MethodNone, callback), first.RefreshToken), "invalid_grant")
		if _, ok := w.opens(second.AccessToken); !ok {
			t.Error("another client has ended an authorization")
		}
	})
}

// TestRefreshIsBound: a refresh token is its client's, and lasts for 60 days from
// its last use.
func TestRefreshIsBound(t *testing.T) {
	each(t, func(w world) {
		c, tokens := w.connect()
		other, _ := w.connect()
		w.refused("another client", refresh(other, tokens.RefreshToken), "invalid_grant")
		wrong := refresh(c, tokens.RefreshToken)
		wrong.Resource = here + "/mcp"
		w.refused("another resource", wrong, "invalid_target")
		w.refused("an access token", refresh(c, tokens.AccessToken), "invalid_grant")
		w.refused("no token", refresh(c, ""), "invalid_request")
		for range 3 { // it slides
			w.clock.Advance(oauth.RefreshTime - time.Microsecond)
			tokens = w.gets(refresh(c, tokens.RefreshToken))
		}
		w.clock.Advance(oauth.RefreshTime)
		w.refused("60 days later", refresh(c, tokens.RefreshToken), "invalid_grant")
		if got := w.logged(audit.ClientReused); got != 0 {
			t.Errorf("%d events of reuse", got)
		}
	})
}

// TestAuthorizationEnds: a year after the owner's approval nothing opens any more,
// however often the client has come.
func TestAuthorizationEnds(t *testing.T) {
	each(t, func(w world) {
		c, tokens := w.connect()
		const step = oauth.RefreshTime - time.Hour
		left := oauth.AuthorizationTime
		for ; left > step; left -= step {
			w.clock.Advance(step)
			tokens = w.gets(refresh(c, tokens.RefreshToken))
		}
		w.clock.Advance(left - time.Minute)
		tokens = w.gets(refresh(c, tokens.RefreshToken))
		if _, ok := w.opens(tokens.AccessToken); !ok {
			t.Error("it ends early")
		}
		w.clock.Advance(time.Minute)
		if _, ok := w.opens(tokens.AccessToken); ok {
			t.Error("an access token outlives the authorization")
		}
		w.refused("a year later", refresh(c, tokens.RefreshToken), "invalid_grant")
	})
}

// TestAccess: an access token opens for its time, while its agent is enabled and
// its client approved; nothing else opens.
func TestAccess(t *testing.T) {
	each(t, func(w world) {
		c, tokens := w.connect()
		for name, text := range map[string]string{
			"nothing": "", "a refresh token": tokens.RefreshToken, "another": flipped(tokens.AccessToken), "more": tokens.AccessToken + "A",
			"less": tokens.AccessToken[:46], "the name of it": "alo_", "upper case": strings.ToUpper(tokens.AccessToken),
		} {
			if _, ok := w.opens(text); ok {
				t.Errorf("%s opens", name)
			}
		}
		w.agent("scout", policy.Disabled)
		if _, ok := w.opens(tokens.AccessToken); ok {
			t.Error("it opens for a disabled agent")
		}
		w.refused("refreshing for a disabled agent", refresh(c, tokens.RefreshToken), "invalid_grant")
		w.agent("scout", policy.Active)
		if access, ok := w.opens(tokens.AccessToken); !ok || access.AgentID != "scout" {
			t.Errorf("enabled again, it opens %v as %s", ok, access.AgentID)
		}
		w.clock.Advance(oauth.AccessTime - time.Microsecond)
		if _, ok := w.opens(tokens.AccessToken); !ok {
			t.Error("it ends early")
		}
		w.clock.Advance(time.Microsecond)
		if _, ok := w.opens(tokens.AccessToken); ok {
			t.Error("it does not end")
		}
		w.gets(refresh(c, tokens.RefreshToken))
	})
}

// TestRevocation: the owner, or the client, ends one authorization and no other.
func TestRevocation(t *testing.T) {
	each(t, func(w world) {
		c, mine := w.connect()
		_, others := w.connect()
		var connected []oauth.Connected
		w.in(func(tx node.Tx) (err error) {
			connected, err = w.service.Clients(tx, "scout")
			none, errNone := w.service.Clients(tx, "juno")
			if len(connected) != 2 || len(none) != 0 || errNone != nil {
				t.Errorf("%d and %d are connected, %v", len(connected), len(none), errNone)
			}
			return err
		})
		id := connected[1].ID // the first one
		try := func(agentID string, want node.Code) {
			t.Helper()
			err := w.store.InTx(t.Context(), func(tx node.Tx) error {
				_, err := w.service.Revoke(tx, owner, agentID, id)
				return err
			})
			if (err != nil || want != "") && node.CodeOf(err) != want {
				t.Errorf("revoking of %s: %v", agentID, err)
			}
		}
		try("juno", node.NotFound)
		try("scout", "")
		try("scout", node.NotFound)
		if _, ok := w.opens(mine.AccessToken); ok {
			t.Error("a revoked token opens")
		}
		w.refused("refreshing what is revoked", refresh(c, mine.RefreshToken), "invalid_grant")
		if _, ok := w.opens(others.AccessToken); !ok {
			t.Error("another client's token was revoked too")
		}

		c, mine = w.connect()
		back := func(given oauth.Credentials, token string, want string) {
			t.Helper()
			w.in(func(tx node.Tx) error {
				refusal, err := w.service.RevokeToken(tx, given, token)
				if (refusal == nil) != (want == "") || refusal != nil && refusal.Code != want {
					t.Errorf("giving back: %+v, want %q", refusal, want)
				}
				return err
			})
		}
		back(oauth.Credentials{ClientID: "nobody"}, mine.RefreshToken, "invalid_client")
		back(oauth.Credentials{ClientID: w.register(oauth.MethodNone, callback).ClientID}, mine.RefreshToken, "")
		back(oauth.Credentials{ClientID: c.ClientID}, flipped(mine.RefreshToken), "")
		back(oauth.Credentials{ClientID: c.ClientID}, "something", "")
		if _, ok := w.opens(mine.AccessToken); !ok {
			t.Error("a stranger gave it back")
		}
		back(oauth.Credentials{ClientID: c.ClientID}, mine.AccessToken, "")
		w.refused("refreshing what was given back", refresh(c, mine.RefreshToken), "invalid_grant")
		if got := w.logged(audit.ClientRevoked); got != 2 {
			t.Errorf("%d events of revocation, want 2", got)
		}
	})
}

// hasty is a store in which an authorization is revoked as soon as it was read.
type hasty struct{ *store.Store }

func (h hasty) Authorization(tx node.Tx, id string) (oauth.Authorization, error) {
	a, err := h.Store.Authorization(tx, id)
	if err == nil {
		_, err = h.EndAuthorization(tx, id, tx.Now())
	}
	return a, err
}

// TestRevokedMeanwhile: a revocation that comes between reading and issuing wins.
func TestRevokedMeanwhile(t *testing.T) {
	each(t, func(w world) {
		c, tokens := w.connect()
		d := w.register(oauth.MethodNone, callback)
		code := w.code(d)
		w.service.Store = hasty{w.store}
		w.refused("a refresh token", refresh(c, tokens.RefreshToken), "invalid_grant")
		w.refused("a code", redeem(d, code), "invalid_grant")
		if _, ok := w.opens(tokens.AccessToken); ok {
			t.Error("a revoked token opens")
		}
	})
}

// TestAgentHasRoom: as many clients act as an agent as its list shows.
func TestAgentHasRoom(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.Memory(t))
	for range oauth.MaxConnected {
		w.connect()
	}
	c := w.register(oauth.MethodNone, callback)
	request, _ := w.read(ask(c.ClientID))
	approve := func(agentID string) error {
		return w.store.InTx(t.Context(), func(tx node.Tx) error {
			_, err := w.service.Approve(tx, owner, request, agentID)
			return err
		})
	}
	if err := approve("scout"); node.CodeOf(err) != node.Conflict || err == nil {
		t.Errorf("one more: %v", err)
	}
	if err := approve("juno"); err != nil {
		t.Errorf("another agent: %v", err)
	}
}

// TestManyAtOnce: of fifty clients that come with one code, one gets tokens, and
// what it gets is worth nothing afterwards. So with a refresh token.
func TestManyAtOnce(t *testing.T) {
	each(t, func(w world) {
		c := w.register(oauth.MethodNone, callback)
		w.race(redeem(c, w.code(c)))
		c, tokens := w.connect()
		w.race(refresh(c, tokens.RefreshToken))
	})
}

func (w world) race(r oauth.TokenRequest) {
	w.Helper()
	var mu sync.Mutex
	var got []oauth.Tokens
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			var tokens oauth.Tokens
			var refusal *oauth.Refusal
			err := w.store.InTx(w.Context(), func(tx node.Tx) (err error) {
				tokens, refusal, err = w.service.Token(tx, r)
				return err
			})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				w.Error(err)
			} else if refusal == nil {
				got = append(got, tokens)
			} else if refusal.Code != "invalid_grant" {
				w.Errorf("refused with %s", refusal.Code)
			}
		})
	}
	all.Wait()
	if len(got) != 1 {
		w.Fatalf("%d got tokens", len(got))
	}
	if _, ok := w.opens(got[0].AccessToken); ok {
		w.Error("the token opens although its code came fifty times")
	}
	after := r
	after.Grant, after.Refresh = "refresh_token", got[0].RefreshToken
	w.refused("the one refresh token", after, "invalid_grant")
}
