package oauth_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"agentlink/node/nodetest"
	"agentlink/policy"
)

// TestDiscovery goes the way of a client that has a URL and nothing else.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	n := nodetest.Start(t, nodetest.Options{})
	for _, base := range []string{n.DashboardURL(), strings.Replace(n.DashboardURL(), "localhost", "127.0.0.1", 1)} {
		get := func(address string) (*http.Response, map[string]any) {
			t.Helper()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			var body map[string]any
			if answer.StatusCode == http.StatusOK {
				if err := json.NewDecoder(answer.Body).Decode(&body); err != nil {
					t.Fatal(err)
				}
			}
			return answer, body
		}
		if strings.Contains(base, "127.0.0.1") {
			base = n.Info.AgentsURL // where that is the node's own name for itself
		}
		refused, _ := get(base + "/mcp")
		challenge := refused.Header.Get("WWW-Authenticate")
		_, rest, found := strings.Cut(challenge, `resource_metadata="`)
		if !found {
			_, rest, found = strings.Cut(challenge, "resource_metadata=")
		}
		metadata := strings.Trim(strings.Split(strings.Split(rest, `"`)[0], ",")[0], " ")
		if refused.StatusCode != http.StatusUnauthorized || !found || metadata != base+"/.well-known/oauth-protected-resource/mcp" {
			t.Fatalf("/mcp answers %d with %q", refused.StatusCode, challenge)
		}
		_, resource := get(metadata)
		if resource["resource"] != base+"/mcp" || len(resource["authorization_servers"].([]any)) != 1 {
			t.Fatalf("the resource is %v", resource)
		}
		issuer, _ := resource["authorization_servers"].([]any)[0].(string)
		for _, path := range []string{"/.well-known/oauth-authorization-server", "/.well-known/oauth-authorization-server/mcp"} {
			_, server := get(issuer + path)
			for name, want := range map[string]any{
				"issuer": base, "authorization_endpoint": base + "/oauth/authorize", "token_endpoint": base + "/oauth/token",
				"registration_endpoint": base + "/oauth/register", "revocation_endpoint": base + "/oauth/revoke",
				"client_id_metadata_document_supported": true, "authorization_response_iss_parameter_supported": true,
			} {
				if server[name] != want {
					t.Errorf("%s: %s is %v, want %v", path, name, server[name], want)
				}
			}
			if methods := server["code_challenge_methods_supported"].([]any); len(methods) != 1 || methods[0] != "S256" {
				t.Errorf("challenges: %v", methods)
			}
			if methods := server["token_endpoint_auth_methods_supported"].([]any); methods[0] != "none" {
				t.Errorf("methods: %v", methods)
			}
		}
	}
}

// TestIssuerOfAnotherName: a client that was given this machine's number gets
// that issuer, although the owner approves under its name.
func TestIssuerOfAnotherName(t *testing.T) {
	t.Parallel()
	n := nodetest.Start(t, nodetest.Options{Settings: map[string]string{"AGENTLINK_LISTEN": "127.0.0.1:0"}})
	scout := n.CreateAgent("scout", policy.Assisted)
	c := n.RegisterClient("A program", "http://localhost/callback")
	back := c.Approve(n.SignIn(), map[string]string{"resource": n.Info.AgentsURL + "/mcp"}, scout)
	if got := back.Query().Get("iss"); got != n.Info.AgentsURL || !strings.Contains(got, "127.0.0.1") {
		t.Errorf("the issuer is %s, want %s", got, n.Info.AgentsURL)
	}
	tokensOf(t, c.Redeem(back.Query().Get("code")))
}

