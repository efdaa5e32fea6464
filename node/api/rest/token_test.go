package rest

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"agentlink/node"
)

func basic(client, key string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(client+":"+key))
}

func (w *world) askToken(form, authorization string) answer {
	w.t.Helper()
	return w.serve(newRequest("POST", tokenPath, form, authorization, formType))
}

// TestTokens: id or handle, in the form or as Basic credentials, give a token
// that opens the API.
func TestTokens(t *testing.T) {
	t.Parallel()
	const grant = "grant_type=client_credentials"
	for name, c := range map[string]struct{ form, authorization string }{
		"handle in the form": {grant + "&client_id=ada&client_secret=" + adaKey, ""},
		"id in the form":     {grant + "&client_id=" + adaID + "&client_secret=" + adaKey, ""},
		"handle, Basic":      {grant, basic("ada", adaKey)},
		"id, Basic":          {grant, basic(adaID, adaKey)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a := w.askToken(c.form, c.authorization)
			if a.status != 200 || a.member(t, "token_type") != "Bearer" || a.member(t, "expires_in") != 900.0 {
				t.Fatalf("%d %s", a.status, a.body)
			}
			if a.header.Get("Cache-Control") != "no-store" {
				t.Error("a token may be cached")
			}
			bearer := "Bearer " + a.member(t, "access_token").(string)
			if me := w.askAs(bearer, "GET", "/v1/agent/me", ""); me.status != 200 || me.member(t, "id") != adaID {
				t.Errorf("%d %s", me.status, me.body)
			}
		})
	}
}

func (a answer) oauthError(t *testing.T) string {
	t.Helper()
	var body tokenProblem
	if err := json.Unmarshal([]byte(a.body), &body); err != nil {
		t.Fatalf("%s: %v", a.body, err)
	}
	return body.Error
}

// TestTokenRefusals: whoever is not let in learns nothing of why, and whatever is
// no request of RFC 6749 is told so.
func TestTokenRefusals(t *testing.T) {
	t.Parallel()
	const grant = "grant_type=client_credentials"
	var same string
	w := newWorld(t)
	for _, c := range []struct{ name, form, authorization string }{
		{"unknown", grant + "&client_id=eve&client_secret=" + adaKey, ""},
		{"wrong key", grant + "&client_id=ada&client_secret=alk_x", ""},
		{"disabled", grant + "&client_id=off&client_secret=" + adaKey, ""},
		{"no credentials", grant, ""},
		{"no key", grant + "&client_id=ada", ""},
		{"bearer", grant, "Bearer x"},
		{"Basic without colon", grant, "Basic " + base64.StdEncoding.EncodeToString([]byte("ada"))},
		{"Basic not base64", grant, "Basic !"},
	} {
		a := w.askToken(c.form, c.authorization)
		if a.status != 401 || a.oauthError(t) != "invalid_client" || !strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Basic") {
			t.Errorf("%s: %d %s", c.name, a.status, a.body)
		}
		if same == "" {
			same = a.body
		}
		if a.body != same {
			t.Errorf("%s is told apart: %s", c.name, a.body)
		}
	}
	for _, c := range []struct{ name, form, want string }{
		{"another grant", "grant_type=password&client_id=ada&client_secret=x", "unsupported_grant_type"},
		{"no grant", "client_id=ada&client_secret=x", "invalid_request"},
		{"nothing", "", "invalid_request"},
		{"twice", grant + "&client_id=ada&client_id=ada&client_secret=x", "invalid_request"},
		{"unknown field", grant + "&client_id=ada&client_secret=x&mode=autonomous", "invalid_request"},
		{"no form", grant + "&client_id=%zz", "invalid_request"},
	} {
		if a := w.askToken(c.form, ""); a.status != 400 || a.oauthError(t) != c.want {
			t.Errorf("%s: %d %s", c.name, a.status, a.body)
		}
	}
	if a := w.askToken(grant+"&client_id=ada&client_secret="+adaKey, basic("ada", adaKey)); a.status != 400 {
		t.Errorf("credentials in two places: %d %s", a.status, a.body)
	}
	if a := w.serve(newRequest("POST", tokenPath, `{"grant_type":"client_credentials"}`, "", jsonType)); a.status != 400 {
		t.Errorf("JSON: %d %s", a.status, a.body)
	}
	if a := w.serve(newRequest("POST", tokenPath+"?client_secret="+adaKey, grant, "", formType)); a.status != 400 {
		t.Errorf("a key in the address: %d %s", a.status, a.body)
	}
	if strings.Contains(w.logged.String(), "alk_") {
		t.Error("a key is in the log")
	}
}

// TestTokenGuessing: ten failures a minute for a client and an IP; others are not
// slowed, and a good key waits too.
func TestTokenGuessing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	from := func(ip, client, key string) answer {
		r := newRequest("POST", tokenPath, "grant_type=client_credentials&client_id="+client+"&client_secret="+key, "", formType)
		r.RemoteAddr = ip + ":4711"
		return w.serve(r)
	}
	for i := range maxFailures {
		if a := from("192.0.2.1", "ada", "alk_wrong"); a.status != 401 {
			t.Fatalf("try %d: %d %s", i+1, a.status, a.body)
		}
	}
	w.clock.Advance(20 * time.Second)
	blocked := from("192.0.2.1", "ada", adaKey)
	if blocked.status != http.StatusTooManyRequests || blocked.header.Get("Retry-After") != "40" || blocked.oauthError(t) != string(node.RateLimited) {
		t.Errorf("%d %s, Retry-After %s", blocked.status, blocked.body, blocked.header.Get("Retry-After"))
	}
	if a := from("192.0.2.2", "ada", adaKey); a.status != 200 {
		t.Errorf("another IP: %d %s", a.status, a.body)
	}
	if a := from("192.0.2.1", adaID, adaKey); a.status != 200 {
		t.Errorf("another client: %d %s", a.status, a.body)
	}
	w.clock.Advance(40 * time.Second)
	if a := from("192.0.2.1", "ada", adaKey); a.status != 200 {
		t.Errorf("a minute later: %d %s", a.status, a.body)
	}
}

// TestTokenWhenTheStoreFails: no word of why, and no failure counted.
func TestTokenWhenTheStoreFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.behind.fail["Authenticate"] = node.Errorf(node.Unavailable, "The store does not answer.")
	a := w.askToken("grant_type=client_credentials&client_id=ada&client_secret="+adaKey, "")
	if a.status != 503 || a.code(t) != node.Unavailable {
		t.Errorf("%d %s", a.status, a.body)
	}
}
