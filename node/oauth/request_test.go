package oauth_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/oauth"
	"agentlink/policy"
)

// TestRequests: what is wrong with a request is told to the client only once it
// is clear that the client asked.
func TestRequests(t *testing.T) {
	each(t, func(w world) {
		c := w.register(oauth.MethodNone, callback)
		for _, test := range []struct {
			name  string
			query url.Values
			code  string // told to the client; "" where nothing leads there
		}{
			{"an unknown client", ask("nobody"), ""},
			{"no client", ask(c.ClientID, "client_id", ""), ""},
			{"a client of a length without end", ask(strings.Repeat("x", 5000)), ""},
			{"an address that begins alike", ask(c.ClientID, "redirect_uri", callback+"x"), ""},
			{"an address with a query", ask(c.ClientID, "redirect_uri", callback+"?a=b"), ""},
			{"another scheme", ask(c.ClientID, "redirect_uri", "http://program.example/callback"), ""},
			{"a longer host", ask(c.ClientID, "redirect_uri", "https://evil.program.example/callback"), ""},
			{"a host that ends alike", ask(c.ClientID, "redirect_uri", "https://evilprogram.example/callback"), ""},
			{"two addresses", twice(ask(c.ClientID), "redirect_uri", callback), ""},
			{"two clients", twice(ask(c.ClientID), "client_id", c.ClientID), ""},
			{"two challenges", twice(ask(c.ClientID), "code_challenge", challengeOf("x")), ""},
			{"no challenge", ask(c.ClientID, "code_challenge", ""), "invalid_request"},
			{"no method, which would mean plain", ask(c.ClientID, "code_challenge_method", ""), "invalid_request"},
			{"plain", ask(c.ClientID, "code_challenge_method", "plain"), "invalid_request"},
			{"a challenge that is none", ask(c.ClientID, "code_challenge", strings.Repeat("a", 44)), "invalid_request"},
			{"a padded challenge", ask(c.ClientID, "code_challenge", challengeOf("x")+"="), "invalid_request"},
			{"the implicit grant", ask(c.ClientID, "response_type", "token"), "unsupported_response_type"},
			{"no response_type", ask(c.ClientID, "response_type", ""), "unsupported_response_type"},
			{"another resource", ask(c.ClientID, "resource", "https://elsewhere.example/mcp"), "invalid_target"},
			{"a resource that is none", ask(c.ClientID, "resource", home), "invalid_target"},
			{"a state without end", ask(c.ClientID, "state", strings.Repeat("s", 3000)), "invalid_request"},
		} {
			_, problem := w.read(test.query)
			switch {
			case problem == nil:
				t.Errorf("%s is taken", test.name)
			case test.code == "" && problem.Back != "":
				t.Errorf("%s leads to %s", test.name, problem.Back)
			case test.code != "":
				back, err := url.Parse(problem.Back)
				if err != nil || !strings.HasPrefix(problem.Back, callback+"?") || back.Query().Get("error") != test.code || back.Query().Get("iss") != home {
					t.Errorf("%s leads to %s, want %s", test.name, problem.Back, test.code)
				}
			}
		}
		for _, fine := range []url.Values{
			ask(c.ClientID, "redirect_uri", "", "resource", "", "state", "", "scope", "admin root"),
			ask(c.ClientID, "resource", home+"/mcp/"), ask(c.ClientID, "unknown", "x"),
		} {
			if _, problem := w.read(fine); problem != nil {
				t.Errorf("%v is refused: %s", fine, problem.Message)
			}
		}
		two := w.register(oauth.MethodNone, callback, callback+"/2")
		if _, problem := w.read(ask(two.ClientID, "redirect_uri", "")); problem == nil {
			t.Error("it was guessed which address is meant")
		}
	})
}

func twice(query url.Values, name, value string) url.Values {
	query.Add(name, value)
	return query
}

// TestApproval: for an agent that is enabled, and each time anew.
func TestApproval(t *testing.T) {
	each(t, func(w world) {
		c := w.register(oauth.MethodNone, callback)
		w.agent("juno", policy.Disabled)
		request, _ := w.read(ask(c.ClientID))
		for _, agentID := range []string{"juno", "nobody", ""} {
			err := w.store.InTx(t.Context(), func(tx node.Tx) error {
				_, err := w.service.Approve(tx, owner, request, agentID)
				return err
			})
			if node.CodeOf(err) != node.Conflict || err == nil {
				t.Errorf("approved for %q: %v", agentID, err)
			}
		}
		var back string
		w.in(func(tx node.Tx) (err error) {
			back, err = w.service.Refuse(tx, owner, request)
			return err
		})
		to, err := url.Parse(back)
		if err != nil || to.Query().Get("error") != "access_denied" || to.Query().Get("state") != "a state" || to.Query().Get("iss") != home || to.Query().Has("code") {
			t.Errorf("refusing leads to %s", back)
		}
		if w.logged(audit.ClientRefused) != 1 || w.logged(audit.ClientAuthorized) != 0 {
			t.Error("the log says something else")
		}
		// Two approvals are two authorizations, and the tokens of each say whose they are.
		w.agent("juno", policy.Active)
		one := w.gets(redeem(c, w.code(c)))
		two := w.gets(redeem(c, w.approve(ask(c.ClientID), "juno").Query().Get("code")))
		a, _ := w.opens(one.AccessToken)
		b, _ := w.opens(two.AccessToken)
		if a.AgentID != "scout" || b.AgentID != "juno" {
			t.Errorf("they act as %s and %s", a.AgentID, b.AgentID)
		}
	})
}

