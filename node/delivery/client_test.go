package delivery

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// errNoTraffic ends a dial that the filter would have let through.
var errNoTraffic = errors.New("this test opens no connection")

// watched is a client that counts the connections it would open, and opens
// those to loopback only.
func watched(config ClientConfig) (*Client, *atomic.Int32) {
	client, opened := NewClient(config), &atomic.Int32{}
	client.dialling = func(target netip.AddrPort) error {
		opened.Add(1)
		if !target.Addr().Unmap().IsLoopback() {
			return errNoTraffic
		}
		return nil
	}
	return client, opened
}

// fakeDNS resolves every name to the answers in turn, the last one for ever.
func fakeDNS(answers ...string) *net.Resolver {
	var asked atomic.Int32
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go serveDNS(theirs, func() netip.Addr {
			return netip.MustParseAddr(answers[min(int(asked.Add(1)), len(answers))-1])
		})
		return ours, nil
	}}
}

// serveDNS answers queries over a stream (RFC 1035, 4.2.2) with one A or AAAA
// record, whichever fits the address.
func serveDNS(conn net.Conn, answer func() netip.Addr) {
	defer conn.Close()
	for {
		size := make([]byte, 2)
		if _, err := io.ReadFull(conn, size); err != nil {
			return
		}
		query := make([]byte, int(size[0])<<8|int(size[1]))
		if _, err := io.ReadFull(conn, query); err != nil {
			return
		}
		end := 12
		for query[end] != 0 {
			end += 1 + int(query[end])
		}
		reply := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, query[12:end+5]...)
		if kind := query[end+2]; kind == 1 || kind == 28 {
			reply = appendRecord(reply, kind, answer)
		}
		_, _ = conn.Write(append([]byte{byte(len(reply) >> 8), byte(len(reply))}, reply...))
	}
}

func appendRecord(reply []byte, kind byte, answer func() netip.Addr) []byte {
	if kind == 28 { // asked beside every A; only an A takes the next answer
		return reply
	}
	raw := answer().AsSlice()
	reply[7] = 1
	return append(append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, byte(len(raw))), raw...)
}

// hostile are URLs that must lead to no connection, whatever resolver, with
// names that resolve to loopback.
var hostile = []string{
	"https://127.0.0.1/", "https://127.0.0.1:7410/", "https://127.1/", "https://127.0.1/", "https://127.000.000.001/",
	"https://2130706433/", "https://017700000001/", "https://0x7f000001/", "https://0x7f.0.0.1/", "https://0x7f.1/", "https://0177.0.0.1/",
	"https://0177.0.0.01/", "https://0/", "https://0.0.0.0/", "https://00.00.00.00/", "https://example.org.0x7f/", "https://1.2.3.4.5/",
	"https://localhost/", "https://localhost:22/", "https://LOCALHOST/", "https://sub.localhost/", "https://localhost./",
	"https://10.0.0.1/", "https://172.16.0.1/", "https://192.168.1.1/", "https://100.64.0.1/", "https://198.18.0.1/",
	"https://169.254.169.254/latest/meta-data/", "https://2852039166/", "https://0xa9fea9fe/", "https://0251.0376.0251.0376/",
	"https://100.100.100.200/", "https://168.63.129.16/", "https://192.0.0.192/", "https://224.0.0.1/", "https://255.255.255.255/", "https://240.0.0.1/",
	"https://[::]/", "https://[::1]/", "https://[::1]:7410/", "https://[0:0:0:0:0:0:0:1]/", "https://[::127.0.0.1]/", "https://[::ffff:127.0.0.1]/",
	"https://[::ffff:7f00:1]/", "https://[::ffff:169.254.169.254]/", "https://[::ffff:0:127.0.0.1]/", "https://[64:ff9b::127.0.0.1]/",
	"https://[64:ff9b::a9fe:a9fe]/", "https://[64:ff9b:1::7f00:1]/", "https://[2002:7f00:1::]/", "https://[2002:a9fe:a9fe::]/",
	"https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/", "https://[fd00::1]/", "https://[fd00:ec2::254]/", "https://[fe80::1]/", "https://[fe80::1%25lo]/",
	"https://[ff02::1]/", "https://[2001:db8::1]/", "https://[100::1]/",
	"https://names-that-resolve-to-loopback.example/", "https://metadata.google.internal/", "https://127.0.0.1.nip.example/",
	"http://example.org/", "http://1.1.1.1/", "http://127.0.0.1/", "http://localhost/", "http://[::1]/",
	"https://user:secret@example.org/", "https://example.org@127.0.0.1/", "https://example.org#@127.0.0.1/", "https:///inbox", "https://",
	"file:///etc/passwd", "gopher://127.0.0.1/", "ftp://example.org/", "unix:///run/docker.sock", "//127.0.0.1/", "127.0.0.1", "",
	"https://127。0。0。1/", "https://①②⑦.⓪.⓪.①/", "https://ⓛocalhost/", "https://exa mple.org/", "https://127.0.0.1\\@example.org/",
	"https://-.example/", "https://[::1", "https://[v1.fe80::a]/", "https://example.org:99999/", "https://example.org:0x50/",
}

