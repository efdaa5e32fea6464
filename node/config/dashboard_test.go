package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDashboardOrigins(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		c    Config
		want []string
	}{
		"as it comes":         {Config{Listen: "localhost:7410"}, []string{"http://localhost:7410"}},
		"by address":          {Config{Listen: "127.0.0.1:7410"}, []string{"http://localhost:7410"}},
		"IPv6":                {Config{Listen: "[::1]:7410"}, []string{"http://localhost:7410"}},
		"in a container":      {Config{Listen: "0.0.0.0:7410", PublicListen: "0.0.0.0:7411", PublicURL: "https://node.example.org", AllowPlainHTTP: true}, []string{"http://localhost:7410"}},
		"everything on one":   {Config{Listen: "0.0.0.0:7410", PublicURL: "https://node.example.org:7410", TLSCert: "c", TLSKey: "k"}, []string{"https://node.example.org:7410", "https://localhost:7410"}},
		"behind a proxy":      {Config{Listen: "localhost:7410", PublicURL: "https://node.example.org"}, []string{"http://localhost:7410", "https://node.example.org"}},
		"peers elsewhere":     {Config{Listen: "localhost:7410", PublicListen: "localhost:7411", PublicURL: "https://node.example.org"}, []string{"http://localhost:7410"}},
		"a LAN in clear":      {Config{Listen: "192.168.1.7:7410", AllowPlainHTTP: true}, []string{"http://192.168.1.7:7410"}},
		"named":               {Config{Listen: "localhost:7410", DashboardURL: "https://desk.example.org"}, []string{"https://desk.example.org", "http://localhost:7410"}},
		"named like the node": {Config{Listen: "localhost:7410", DashboardURL: "http://localhost:7410"}, []string{"http://localhost:7410"}},
	} {
		if diff := cmp.Diff(test.want, test.c.DashboardOrigins()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
