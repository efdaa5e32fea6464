package oauth_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/oauth"
	"agentlink/node/store/storetest"
)

// TestRedirects: which addresses a client may register, and which it may then use.
func TestRedirects(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.Memory(t))
	taken := func(redirect string) bool {
		raw, err := json.Marshal(map[string]any{"redirect_uris": []string{redirect}})
		if err != nil {
			t.Fatal(err)
		}
		err = w.store.InTx(t.Context(), func(tx node.Tx) error {
			_, err := w.service.Register(tx, raw)
			return err
		})
		if err != nil && node.CodeOf(err) != node.BadRequest {
			t.Fatal(err)
		}
		return err == nil
	}
	for redirect, want := range map[string]bool{
		"https://claude.ai/api/mcp/auth_callback": true, "https://vscode.dev/redirect": true, "http://127.0.0.1:33418": true, "http://localhost/callback": true,
		"http://[::1]:80/x": true, "cursor://anysphere.cursor-retrieval/oauth/callback": true, "com.example.app://done": true, "com.example.app:/done": true,
		"https://a.example/?b=c": true,

		"": false, "/callback": false, "callback": false, "http://a.example/": false, "http://127.0.0.2/": false, "http://localhost.evil.example/": false,
		"javascript:alert(1)": false, "javascript://a.example/%0aalert(1)": false, "data:text/html,x": false, "file:///etc/passwd": false,
		"ms-msdt:/x": false, "vbscript:x": false, "mailto:a@b.example": false, "intent://x": false, "blob:https://a.example/x": false,
		"https://a.example/#f": false, "https://a.example/#": false, "https://u:p@a.example/": false, "https:///x": false, "https://": false,
		"https://a.example/\u202e": false, "https://a.example/ x": false, "https://a.example\\@b.example/": false, "https://a.example/\"x": false,
		"https://a.example/<b>": false, "https://a.example/\n": false, "https://a.example/" + strings.Repeat("a", 1000): false,
		"com.example.app:done": false,
	} {
		if got := taken(redirect); got != want {
			t.Errorf("%q: %v, want %v", redirect, got, want)
		}
	}
	for _, test := range []struct {
		registered, used string
		want             bool
	}{
		{"http://127.0.0.1/callback", "http://127.0.0.1:4711/callback", true},
		{"http://127.0.0.1:33418", "http://127.0.0.1:4711/", true},
		{"http://[::1]:1/x?y", "http://[::1]:2/x?y", true},
		{"http://localhost:1/x", "http://localhost:2/x", true},
		{"http://localhost:1/x", "http://127.0.0.1:2/x", false},
		{"http://localhost:1/x", "http://localhost:2/y", false},
		{"http://localhost:1/x", "http://localhost:2/x?y", false},
		{"http://localhost:1/x", "https://localhost:1/x", false},
		{"http://localhost:1/x", "http://localhost:2/x#y", false},
		{"http://localhost:1/x", "http://u@localhost:2/x", false},
		{"http://localhost:1/x", "http://localhost:2/%78", false},
		{"https://a.example/x", "https://a.example:444/x", false},
		{"https://a.example/x", "https://A.example/x", false},
		{"https://a.example/x", "https://a.example/x", true},
		{"cursor://a/b", "cursor://a/b", true},
		{"cursor://a/b", "cursor://a/c", false},
	} {
		c := w.register(oauth.MethodNone, test.registered)
		if _, problem := w.read(ask(c.ClientID, "redirect_uri", test.used)); (problem == nil) != test.want {
			t.Errorf("registered %s, used %s: %+v, want %v", test.registered, test.used, problem, test.want)
		}
	}
}

