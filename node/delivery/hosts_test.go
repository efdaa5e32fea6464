package delivery

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"agentlink/coordination/wire"
)

// TestAHostThatIsAwayIsAskedByOne: forty messages wait for it, and it sees as
// few requests as for one: 100 in a day at most.
func TestAHostThatIsAwayIsAskedByOne(t *testing.T) {
	t.Parallel()
	for name, jitter := range map[string]float64{"a little jitter": 0.2, "half of it": 0.5, "nearly all": 0.99} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, ClientConfig{})
			b.worker.Jitter = func() float64 { return jitter }
			var ids []string
			for i := range int64(40) {
				ids = append(ids, b.queue(wire.TaskPropose, fmt.Sprint("lane ", i), i+1))
			}
			b.peer.fail(answers(500, nil, "")(b))
			for b.clock.Now().Before(start.Add(24 * time.Hour)) {
				b.drain(t)
				b.next(t)
			}
			b.peer.mu.Lock()
			posts := b.peer.posts
			b.peer.mu.Unlock()
			if posts > 100 || posts < 70 {
				t.Errorf("%d requests in a day", posts)
			}
			b.wantHealed(t, ids)
		})
	}
}

// TestOneMessageAloneStopsNoOther: a message that its peer cannot take is tried
// less and less; what else is for that peer arrives at once, all the same.
func TestOneMessageAloneStopsNoOther(t *testing.T) {
	t.Parallel()
	b := newBench(t, ClientConfig{})
	failing := atomic.Bool{}
	b.peer.fail(func(w http.ResponseWriter, _ *http.Request) bool {
		if failing.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
		return failing.Load()
	})
	poison := b.queue(wire.TaskPropose, "poison", 1)
	for i := range 20 {
		failing.Store(true)
		b.next(t)
		b.drain(t)
		failing.Store(false)
		other := b.queue(wire.TaskPropose, fmt.Sprint("task ", i), 1)
		for b.peer.count(other) == 0 {
			if more, err := b.worker.Step(t.Context()); err != nil || !more {
				t.Fatalf("round %d: it does not arrive: %v", i, err)
			}
		}
	}
	if item, waits := b.db.item(poison); !waits || item.Attempts != 20 {
		t.Errorf("the failing one: %+v, %v", item, waits)
	}
}

// TestAPauseIsKeptByAll: what a host asks of one message holds for the others.
func TestAPauseIsKeptByAll(t *testing.T) {
	t.Parallel()
	b := newBench(t, ClientConfig{})
	for i := range int64(10) {
		b.queue(wire.TaskPropose, fmt.Sprint("lane ", i), i+1)
	}
	b.peer.fail(answers(503, http.Header{"Retry-After": {"600"}}, "")(b))
	b.drain(t)
	b.clock.Advance(599 * time.Second)
	b.drain(t)
	if b.peer.posts != 1 {
		t.Errorf("%d requests before the pause was over", b.peer.posts)
	}
	b.peer.fail(nil)
	b.clock.Advance(time.Second)
	b.drain(t)
	if len(b.peer.applied) != 10 {
		t.Errorf("%d of 10 arrived", len(b.peer.applied))
	}
}

func TestHostsAreForgotten(t *testing.T) {
	t.Parallel()
	h := newHosts()
	for i := range 50 {
		name := fmt.Sprint(i)
		if _, ok := h.enter(name, start); !ok {
			t.Fatal("no room")
		}
		h.silent(name, "a", start, time.Second, 0)
		h.leave(name)
	}
	if _, ok := h.enter("other", start); !ok || len(h.known) != 51 {
		t.Fatalf("%d are known", len(h.known))
	}
	h.answered("other")
	h.leave("other")
	h.silent("x", "a", start.Add(25*time.Hour), 0, 0)
	if len(h.known) != 1 {
		t.Errorf("%d are known a day later", len(h.known))
	}
}