// TestForms: the token endpoint serves two kinds of caller, and each of them
// strictly.
func TestForms(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(w.program.ID)+":"))
	right := "grant_type=refresh_token&client_id=" + w.program.ID + "&refresh_token="
	for _, test := range []struct {
		name, body, kind, authorization, code string
	}{
		{"a field twice", right + w.tokens.Refresh + "&refresh_token=x", formType, "", "invalid_request"},
		{"the grant twice", right + w.tokens.Refresh + "&grant_type=refresh_token", formType, "", "invalid_request"},
		{"JSON", `{"grant_type":"refresh_token"}`, "application/json", "", "invalid_request"},
		{"a form by another name", right + w.tokens.Refresh, "text/plain", "", "invalid_request"},
		{"no client", "grant_type=refresh_token&refresh_token=" + w.tokens.Refresh, formType, "", "invalid_client"},
		{"two clients", right + w.tokens.Refresh, formType, "Basic " + base64.StdEncoding.EncodeToString([]byte("x:")), "invalid_client"},
		{"a bearer", right + w.tokens.Refresh, formType, "Bearer " + w.tokens.Access, "invalid_client"},
		{"no token", right, formType, "", "invalid_request"},
		{"another grant", "grant_type=password", formType, "", "unsupported_grant_type"},
		{"no grant", "client_id=" + w.program.ID, formType, "", "invalid_request"},
		{"an agent's grant with a program's id", "grant_type=client_credentials&client_id=" + w.program.ID + "&client_secret=x", formType, "", "invalid_client"},
		{"nothing", "", formType, "", "invalid_request"},
	} {
		answer, body := w.post("/oauth/token", test.body, test.kind, test.authorization)
		if answer.StatusCode < 400 || !strings.Contains(body, `"`+test.code+`"`) {
			t.Errorf("%s: %d %s, want %s", test.name, answer.StatusCode, body, test.code)
		}
	}
	answer, body := w.post("/oauth/token?grant_type=refresh_token", right+w.tokens.Refresh, formType, "")
	if answer.StatusCode != http.StatusBadRequest {
		t.Errorf("with a query: %d %s", answer.StatusCode, body)
	}
	answer, body = w.post("/oauth/token", strings.Repeat("x", 20<<10), formType, "")
	if answer.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("too large: %d %s", answer.StatusCode, body)
	}
	// None of it has used the token up. Some clients send an empty secret in the header.
	answer, body = w.post("/oauth/token", "grant_type=refresh_token&refresh_token="+w.tokens.Refresh, formType, basic)
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("the right request: %d %s", answer.StatusCode, body)
	}
	w.scout.Token() // and agents get theirs at the same address, as clients of MCP too
	agent := "grant_type=client_credentials&client_id=scout&client_secret=" + w.scout.Key
	for resource, want := range map[string]int{w.node.DashboardURL() + "/mcp": http.StatusOK, "https://elsewhere.example/mcp": http.StatusBadRequest, "": http.StatusBadRequest} {
		answer, body := w.post("/oauth/token", agent+"&scope=mcp&resource="+url.QueryEscape(resource), formType, "")
		if answer.StatusCode != want {
			t.Errorf("an agent that names %q: %d %s", resource, answer.StatusCode, body)
		}
	}
}

func (w *world) post(path, body, kind, authorization string) (*http.Response, string) {
	w.t.Helper()
	return w.do("POST "+path, func(_ *world, r *http.Request) {
		r.Body, r.ContentLength = http.NoBody, 0
		replaced, err := http.NewRequestWithContext(w.t.Context(), r.Method, r.URL.String(), strings.NewReader(body))
		if err != nil {
			w.t.Fatal(err)
		}
		r.Body, r.ContentLength, r.GetBody = replaced.Body, replaced.ContentLength, replaced.GetBody
		r.Header.Set("Content-Type", kind)
		if authorization != "" {
			r.Header.Set("Authorization", authorization)
		}
	})
}

// TestSecretOfRegistration: a client that asks for a secret gets one, in the
// words of RFC 7591, and by either way of showing it tokens.
func TestSecretOfRegistration(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	answer, body := w.post("/oauth/register", `{"redirect_uris":["https://program.example/callback"],"client_name":"B","token_endpoint_auth_method":"client_secret_post"}`, "application/json", "")
	var made map[string]any
	if err := json.Unmarshal([]byte(body), &made); err != nil || answer.StatusCode != http.StatusCreated {
		t.Fatalf("%d %s", answer.StatusCode, body)
	}
	secret, _ := made["client_secret"].(string)
	if !strings.HasPrefix(secret, "als_") || made["client_secret_expires_at"] != 0.0 || made["token_endpoint_auth_method"] != "client_secret_post" {
		t.Errorf("registered: %s", body)
	}
	c := *w.program
	c.ID, _ = made["client_id"].(string)
	code := c.Approve(w.owner, nil, w.scout).Query().Get("code")
	refused(t, "without its secret", c.Redeem(code), "invalid_client")
	got := tokensOf(t, c.Token(map[string]string{
		"grant_type": "authorization_code", "code": code, "redirect_uri": c.Redirect, "code_verifier": c.Verifier, "client_secret": secret,
	}))
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte(c.ID+":"+secret))
	if answer, body := w.post("/oauth/token", "grant_type=refresh_token&refresh_token="+got.Refresh, formType, basic); answer.StatusCode != http.StatusOK {
		t.Errorf("in the header: %d %s", answer.StatusCode, body)
	}
}

// TestLimits: an address registers ten clients a minute, and guesses at tokens
// twenty times.
func TestLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.clock.Advance(time.Minute)
	row := "POST /oauth/register"
	anybody := func(*world, *http.Request) {}
	for i := range 10 {
		if answer, body := w.do(row, anybody); answer.StatusCode != http.StatusCreated {
			t.Fatalf("registration %d: %d %s", i, answer.StatusCode, body)
		}
	}
	answer, body := w.do(row, anybody)
	if answer.StatusCode != http.StatusTooManyRequests || answer.Header.Get("Retry-After") != "60" {
		t.Errorf("the eleventh: %d %s", answer.StatusCode, body)
	}
	for range 20 {
		refused(t, "a guess", w.program.Refresh("alr_guess"), "invalid_grant")
	}
	if blocked := w.program.Refresh(w.tokens.Refresh); blocked.Status != http.StatusTooManyRequests {
		t.Errorf("after twenty guesses: %d %s", blocked.Status, blocked.Body)
	}
	w.clock.Advance(time.Minute)
	tokensOf(t, w.program.Refresh(w.tokens.Refresh))
	if answer, _ := w.do(row, anybody); answer.StatusCode != http.StatusCreated {
		t.Errorf("a minute later: %d", answer.StatusCode)
	}
}
