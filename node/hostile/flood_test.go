package hostile

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agentlink/coordination/wire"
)

// halfOpen is how many connections are begun and never ended (G10).
const halfOpen = 2000

// TestHalfOpenConnections (G10): 2,000 connections to a node's process, each of
// which drips its header or its body and is opened again as soon as the node
// ends it. Meanwhile the owner opens pages and the agent asks. The node stays
// small and quick, and keeps nobody longer than its time-outs say.
func TestHalfOpenConnections(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped by -short: 2,000 connections")
	}
	p := newProcess(t)
	quiet := p.use(2 * time.Second)
	f := newFlood(p)
	blocked := make(chan time.Duration, 1)
	go func() { blocked <- p.neverRead() }()
	busy := p.use(18 * time.Second)
	f.stop()
	f.wantClosed()
	p.wantQuick("half-open connections", quiet, busy)
	p.wantSmall()
	if lived := <-blocked; lived < 20*time.Second || lived > 60*time.Second {
		t.Errorf("a client that never reads was kept for %s", lived)
	}
	t.Logf("%d connections were ended, those in their header after %s at most, those in their body after %s", f.ended.Load(), f.longest(0), f.longest(1))
}

// measured is how long requests took.
type measured struct{ pages, answers []time.Duration }

// use opens the owner's page, and asks as the agent, again and again for a while.
func (p *process) use(during time.Duration) (m measured) {
	p.t.Helper()
	for end := time.Now().Add(during); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		began := time.Now()
		p.visitor.Get("/").Want(http.StatusOK)
		m.pages = append(m.pages, time.Since(began))
		began = time.Now()
		status, _, body := p.send("GET", "/v1/agent/tasks", http.Header{"Authorization": {"Bearer " + p.bearer}}, nil)
		if status != http.StatusOK {
			p.t.Fatalf("the agent gets %d %s", status, body)
		}
		m.answers = append(m.answers, time.Since(began))
	}
	return m
}

// wantQuick: p95 of the owner's page is below 300 ms. A machine that is that slow
// by itself shows in what was measured before.
func (p *process) wantQuick(what string, quiet, busy measured) {
	p.t.Helper()
	before, page, answer := percentile(quiet.pages, 95), percentile(busy.pages, 95), percentile(busy.answers, 95)
	p.t.Logf("%s: the owner's page has p95 %s (before: %s), the agent's list %s, of %d each; memory %d MiB at most",
		what, page.Round(time.Millisecond/10), before.Round(time.Millisecond/10), answer.Round(time.Millisecond/10), len(busy.pages), p.memory())
	if limit := max(300*time.Millisecond, 6*before); page > limit || answer > limit {
		p.t.Errorf("%s: p95 %s and %s, want at most %s", what, page, answer, limit)
	}
}

// wantSmall: the race detector's own memory is not the node's.
func (p *process) wantSmall() {
	p.t.Helper()
	if peak := p.memory(); peak >= 300 && !raceDetector {
		p.t.Errorf("the process took %d MiB", peak)
	}
}

// flood is connections that never finish a request.
type flood struct {
	p       *process
	running sync.WaitGroup
	over    chan struct{}
	ended   atomic.Int64
	mu      sync.Mutex
	most    [2]time.Duration // by kind: in the header, in the body
}

func newFlood(p *process) *flood {
	p.t.Helper()
	f := &flood{p: p, over: make(chan struct{})}
	var open atomic.Int64
	for i := range halfOpen {
		f.running.Go(func() {
			for first := true; f.drip(i, first, &open); first = false {
			}
		})
	}
	for end := time.Now().Add(20 * time.Second); open.Load() < halfOpen; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("only %d connections are open", open.Load())
		}
	}
	return f
}

// beginnings are the requests whose bodies never end: with and without a right
// to be asked, in one piece and in chunks.
func (f *flood) beginning(i int) (request string, kind int) {
	header := "POST %s HTTP/1.1\r\nHost: " + f.p.address + "\r\n"
	length, chunked := "Content-Length: 60000\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n4\r\n{   \r\n"
	paths := []string{wire.InboxPath, "/v1/agent/messages", "/oauth/token", "/oauth/register", "/mcp", "/login"}
	path := paths[i/2%len(paths)]
	header = fmt.Sprintf(header, path)
	if path == "/v1/agent/messages" || path == "/mcp" {
		header += "Authorization: Bearer " + f.p.bearer + "\r\n"
	}
	switch i % 4 {
	case 1:
		return header + "Content-Type: application/json\r\n" + length, 1
	case 3:
		return header + "Content-Type: application/json\r\n" + chunked, 1
	}
	return header + "X-Drip: ", 0
}

// drip is one connection, from which a byte comes every second. It is false when
// the test is over.
func (f *flood) drip(i int, first bool, open *atomic.Int64) bool {
	conn, err := net.DialTimeout("tcp", f.p.address, 10*time.Second)
	if err != nil {
		return f.goesOn(time.Second)
	}
	defer func() { _ = conn.Close() }()
	began := time.Now()
	request, kind := f.beginning(i)
	if _, err := io.WriteString(conn, request); err != nil {
		return f.goesOn(0)
	}
	if first {
		open.Add(1)
	}
	gone := make(chan struct{})
	go func() { // the node may answer before it closes
		_, _ = io.Copy(io.Discard, conn)
		close(gone)
	}()
	for {
		select {
		case <-gone:
			f.note(kind, time.Since(began))
			return f.goesOn(0)
		case <-f.over:
			if time.Since(began) > 30*time.Second {
				f.note(kind, time.Since(began))
			}
			return false
		case <-time.After(time.Second):
			_, _ = conn.Write([]byte("a"))
		}
	}
}

func (f *flood) goesOn(pause time.Duration) bool {
	select {
	case <-f.over:
		return false
	case <-time.After(pause):
		return true
	}
}

func (f *flood) note(kind int, lived time.Duration) {
	f.ended.Add(1)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.most[kind] = max(f.most[kind], lived)
}

func (f *flood) longest(kind int) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.most[kind].Round(time.Millisecond)
}

func (f *flood) stop() {
	close(f.over)
	f.running.Wait()
}

// wantClosed: 5 s for a header, 10 s more for a body; the rest is the machine's.
func (f *flood) wantClosed() {
	f.p.t.Helper()
	if f.ended.Load() < halfOpen {
		f.p.t.Errorf("only %d connections were ended", f.ended.Load())
	}
	if header, body := f.longest(0), f.longest(1); header > 9*time.Second || header < 4*time.Second || body > 19*time.Second || body < 4*time.Second {
		f.p.t.Errorf("a header could take %s, a body %s", header, body)
	}
}

// neverRead asks for much, reads nothing of it, and tells when the node has had
// enough.
func (p *process) neverRead() time.Duration {
	began := time.Now()
	conn, err := net.Dial("tcp", p.address)
	if err != nil {
		return 0
	}
	defer func() { _ = conn.Close() }()
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	request := "GET /openapi.json HTTP/1.1\r\nHost: " + p.address + "\r\n\r\n"
	for time.Since(began) < 90*time.Second {
		_ = conn.SetWriteDeadline(time.Now().Add(500 * time.Millisecond))
		if _, err := io.WriteString(conn, request); err != nil {
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				return time.Since(began)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	return time.Since(began)
}
