package dashboard_test

import (
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"testing"
	"time"

	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/policy"
)

// mostActivity is how long the page of the log may take with 100,000 decisions of
// the last 30 days, each with its row; p95.
const mostActivity = 100 * time.Millisecond

// mostExport is how much the heap may grow while a log of this length is exported:
// a page of rows, and not the log.
const mostExport = 32 << 20

// busyMonth is a node whose rules have decided 100,000 times within 30 days.
func busyMonth(b *testing.B) *bundle {
	b.Helper()
	n := newBundle(b)
	agent := n.agent("scout", policy.Autonomous)
	outcomes := []policy.Outcome{policy.Allowed, policy.Allowed, policy.Held, policy.Refused}
	for done := 0; done < benchPast; {
		n.in(func(tx node.Tx) error {
			for range 1000 {
				record := policy.Record{OwnerID: agent.OwnerID, AgentID: agent.ID, At: noon.Add(-time.Duration(done) * 25 * time.Second)}
				record.ID, record.Outcome = node.RandomIDs{}.New(), outcomes[done%4]
				if err := n.store.InsertDecision(tx, record); err != nil {
					return err
				}
				event := audit.Event{
					Type: audit.PolicyDecided, Actor: n.actor(agent), AgentID: agent.ID, Subject: record.ID,
					Data: map[string]any{"outcome": record.Outcome, "contact": fmt.Sprintf("contact%d@node.example", done%50), "answers": map[string]any{"task.propose": map[string]any{"outcome": record.Outcome}}},
				}
				if err := n.audit.Append(tx, event); err != nil {
					return err
				}
				done++
			}
			return nil
		})
	}
	return n
}

// BenchmarkActivity is the page of the log of such a node; p95 is in milliseconds.
// A search and a verification read more than a page, and have no bound here.
func BenchmarkActivity(b *testing.B) {
	n := busyMonth(b)
	for _, test := range []struct {
		path string
		most time.Duration
	}{
		{"/activity", mostActivity}, {"/activity?before=50000", mostActivity}, {"/activity?type=agent.created", mostActivity},
		{"/activity?type=policy.decided&before=1000", mostActivity}, {"/activity/50000", mostActivity}, {"/activity?q=contact49", time.Minute},
	} {
		b.Run(test.path, func(b *testing.B) {
			b.ReportAllocs()
			var took []time.Duration
			for b.Loop() {
				begun := time.Now()
				n.get(test.path).want(http.StatusOK)
				took = append(took, time.Since(begun))
			}
			slices.Sort(took)
			p95 := took[len(took)*95/100]
			b.ReportMetric(float64(p95.Microseconds())/1000, "p95-ms")
			if p95 > test.most {
				b.Errorf("p95 is %v, more than %v", p95, test.most)
			}
		})
	}
	b.Run("tally", func(b *testing.B) {
		for b.Loop() {
			n.in(func(tx node.Tx) error {
				_, err := n.store.DecisionTally(tx, noon.AddDate(0, 0, -29))
				return err
			})
		}
	})
	b.Run("verify", func(b *testing.B) {
		for b.Loop() {
			n.post("/activity/verify", nil).want(http.StatusOK)
		}
	})
	b.Run("export", func(b *testing.B) { n.exports(b) })
}

// exports streams the log to somebody who keeps nothing, and looks at the heap.
func (b *bundle) exports(bench *testing.B) {
	for bench.Loop() {
		r := formRequest("/activity/export", url.Values{"csrf": {b.visitor.CSRF}})
		r.Host = host
		r.AddCookie(&http.Cookie{Name: "agentlink-test", Value: goodCookie})
		w := &sink{header: http.Header{}, start: heap()}
		b.handler.ServeHTTP(w, r)
		bench.ReportMetric(float64(w.most)/1e6, "heap-MB")
		bench.ReportMetric(float64(w.bytes)/1e6, "file-MB")
		if w.bytes < 10*benchPast || w.most > mostExport {
			bench.Errorf("%d bytes came, and the heap grew by %d, more than %d", w.bytes, w.most, mostExport)
		}
	}
}

// sink is a reader of an answer that keeps nothing.
type sink struct {
	header      http.Header
	bytes       int
	pieces      int
	start, most uint64
}

func (s *sink) Header() http.Header { return s.header }
func (s *sink) WriteHeader(int)     {}

func (s *sink) Write(data []byte) (int, error) {
	if s.bytes += len(data); s.pieces%2000 == 0 {
		s.most = max(s.most, heap()-min(heap(), s.start))
	}
	s.pieces++
	return len(data), nil
}

// heap is what is in use after a collection.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