func TestNoConnectionToWhatIsNotPublic(t *testing.T) {
	t.Parallel()
	if len(hostile) < 60 {
		t.Fatalf("only %d URLs", len(hostile))
	}
	client, opened := watched(ClientConfig{Resolver: fakeDNS("127.0.0.1")})
	for _, target := range hostile {
		if _, _, err := client.Get(t.Context(), target); err == nil {
			t.Errorf("GET %q was answered", target)
		}
		_, _, _, wrote, err := client.Post(t.Context(), target, []byte("x"))
		if err == nil || wrote {
			t.Errorf("POST %q: wrote %v, error %v", target, wrote, err)
		}
	}
	if n := opened.Load(); n != 0 {
		t.Errorf("%d connections would have been opened", n)
	}
}

func TestWhatHostsResolveToIsLookedAtWhenDialling(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"127.0.0.1", "10.1.2.3", "169.254.169.254", "0.0.0.0", "100.64.1.1", "192.168.1.1", "198.18.0.1", "203.0.113.1",
	} {
		client, opened := watched(ClientConfig{Resolver: fakeDNS(address)})
		_, _, err := client.Get(t.Context(), "https://peer.example/")
		if !errors.Is(err, errNotReachable) || opened.Load() != 0 {
			t.Errorf("%s: %d connections, error %v", address, opened.Load(), err)
		}
	}
}

func TestRebinding(t *testing.T) {
	t.Parallel()
	client, opened := watched(ClientConfig{Resolver: fakeDNS("8.8.8.8", "127.0.0.1")})
	if _, _, err := client.Get(t.Context(), "https://peer.example/"); !errors.Is(err, errNoTraffic) || opened.Load() != 1 {
		t.Fatalf("the public answer: %d connections, error %v", opened.Load(), err)
	}
	if _, _, err := client.Get(t.Context(), "https://peer.example/"); !errors.Is(err, errNotReachable) || opened.Load() != 1 {
		t.Fatalf("the second answer: %d connections, error %v", opened.Load(), err)
	}
}

// local is a client for servers of this test.
func local(t *testing.T, handler http.HandlerFunc) (*Client, *atomic.Int32, string) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client, opened := watched(ClientConfig{Reach: Reach{Loopback: true}, Timeout: 2 * time.Second})
	t.Cleanup(client.Close)
	return client, opened, server.URL
}

func TestNoRedirectIsFollowed(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, to := range []string{"http://169.254.169.254/latest/meta-data/", "https://10.0.0.1/", "/elsewhere", "http://localhost:1/"} {
			requests := atomic.Int32{}
			client, opened, url := local(t, func(w http.ResponseWriter, _ *http.Request) {
				requests.Add(1)
				w.Header().Set("Location", to)
				w.WriteHeader(status)
			})
			got, _, _, wrote, err := client.Post(t.Context(), url, []byte("x"))
			if got != status || !wrote || err != nil || requests.Load() != 1 || opened.Load() != 1 {
				t.Errorf("%d to %s: status %d, %d requests, %d connections, error %v", status, to, got, requests.Load(), opened.Load(), err)
			}
		}
	}
}

