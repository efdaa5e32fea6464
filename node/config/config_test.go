package config

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// environment is what getenv answers from; every test has a home.
func environment(t *testing.T, settings map[string]string) func(string) string {
	t.Helper()
	return Override(func(name string) string { return map[string]string{"HOME": t.TempDir()}[name] }, settings)
}

func mustLoad(t *testing.T, settings map[string]string) Config {
	t.Helper()
	c, err := Load(environment(t, settings))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	c := mustLoad(t, map[string]string{"HOME": home})
	dir := filepath.Join(home, ".local", "share", "agentlink")
	want := Config{
		DataDir: dir, Database: DatabaseURL("sqlite:" + filepath.Join(dir, "node.db")), Listen: "localhost:7410",
		MasterKeyFile: filepath.Join(dir, "master.key"), ApprovalTTL: 24 * time.Hour,
	}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Error(diff)
	}
	if err := c.Check(); err != nil {
		t.Errorf("the defaults are refused: %v", err)
	}
	if c.Host() != "localhost:7410" || c.URL() != "http://localhost:7410" || c.LocalURL() != c.URL() || !c.LoopbackOnly() {
		t.Errorf("host %s, URL %s, local URL %s", c.Host(), c.URL(), c.LocalURL())
	}
}

func TestEverySetting(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, map[string]string{
		DataDirName: "/srv/agentlink", DatabaseURLName: "postgres://ada:hunter2@db.example:5432/link?sslmode=verify-full", ListenName: "127.0.0.1:80",
		PublicListenName: "[::]:443", PublicURLName: "https://node.example.org/", DashboardURLName: "https://desk.example.org/", TLSCertName: "/srv/cert.pem", TLSKeyName: "/srv/key.pem",
		MasterKeyFileName: "/srv/master.key", MasterPassphraseFileName: "/srv/phrase", ApprovalTTLName: "720", AllowPlainHTTPName: "TRUE",
		AllowPeerNetworksName: "192.168.1.0/24, 10.0.0.0/8,fd00::/8 , 100.64.0.0/10,172.16.3.0/30,", TrustedProxiesName: "127.0.0.1, ::1,10.0.0.0/8",
	})
	want := Config{
		DataDir: "/srv/agentlink", Database: "postgres://ada:hunter2@db.example:5432/link?sslmode=verify-full", Listen: "127.0.0.1:80",
		PublicListen: "[::]:443", PublicURL: "https://node.example.org", DashboardURL: "https://desk.example.org", TLSCert: "/srv/cert.pem", TLSKey: "/srv/key.pem",
		MasterKeyFile: "/srv/master.key", MasterPassphraseFile: "/srv/phrase", ApprovalTTL: 720 * time.Hour, AllowPlainHTTP: true,
		AllowPeerNetworks: []netip.Prefix{
			netip.MustParsePrefix("192.168.1.0/24"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8"),
			netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("172.16.3.0/30"),
		},
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("10.0.0.0/8")},
	}
	if diff := cmp.Diff(want, c, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
}

func TestDataDir(t *testing.T) {
	t.Parallel()
	relative, err := filepath.Abs("data")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		settings map[string]string
		want     string
	}{
		"XDG":          {map[string]string{"XDG_DATA_HOME": "/srv/xdg"}, "/srv/xdg/agentlink"},
		"relative XDG": {map[string]string{"XDG_DATA_HOME": "xdg", "HOME": "/srv/ada"}, "/srv/ada/.local/share/agentlink"},
		"set":          {map[string]string{"XDG_DATA_HOME": "/srv/xdg", DataDirName: "/srv/node/"}, "/srv/node"},
		"relative":     {map[string]string{DataDirName: "data"}, relative},
		"spaces":       {map[string]string{DataDirName: "  /srv/node "}, "/srv/node"},
		"without home": {map[string]string{"HOME": "", DataDirName: "/srv/node"}, "/srv/node"},
	} {
		if c := mustLoad(t, test.settings); c.DataDir != test.want {
			t.Errorf("%s: %s, want %s", name, c.DataDir, test.want)
		}
	}
	if _, err := Load(environment(t, map[string]string{"HOME": ""})); err == nil || !strings.Contains(err.Error(), DataDirName) {
		t.Errorf("no home at all: %v", err)
	}
}

