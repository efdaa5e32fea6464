package config

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDerived(t *testing.T) {
	t.Parallel()
	type derived struct {
		host, url, local     string
		listenTLS, publicTLS bool
		loopbackOnly         bool
	}
	for name, test := range map[string]struct {
		c    Config
		want derived
	}{
		"as it comes":              {Config{Listen: "localhost:7410"}, derived{"localhost:7410", "http://localhost:7410", "http://localhost:7410", false, false, true}},
		"public on loopback":       {Config{Listen: "localhost:7410", PublicListen: "127.0.0.1:7411"}, derived{"127.0.0.1:7411", "http://127.0.0.1:7411", "http://localhost:7410", false, false, true}},
		"public with TLS":          {Config{Listen: "localhost:7410", PublicListen: "node.example.org:7411", TLSCert: "c", TLSKey: "k"}, derived{"node.example.org:7411", "https://node.example.org:7411", "http://localhost:7410", false, true, false}},
		"public URL":               {Config{Listen: "localhost:7410", PublicListen: ":443", PublicURL: "https://node.example.org", TLSCert: "c", TLSKey: "k"}, derived{"node.example.org", "https://node.example.org", "http://localhost:7410", false, true, false}},
		"behind a proxy":           {Config{Listen: "localhost:7410", PublicListen: "localhost:7411", PublicURL: "https://node.example.org:8443"}, derived{"node.example.org:8443", "https://node.example.org:8443", "http://localhost:7410", false, false, false}},
		"everything on one":        {Config{Listen: "0.0.0.0:7410", PublicURL: "https://node.example.org:7410", TLSCert: "c", TLSKey: "k"}, derived{"node.example.org:7410", "https://node.example.org:7410", "https://localhost:7410", true, true, false}},
		"a LAN in clear":           {Config{Listen: "192.168.1.7:7410", AllowPlainHTTP: true}, derived{"192.168.1.7:7410", "http://192.168.1.7:7410", "http://192.168.1.7:7410", false, false, false}},
		"TLS and loopback":         {Config{Listen: "localhost:7410", TLSCert: "c", TLSKey: "k"}, derived{"localhost:7410", "http://localhost:7410", "http://localhost:7410", false, false, true}},
		"IPv6":                     {Config{Listen: "[::1]:7410"}, derived{"[::1]:7410", "http://[::1]:7410", "http://[::1]:7410", false, false, true}},
		"IPv6, everywhere":         {Config{Listen: "[::]:7410", PublicURL: "https://[2001:db8::1]", TLSCert: "c", TLSKey: "k"}, derived{"[2001:db8::1]", "https://[2001:db8::1]", "https://localhost:7410", true, true, false}},
		"loopback by name and URL": {Config{Listen: "localhost:7410", PublicURL: "http://a.localhost:7410"}, derived{"a.localhost:7410", "http://a.localhost:7410", "http://localhost:7410", false, false, true}},
	} {
		got := derived{test.c.Host(), test.c.URL(), test.c.LocalURL(), test.c.ListenTLS(), test.c.PublicTLS(), test.c.LoopbackOnly()}
		if got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
		if inbox := test.c.InboxURL(); inbox != test.want.url+InboxPath {
			t.Errorf("%s: inbox %s", name, inbox)
		}
	}
}

// One host, one name: peers pin what they first saw.
func TestPublicURLForms(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://node.example.org:443": "https://node.example.org", "https://node.example.org/": "https://node.example.org", "http://localhost:80": "http://localhost",
		"https://[2001:db8::1]:443": "https://[2001:db8::1]", "https://node.example.org:80": "https://node.example.org:80", "HTTPS://node.example.org": "https://node.example.org",
	} {
		if c := mustLoad(t, map[string]string{PublicURLName: text}); c.PublicURL != want {
			t.Errorf("%s: %s, want %s", text, c.PublicURL, want)
		}
	}
}

func TestMasterPassphrase(t *testing.T) {
	t.Parallel()
	if (Config{}).MasterPassphrase() != nil {
		t.Error("a passphrase that nobody set")
	}
	path := filepath.Join(t.TempDir(), "phrase")
	if err := os.WriteFile(path, []byte("correct horse \r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := Config{MasterPassphraseFile: path}
	if got, err := c.MasterPassphrase()(); err != nil || string(got) != "correct horse " {
		t.Errorf("%q, %v", got, err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := c.MasterPassphrase()(); err == nil || len(got) > 0 {
		t.Errorf("a file that others can read: %q, %v", got, err)
	}
}