func TestNoProxyOfTheEnvironment(t *testing.T) {
	asked := atomic.Int32{}
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer proxy.Close()
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	client, _ := watched(ClientConfig{Resolver: fakeDNS("8.8.8.8"), AllowPlain: true})
	_, _, _ = client.Get(t.Context(), "http://peer.example/")
	_, _, _ = client.Get(t.Context(), "https://peer.example/")
	if n := asked.Load(); n != 0 {
		t.Errorf("the proxy was asked %d times", n)
	}
}

func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		handler http.HandlerFunc
		want    string // of the error, "" for none
	}{
		{"as large as allowed", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, MaxAnswer)) }, ""},
		{"one byte more", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, MaxAnswer+1)) }, "larger than 64 KiB"},
		{"compressed", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write([]byte("bomb"))
		}, "encoded"},
		{"cut", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("half"))
		}, "unexpected EOF"},
		{"large header", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Large", strings.Repeat("x", 20<<10))
		}, "exceeded"},
	}
	for _, tt := range tests {
		client, _, url := local(t, tt.handler)
		_, _, answer, wrote, err := client.Post(t.Context(), url, []byte("x"))
		switch {
		case !wrote:
			t.Errorf("%s: a request that was written counts as unsent", tt.name)
		case tt.want == "" && (err != nil || len(answer) != MaxAnswer):
			t.Errorf("%s: %d bytes, %v", tt.name, len(answer), err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestAnEndlessAnswerIsNotReadToItsEnd(t *testing.T) {
	t.Parallel()
	sent := atomic.Int64{}
	client, _, url := local(t, func(w http.ResponseWriter, _ *http.Request) {
		for block := make([]byte, 32<<10); ; {
			n, err := w.Write(block)
			if sent.Add(int64(n)); err != nil || sent.Load() > 1<<30 {
				return
			}
		}
	})
	if _, _, err := client.Get(t.Context(), url); err == nil {
		t.Fatal("no error")
	}
	client.Close()
	// What the two sockets and their buffers hold comes on top of what was read.
	if n := sent.Load(); n > 16<<20 {
		t.Errorf("%d bytes were taken", n)
	}
}

func TestWroteTellsWhetherAByteMayHaveLeft(t *testing.T) {
	t.Parallel()
	config := ClientConfig{Reach: Reach{Loopback: true}, Timeout: 300 * time.Millisecond, TLSTimeout: 100 * time.Millisecond}

	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	trusted := x509.NewCertPool()
	trusted.AddCert(secure.Certificate())

	tests := []struct {
		name, url string
		roots     *x509.CertPool
		wrote     bool
		status    int
	}{
		{"nobody listens", "http://127.0.0.1:1", nil, false, 0}, // a port given back may be taken by another test
		{"no TLS handshake", "https://" + silent.Addr().String(), nil, false, 0},
		{"TLS with a plain server", strings.Replace(plain.URL, "http", "https", 1), nil, false, 0},
		{"a certificate that nobody signed", secure.URL, nil, false, 0},
		{"connected, no answer", "http://" + silent.Addr().String(), nil, true, 0},
		{"a certificate that is trusted", secure.URL, trusted, true, 404},
		{"plain", plain.URL, nil, true, 404},
	}
	for _, tt := range tests {
		patient := config
		if patient.RootCAs = tt.roots; tt.status != 0 { // what is to succeed may take its time on a busy machine
			patient.Timeout, patient.TLSTimeout = 20*time.Second, 20*time.Second
		}
		client := NewClient(patient)
		status, _, _, wrote, err := client.Post(t.Context(), tt.url, []byte("x"))
		if wrote != tt.wrote || status != tt.status || (err == nil) != (status != 0) {
			t.Errorf("%s: wrote %v, status %d, error %v", tt.name, wrote, status, err)
		}
		client.Close()
	}
}

func TestConnectionsAreKept(t *testing.T) {
	t.Parallel()
	client, opened, url := local(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) })
	for range 20 {
		if _, _, _, _, err := client.Post(t.Context(), url, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if n := opened.Load(); n != 1 {
		t.Errorf("%d connections for 20 requests", n)
	}
}