// TestClientWithSecret: a client that asked for a secret has to show it, for
// refreshing too.
func TestClientWithSecret(t *testing.T) {
	each(t, func(w world) {
		c := w.register(oauth.MethodPost, callback)
		if len(c.Secret) != 47 || c.Method != oauth.MethodPost {
			t.Fatalf("registered %+v", c.Client)
		}
		code := w.code(c)
		for _, secret := range []string{"", "x", flipped(c.Secret)} {
			w.refused("another secret", redeem(c, code, func(r *oauth.TokenRequest) { r.Secret = secret }), "invalid_client")
		}
		tokens := w.gets(redeem(c, code))
		wrong := refresh(c, tokens.RefreshToken)
		wrong.Secret = ""
		w.refused("refreshing without it", wrong, "invalid_client")
		w.gets(refresh(c, tokens.RefreshToken))
	})
}

// TestStrangersAreForgotten: who registers and is never approved is forgotten,
// and no number of them keeps anybody out.
func TestStrangersAreForgotten(t *testing.T) {
	each(t, func(w world) {
		kept, _ := w.connect()
		first := w.register(oauth.MethodNone, callback)
		w.clock.Advance(24 * time.Hour)
		second := w.register(oauth.MethodNone, callback)
		known := func(c oauth.Registered) bool {
			_, problem := w.read(ask(c.ClientID))
			return problem == nil
		}
		if !known(kept) || !known(first) || !known(second) {
			t.Error("a client is forgotten early")
		}
		w.clock.Advance(time.Microsecond)
		w.register(oauth.MethodNone, callback)
		if !known(kept) || known(first) || !known(second) {
			t.Errorf("known: approved %v, of yesterday %v, of today %v", known(kept), known(first), known(second))
		}
	})
}

// TestDocuments: a client whose id is a URL is known by its document.
func TestDocuments(t *testing.T) {
	each(t, func(w world) {
		write := func(name, redirect string) {
			w.documents[document] = fmt.Sprintf(`{"client_id":%q,"client_name":%q,"redirect_uris":[%q],"logo_uri":"https://x.example/y"}`, document, name, redirect)
		}
		learn := func(want node.Code) {
			t.Helper()
			err := w.service.Learn(t.Context(), document)
			if (err != nil || want != "") && node.CodeOf(err) != want {
				t.Errorf("learning: %v, want %q", err, want)
			}
		}
		learn(node.Unavailable)
		write("Program", callback)
		learn("")
		learn("")
		if *w.fetched != 2 {
			t.Errorf("fetched %d times", *w.fetched)
		}
		request, problem := w.read(ask(document))
		if problem != nil || request.Client.Name != "Program" || request.Client.ClientID != document {
			t.Fatalf("read %+v, %+v", request.Client, problem)
		}
		back := w.approve(ask(document), "scout")
		c := oauth.Registered{Client: request.Client}
		tokens := w.gets(redeem(c, back.Query().Get("code")))
		if access, ok := w.opens(tokens.AccessToken); !ok || access.ClientID != document {
			t.Errorf("access %+v", access)
		}
		// The document is read again later, and what it says by then counts.
		write("Renamed", callback+"/new")
		w.clock.Advance(10 * time.Minute)
		learn("")
		if _, problem := w.read(ask(document)); problem == nil {
			t.Error("an address that the document no longer has is taken")
		}
		if request, problem := w.read(ask(document, "redirect_uri", callback+"/new")); problem != nil || request.Client.Name != "Renamed" {
			t.Errorf("read %+v, %+v", request.Client, problem)
		}
		w.gets(refresh(c, tokens.RefreshToken)) // and what was approved goes on
		if w.logged(audit.ClientRegistered) != 1 {
			t.Error("it is logged again")
		}
	})
}

func TestDocumentsThatAreRefused(t *testing.T) {
	each(t, func(w world) {
		for name, text := range map[string]string{
			"another's":          `{"client_id":"https://other.example/client.json","redirect_uris":["https://program.example/callback"]}`,
			"without id":         `{"redirect_uris":["https://program.example/callback"]}`,
			"without addresses":  `{"client_id":"` + document + `"}`,
			"with a bad address": `{"client_id":"` + document + `","redirect_uris":["javascript:alert(1)"]}`,
			"with a key":         `{"client_id":"` + document + `","redirect_uris":["https://program.example/callback"],"token_endpoint_auth_method":"private_key_jwt"}`,
			"with two ids":       `{"client_id":"x","client_id":"` + document + `","redirect_uris":["https://program.example/callback"]}`,
			"no JSON":            `<html>`,
			"a list":             `[]`,
			"too long":           `{"client_id":"` + document + `","redirect_uris":["https://program.example/callback"],"x":"` + strings.Repeat("x", 17000) + `"}`,
		} {
			w.documents[document] = text
			if err := w.service.Learn(t.Context(), document); node.CodeOf(err) != node.BadRequest || err == nil {
				t.Errorf("a document %s: %v", name, err)
			}
		}
		before := *w.fetched
		for _, address := range []string{
			"https://localhost/client.json", "https://127.0.0.1/client.json", "https://[::1]/c", "https://192.0.2.1/c", "https://program.example", "https://program.example/",
			"https://user@program.example/c", "https://program.example/c#f", "https://program.example/a/../c", "https://program.example/c?q=1",
			"https://PROGRAM.example/c", "https://program.example/%63", "https://0x7f.1/c", "https://sub.localhost/c", "https://program.example/" + strings.Repeat("c", 600),
			"https://program.example/c\n", "https://",
		} {
			if err := w.service.Learn(t.Context(), address); node.CodeOf(err) != node.BadRequest || err == nil {
				t.Errorf("%q: %v", address, err)
			}
		}
		if *w.fetched != before {
			t.Error("a bad address was fetched")
		}
		if err := w.service.Learn(t.Context(), "no address"); err != nil {
			t.Error(err)
		}
	})
}