// Every refusal is one sentence that names the setting.
func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	for name, values := range map[string][]string{
		ListenName: {
			"7410", "localhost", "localhost:", "localhost:x", "localhost:65536", "localhost:-1", "localhost:+80", "localhost:080", "localhost:http", "a:b:80",
			"::1:7410", "LOCALHOST:80", "exa mple:80", "http://localhost:80", "localhost:80/x", "a_b:80", "[fe80::1%eth0]:80", "[0:0:0:0:0:0:0:1]:80", "127.1:80",
		},
		PublicListenName: {"7411", "off", "0.0.0.0", "0.0.0.0:99999"},
		PublicURLName: {
			"node.example.org", "//node.example.org", "ftp://node.example.org", "https://", "https://node.example.org/path", "https://node.example.org?x", "https://node.example.org/#x", "https://node.example.org#",
			"https://ada:hunter2@node.example.org", "https://Node.example.org", "https://node.example.org:0", "https://node.example.org:99999", "https://bücher.example", "https://node.example.org:", "https://[::1", "https://node example.org", "https://2130706433", "HTTPS://",
		},
		DatabaseURLName: {
			"mysql://ada:hunter2@db/link", "node.db", "postgres:", "postgresql", "postgres:ada:hunter2@db", "sqlite:", "sqlite", "host=db password=hunter2", "postgres://ada:hunter2@db:port/link", "postgres://ada:hunter2@db/link#x", "postgres://ada:%zzhunter2@db/", "file:node.db",
		},
		ApprovalTTLName:    {"0", "721", "-1", "24h", "1.5", "a day", "99999999999999999999"},
		AllowPlainHTTPName: {"maybe", "2", "truee"},
		TrustedProxiesName: {"proxy", "10.0.0.1/8", "0.0.0.0/0", "::/0", "127.0.0.1 ::1", "127.0.0.1:443"},
		AllowPeerNetworksName: {
			"192.168.1.7", "192.168.1.7/24", "192.168.1.0/33", "0.0.0.0/0", "::/0", "127.0.0.0/8", "::1/128", "169.254.0.0/16", "169.254.169.254/32", "fe80::/10", "8.8.8.0/24",
			"192.0.0.0/8", "172.16.0.0/11", "224.0.0.0/4", "192.168.1.0/24,8.8.8.0/24", "lan", "192.168.1.0/24;10.0.0.0/8", "::ffff:10.0.0.0/104", "fc00::/6",
		},
	} {
		for _, value := range values {
			c, err := Load(environment(t, map[string]string{name: value}))
			if err == nil {
				t.Errorf("%s=%q is taken: %+v", name, value, c)
				continue
			}
			checkSentence(t, err, name)
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: the refusal shows the password: %v", name, err)
			}
		}
	}
}

// checkSentence holds a refusal to its form: one sentence in plain words that
// names the setting to change.
func checkSentence(t *testing.T, err error, names ...string) {
	t.Helper()
	text := err.Error()
	for _, name := range names {
		if !strings.Contains(text, name) {
			t.Errorf("the refusal does not name %s: %s", name, text)
		}
	}
	if strings.ContainsAny(text, "\n") || strings.HasSuffix(text, ".") || len(text) > 400 {
		t.Errorf("the refusal is not one sentence: %q", text)
	}
}

func TestLoadTakes(t *testing.T) {
	t.Parallel()
	for name, values := range map[string][]string{
		ListenName:            {"localhost:0", ":7410", "0.0.0.0:7410", "[::1]:7410", "127.0.0.1:65535", "node.example.org:1"},
		DatabaseURLName:       {"sqlite:node.db", "sqlite::memory:", "postgres:///link?host=/run/postgresql", "postgresql://db/link", "postgres://ada:p%40ss@db,db2:5432/link"},
		PublicURLName:         {"https://node.example.org", "http://localhost:7410", "https://[2001:db8::1]:8443", "https://192.0.2.7", " https://node.example.org/ "},
		ApprovalTTLName:       {"1", "720", " 24 "},
		AllowPlainHTTPName:    {"1", "0", "true", "False", "yes", "no", "on", "off", ""},
		AllowPeerNetworksName: {"", ",", "10.1.2.3/32", "fc00::/7"},
	} {
		for _, value := range values {
			if _, err := Load(environment(t, map[string]string{name: value})); err != nil {
				t.Errorf("%s=%q: %v", name, value, err)
			}
		}
	}
}

func TestOverride(t *testing.T) {
	t.Parallel()
	getenv := Override(func(name string) string { return "environment " + name }, map[string]string{"A": "flag", "B": ""})
	for name, want := range map[string]string{"A": "flag", "B": "", "C": "environment C"} {
		if got := getenv(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestDatabasePasswordNeverShows(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"postgres://ada:hunter2@db.example/link", "postgres://db.example/link?user=ada&password=hunter2", "postgresql://ada:hunter2@db.example,other/link?sslpassword=hunter2",
	} {
		c := mustLoad(t, map[string]string{DatabaseURLName: url})
		if c.Database.Reveal() != url || !c.Database.Postgres() {
			t.Errorf("%q is not what was set", c.Database.Reveal())
		}
		var log strings.Builder
		slog.New(slog.NewJSONHandler(&log, nil)).Info("start", "database", c.Database, "config", c)
		slog.New(slog.NewTextHandler(&log, nil)).Info("start", "database", c.Database, "config", c)
		asJSON, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		shown := fmt.Sprintf("%v %+v %#v %s %v %q %s %s", c, c, c, c.Database, &c, c.Database, log.String(), asJSON)
		if strings.Contains(shown, "hunter2") {
			t.Errorf("it shows: %s", shown)
		}
		if !strings.Contains(c.Database.String(), "db.example") {
			t.Errorf("nobody can tell which database %s is", c.Database)
		}
	}
	if got := DatabaseURL("sqlite:/srv/node.db"); got.String() != "sqlite:/srv/node.db" || got.Postgres() {
		t.Errorf("%s", got)
	}
	if got := DatabaseURL("postgres://ada:hunter2@[").String(); strings.Contains(got, "hunter2") {
		t.Errorf("%s", got)
	}
}
