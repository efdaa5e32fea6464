package peer

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node/token"
)

func serve(t *testing.T, w *world) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(w.inbox.Handler())
	Harden(server.Config)
	server.Start()
	t.Cleanup(server.Close)
	return server
}

func do(t *testing.T, method, url string, header http.Header, body io.Reader) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		request.Header[name] = values
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(text)
}

// bomb is 8 MiB of nothing in 8 KiB of gzip.
func bomb(t *testing.T) []byte {
	t.Helper()
	var zipped bytes.Buffer
	zip := gzip.NewWriter(&zipped)
	block := make([]byte, 1<<20)
	for range 8 {
		if _, err := zip.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return zipped.Bytes()
}

func TestTheDoor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := serve(t, w)
	large := strings.Repeat("x", wire.MaxEnvelope+1)

	tests := []struct {
		name, method, path string
		header             http.Header
		body               io.Reader
		status             int
		kind               string // of the content
	}{
		{"an envelope", "POST", wire.InboxPath, nil, bytes.NewReader(w.envelope(t, w.peer, wire.Message, nil)), 200, "application/jose"},
		{"a stranger", "POST", wire.InboxPath, nil, bytes.NewReader(w.request(t, newParty(t), nil)), 202, ""},
		{"noise", "POST", wire.InboxPath, nil, strings.NewReader("noise"), 400, "application/json"},
		{"a bomb", "POST", wire.InboxPath, http.Header{"Content-Encoding": {"gzip"}}, bytes.NewReader(bomb(t)), 400, "application/json"},
		{"identity is an encoding too", "POST", wire.InboxPath, http.Header{"Content-Encoding": {"identity"}}, bytes.NewReader(w.envelope(t, w.peer, wire.Message, nil)), 400, "application/json"},
		{"too large", "POST", wire.InboxPath, nil, strings.NewReader(large), 413, "application/json"},
		{"too large, in chunks", "POST", wire.InboxPath, nil, io.MultiReader(strings.NewReader(large)), 413, "application/json"},
		{"reading the inbox", "GET", wire.InboxPath, nil, nil, 405, "text/plain; charset=utf-8"},
		{"the card", "GET", wire.CardPath, nil, nil, 200, "application/jose"},
		{"writing the card", "POST", wire.CardPath, nil, nil, 405, "text/plain; charset=utf-8"},
		{"anything else", "GET", "/v1/agent", nil, nil, 404, "text/plain; charset=utf-8"},
	}
	for _, tt := range tests {
		response, text := do(t, tt.method, server.URL+tt.path, tt.header, tt.body)
		if response.StatusCode != tt.status || response.Header.Get("Content-Type") != tt.kind {
			t.Errorf("%s: %d %q: %s", tt.name, response.StatusCode, response.Header.Get("Content-Type"), text)
		}
		if response.StatusCode == 202 && text != "" {
			t.Errorf("%s: %q", tt.name, text)
		}
	}
}

func TestWhoIsToWaitIsToldHowLong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := serve(t, w)
	for range unknownPerMinute {
		do(t, "POST", server.URL+wire.InboxPath, nil, strings.NewReader("noise"))
	}
	response, _ := do(t, "POST", server.URL+wire.InboxPath, nil, strings.NewReader("noise"))
	if response.StatusCode != 429 || response.Header.Get("Retry-After") != "60" {
		t.Errorf("%d, Retry-After %q", response.StatusCode, response.Header.Get("Retry-After"))
	}
}

func TestCard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, err := w.inbox.Card()
	if err != nil {
		t.Fatal(err)
	}
	var card wire.Card
	if err := token.Open(token.Card, w.us.signer.PublicKey(), first, &card); err != nil {
		t.Fatal(err)
	}
	want := wire.Card{
		Versions: []int{1}, Host: ourHost, Fingerprint: w.us.signer.Fingerprint(),
		PublicKey: base64.RawURLEncoding.EncodeToString(w.us.signer.PublicKey()), Recipient: w.us.recipient,
		Inbox: "https://" + ourHost + wire.InboxPath, Iat: start.Unix(), Exp: start.Add(24 * time.Hour).Unix(),
	}
	if diff := cmp.Diff(want, card); diff != "" {
		t.Error(diff)
	}
	w.clock.Advance(59 * time.Minute)
	if again, _ := w.inbox.Card(); again != first {
		t.Error("signed anew within the hour")
	}
	w.clock.Advance(time.Minute)
	if later, _ := w.inbox.Card(); later == first {
		t.Error("not signed anew after an hour")
	}
}

