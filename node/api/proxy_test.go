package api

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

// A request counts as its sender's, whatever it says of itself; only what a proxy
// of the owner's has added is believed.
func TestBehindProxies(t *testing.T) {
	t.Parallel()
	proxies := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("10.0.0.0/8")}
	for name, c := range map[string]struct {
		from      string
		forwarded []string
		proxies   []netip.Prefix
		want      string
	}{
		"no proxy, no word":            {"192.0.2.1:4711", nil, proxies, "192.0.2.1"},
		"a stranger that lies":         {"192.0.2.1:4711", []string{"198.51.100.7"}, proxies, "192.0.2.1"},
		"a proxy":                      {"127.0.0.1:4711", []string{"198.51.100.7"}, proxies, "198.51.100.7"},
		"a proxy of another's":         {"127.0.0.1:4711", []string{"198.51.100.7"}, nil, "127.0.0.1"},
		"a proxy that says nothing":    {"127.0.0.1:4711", nil, proxies, "127.0.0.1"},
		"a sender that lies before it": {"127.0.0.1:4711", []string{"203.0.113.9, 198.51.100.7"}, proxies, "198.51.100.7"},
		"a sender with lines of lies":  {"127.0.0.1:4711", []string{"203.0.113.9", "127.0.0.1", "198.51.100.7"}, proxies, "198.51.100.7"},
		"two proxies":                  {"127.0.0.1:4711", []string{"198.51.100.7, 10.1.2.3"}, proxies, "198.51.100.7"},
		"a proxy's own request":        {"127.0.0.1:4711", []string{"10.1.2.3"}, proxies, "10.1.2.3"},
		"IPv6":                         {"127.0.0.1:4711", []string{"2001:db8::7"}, proxies, "2001:db8::7"},
		"mapped":                       {"[::ffff:127.0.0.1]:4711", []string{"198.51.100.7"}, proxies, "198.51.100.7"},
		"no address":                   {"127.0.0.1:4711", []string{"198.51.100.7, <script>"}, proxies, "127.0.0.1"},
	} {
		got, left := "", ""
		handler := BehindProxies(c.proxies, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			got, left = remoteIP(r.RemoteAddr), r.Header.Get("X-Forwarded-For")
		}))
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr, r.Header["X-Forwarded-For"] = c.from, c.forwarded
		handler.ServeHTTP(httptest.NewRecorder(), r)
		if got != c.want || left != "" {
			t.Errorf("%s: it comes from %q, want %q; the header is %q", name, got, c.want, left)
		}
	}
}