func TestRegistrations(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.Memory(t))
	for name, test := range map[string]struct {
		document string
		name     string // "" where it is refused
	}{
		"least":              {`{"redirect_uris":["https://a.example/x"]}`, "a.example"},
		"a scheme":           {`{"redirect_uris":["com.example.app:/x"],"client_name":" "}`, "com.example.app"},
		"what others send":   {`{"redirect_uris":["https://a.example/x"],"client_name":"A","grant_types":["authorization_code","refresh_token","password"],"response_types":["code"],"scope":"x","application_type":"native","contacts":[],"jwks":{}}`, "A"},
		"a secret, by post":  {`{"redirect_uris":["https://a.example/x"],"client_name":"A","token_endpoint_auth_method":"client_secret_post"}`, "A"},
		"a secret, by basic": {`{"redirect_uris":["https://a.example/x"],"client_name":"A","token_endpoint_auth_method":"client_secret_basic"}`, "A"},
		"a key":              {`{"redirect_uris":["https://a.example/x"],"token_endpoint_auth_method":"private_key_jwt"}`, ""},
		"no addresses":       {`{"redirect_uris":[]}`, ""},
		"many addresses":     {`{"redirect_uris":["https://a.example/x"` + strings.Repeat(`,"https://a.example/x"`, 10) + `]}`, ""},
		"a long name":        {`{"redirect_uris":["https://a.example/x"],"client_name":"` + strings.Repeat("ä", 121) + `"}`, ""},
		"no code":            {`{"redirect_uris":["https://a.example/x"],"grant_types":["implicit"]}`, ""},
		"no code in answers": {`{"redirect_uris":["https://a.example/x"],"response_types":["token"]}`, ""},
		"a name twice":       {`{"redirect_uris":["https://a.example/x"],"redirect_uris":["https://b.example/x"]}`, ""},
		"a number":           {`{"redirect_uris":["https://a.example/x"],"client_name":1}`, ""},
		"nothing":            {``, ""},
		"null":               {`null`, ""},
	} {
		var made oauth.Registered
		err := w.store.InTx(t.Context(), func(tx node.Tx) (err error) {
			made, err = w.service.Register(tx, []byte(test.document))
			return err
		})
		switch {
		case test.name == "" && (err == nil || node.CodeOf(err) != node.BadRequest):
			t.Errorf("%s is taken: %v", name, err)
		case test.name != "" && (err != nil || made.Name != test.name || (made.Secret != "") != strings.Contains(name, "secret")):
			t.Errorf("%s: %+v, %v", name, made.Client, err)
		}
	}
	if got := w.logged(audit.ClientRegistered); got != 5 {
		t.Errorf("%d events, want 5", got)
	}
}

// FuzzRegister: whatever a stranger sends is refused with words of ours, or is a
// client whose addresses may be answered to.
func FuzzRegister(f *testing.F) {
	f.Add([]byte(`{"redirect_uris":["https://a.example/x"],"client_name":"A"}`))
	f.Add([]byte(`{"redirect_uris":["http://127.0.0.1:1/x","cursor://x/y"],"token_endpoint_auth_method":"client_secret_post"}`))
	f.Add([]byte(`{"redirect_uris":["javascript:alert(1)"]}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		m, err := oauth.ReadMetadata(document)
		if err != nil {
			if code := node.CodeOf(err); code != node.BadRequest && code != node.TooLarge {
				t.Fatal(err)
			}
			return
		}
		if strings.TrimSpace(m.Name) == "" || len(m.RedirectURIs) == 0 {
			t.Fatalf("taken: %+v", m)
		}
		for _, redirect := range m.RedirectURIs {
			place := oauth.PlaceOf(redirect)
			if (place.Host == "") == (place.Scheme == "") || strings.HasPrefix(strings.ToLower(redirect), "javascript") {
				t.Fatalf("%q is answered to, at %+v", redirect, place)
			}
			if !(oauth.Client{RedirectURIs: m.RedirectURIs}).Matches(redirect) {
				t.Fatalf("%q does not match itself", redirect)
			}
		}
	})
}

// FuzzDocument: a document counts for its own address alone.
func FuzzDocument(f *testing.F) {
	f.Add("https://a.example/c", []byte(`{"client_id":"https://a.example/c","redirect_uris":["https://a.example/x"]}`))
	f.Add("https://a.example/../c", []byte(`{}`))
	f.Add("https://a.example/@ada", []byte(`{}`))
	f.Add("httpS://a.example/c", []byte(`{}`))
	f.Add("https://a.example/c?", []byte(`{}`))
	f.Add("https://ada@a.example/c", []byte(`{}`))
	f.Fuzz(func(t *testing.T, address string, text []byte) {
		if oauth.CheckDocumentURL(address) != nil {
			return
		}
		parsed, err := url.Parse(address)
		if err != nil || parsed.User != nil || !strings.HasPrefix(address, "https://") || strings.ContainsAny(address, "#?\\ ") {
			t.Fatalf("%q may be fetched", address)
		}
		m, err := oauth.ReadDocument(address, text)
		if err == nil && (m.ClientID != address || len(m.RedirectURIs) == 0) {
			t.Fatalf("of %q: %+v", address, m)
		}
	})
}