func TestOriginsAreCountedByAddressOrNetwork(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "192.0.2.1": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
		"fe80::1%eth0": "fe80::/64", "not an address": "not an address",
	} {
		if got := ipKey(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for address, want := range map[string]string{"192.0.2.1:80": "192.0.2.1", "[2001:db8::1]:80": "2001:db8::1", "@": "@"} {
		if got := remoteIP(&http.Request{RemoteAddr: address}); got != want {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
}

func TestOneOriginDoesNotTakeEverySlot(t *testing.T) {
	t.Parallel()
	s := newSlots()
	for range maxSlotsPerIP {
		if !s.take("192.0.2.1") {
			t.Fatal("refused too early")
		}
	}
	if s.take("192.0.2.1") {
		t.Error("one origin took more than its share")
	}
	taken := 0
	for i := range 2 * maxSlots {
		if s.take("10.0.0." + strconv.Itoa(i)) {
			taken++
		}
	}
	if taken != maxSlots-maxSlotsPerIP {
		t.Errorf("%d others", taken)
	}
	s.free("192.0.2.1")
	if !s.take("192.0.2.2") {
		t.Error("a free slot is not given")
	}
}

// TestAHostilePeerDoesNotSlowAnHonestOne (S19): eight connections post
// forgeries without a pause while an honest peer delivers.
func TestAHostilePeerDoesNotSlowAnHonestOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := serve(t, w)
	forged := w.envelope(t, newParty(t), wire.Message, nil)
	stop := make(chan struct{})
	var hostile sync.WaitGroup
	for range 8 {
		hostile.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				response, err := http.Post(server.URL+wire.InboxPath, "", bytes.NewReader(forged))
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
			}
		})
	}
	var took []time.Duration
	for range 100 {
		compact := w.envelope(t, w.peer, wire.Message, nil)
		began := time.Now()
		if response, text := do(t, "POST", server.URL+wire.InboxPath, nil, bytes.NewReader(compact)); response.StatusCode != 200 {
			t.Errorf("%d: %s", response.StatusCode, text)
		}
		took = append(took, time.Since(began))
	}
	close(stop)
	hostile.Wait()
	if p95 := percentile(took, 95); p95 > 2*time.Second {
		t.Errorf("p95 %v", p95)
	}
}

func percentile(all []time.Duration, p int) time.Duration {
	slices.Sort(all)
	return all[len(all)*p/100]
}

// TestHalfOpenConnections (G10): 2,000 connections that never finish their
// request, some in the header, some in the body, and gzip bombs between them.
// The node stays small and quick, and drops them when their time is over. It is
// not parallel, so that it measures nothing else.
func TestHalfOpenConnections(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped by -short: 2,000 connections")
	}
	w := newWorld(t)
	server := serve(t, w)
	address := strings.TrimPrefix(server.URL, "http://")
	var connections []net.Conn
	for i := range 2000 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		defer conn.Close()
		connections = append(connections, conn)
		part := "POST " + wire.InboxPath + " HTTP/1.1\r\nHost: x\r\n"
		if i%2 == 1 {
			part += "Content-Length: 60000\r\n\r\nhalf"
		}
		if _, err := conn.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	zipped := bomb(t)
	var took []time.Duration
	for i := range 100 {
		header := http.Header{"Content-Encoding": {"gzip"}}
		if i%10 == 0 {
			do(t, "POST", server.URL+wire.InboxPath, header, bytes.NewReader(zipped))
		}
		began := time.Now()
		if response, _ := do(t, "GET", server.URL+wire.CardPath, nil, nil); response.StatusCode != 200 {
			t.Fatal(response.StatusCode)
		}
		took = append(took, time.Since(began))
	}
	if p95 := percentile(took, 95); p95 > 300*time.Millisecond {
		t.Errorf("the card's p95 is %v", p95)
	}
	if held := heldMiB(); held > 300 {
		t.Errorf("%d MiB", held)
	}
	deadline := time.Now().Add(headerTimeout + bodyTimeout + 10*time.Second)
	for i, conn := range connections {
		_ = conn.SetReadDeadline(deadline)
		if _, err := io.Copy(io.Discard, conn); err != nil && os.IsTimeout(err) {
			t.Fatalf("connection %d is still open", i)
		}
	}
}

// heldMiB is the memory that this process, of which the server is a part, holds
// for Go: without what the race detector takes beside it.
func heldMiB() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return (stats.Sys - stats.HeapReleased) >> 20
}

var _ coordination.StrangerStore = (*world)(nil)
