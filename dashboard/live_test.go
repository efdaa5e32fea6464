package dashboard_test

import (
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"agentlink/node/nodetest"
)

// lightest is what an open stream may cost, with the little that the test's own
// end of it costs.
const lightest = 40 << 10

// TestStreamsAreLight opens some streams; BenchmarkStreams opens a thousand.
func TestStreamsAreLight(t *testing.T) {
	if each := openStreams(t, 300); each > lightest {
		t.Errorf("an open stream takes %.1f KiB, want at most %d KiB", float64(each)/1024, lightest>>10)
	}
}

// BenchmarkStreams is the memory of 1,000 open streams.
func BenchmarkStreams(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(float64(openStreams(b, 1000))/1024, "KiB/stream")
	}
}

// openStreams gives how much memory each of so many open streams takes.
func openStreams(tb testing.TB, count int) int64 {
	tb.Helper()
	n := nodetest.Start(tb, nodetest.Options{})
	cookie := cookieOf(n.SignIn().Cookies())
	address, err := url.Parse(n.DashboardURL())
	if err != nil {
		tb.Fatal(err)
	}
	before := inUse()
	all := make([]net.Conn, count)
	for i := range all {
		all[i] = openStream(tb, address.Host, cookie)
	}
	// Each looks at its session once. One that is just looking takes more, and on a busy
	// machine they look for long: what they take at least counts.
	after := int64(math.MaxInt64)
	for range 4 {
		time.Sleep(1500 * time.Millisecond)
		after = min(after, inUse())
	}
	for _, c := range all {
		c.Close()
	}
	n.Stop()
	return (after - before) / int64(count)
}

// openStream asks by hand, since a client of net/http takes more memory than the
// stream, and waits for the stream's first line.
func openStream(tb testing.TB, host, cookie string) net.Conn {
	tb.Helper()
	c, err := net.Dial("tcp", host)
	if err != nil {
		tb.Fatal(err)
	}
	fmt.Fprintf(c, "GET /live?seen=0 HTTP/1.1\r\nHost: %s\r\nSec-Fetch-Site: same-origin\r\nCookie: %s\r\n\r\n", host, cookie)
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
	var answer [2048]byte
	length, err := c.Read(answer[:])
	if err != nil || !strings.HasPrefix(string(answer[:length]), fmt.Sprintf("HTTP/1.1 %d", http.StatusOK)) {
		tb.Fatalf("a stream does not open: %v %s", err, answer[:length])
	}
	return c
}

// inUse is the memory of heap and stacks that is in use.
func inUse() int64 {
	for range 3 {
		runtime.GC()
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapInuse + stats.StackInuse)
}
