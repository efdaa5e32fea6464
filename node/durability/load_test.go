package durability

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agentlink/node"
	"agentlink/node/nodetest"
)

// load is agents' requests that go on and on: messages, each of its own text and
// with an idempotency key, tried until it is taken.
type load struct {
	t          *testing.T
	to         []*victim // by turns; the next one where one fails
	connection string
	prefix     string

	stop    atomic.Bool
	senders sync.WaitGroup
	mu      sync.Mutex
	taken   map[string]string // id of the message by its text
	started atomic.Int64
	refused map[string]int // by status and code
}

func newLoad(t *testing.T, prefix, connection string, to ...*victim) *load {
	t.Helper()
	for _, v := range to {
		must(t, v.login())
	}
	return &load{t: t, to: to, connection: connection, prefix: prefix, taken: map[string]string{}, refused: map[string]int{}}
}

// start lets n senders send.
func (l *load) start(n int) {
	for range n {
		l.senders.Go(func() {
			for !l.stop.Load() {
				l.send(int(l.started.Add(1)))
			}
		})
	}
}

// send goes on until the message is taken: what was begun is always ended.
func (l *load) send(i int) {
	text := fmt.Sprintf("%s-%d", l.prefix, i)
	for try := 0; ; try++ {
		v := l.to[(i+try)%len(l.to)]
		status, body, err := v.ask(http.MethodPost, "/v1/agent/messages", text, map[string]any{"connectionId": l.connection, "text": text + "."})
		if status == http.StatusCreated {
			l.mu.Lock()
			l.taken[text] = answer{status, string(body)}.text("messageId")
			l.mu.Unlock()
			return
		}
		l.note(status, body, err)
		if try > 3000 {
			l.t.Errorf("%s is never taken: %d %s %v", text, status, body, err)
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (l *load) note(status int, body []byte, err error) {
	what := codeOf(body, err)
	if err == nil {
		what = fmt.Sprintf("%d %s", status, what)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused[what]++
}

// codeOf is what an answer calls its error.
func codeOf(body []byte, err error) string {
	if err != nil {
		return "no answer"
	}
	var problem struct{ Error struct{ Code string } }
	_ = json.Unmarshal(body, &problem)
	return problem.Error.Code
}

// end stops the senders and gives what was taken.
func (l *load) end() map[string]string {
	l.stop.Store(true)
	l.senders.Wait()
	return l.taken
}

// wantClean says that nobody was told anything but success, a refusal that can
// be tried again, or nothing at all.
func (l *load) wantClean() {
	l.t.Helper()
	for what, n := range l.refused {
		if what != "no answer" && what != "503 unavailable" && what != "409 conflict" {
			l.t.Errorf("%d times an agent was told %s", n, what)
		}
	}
}

// wantAll says that every message that was taken is in the database, and arrives
// at the peer, once.
func (l *load) wantAll(p *play) {
	l.t.Helper()
	there := map[string]bool{}
	p.looker.each(l.t, "SELECT id FROM messages", func(_ []string, values []any) { there[fmt.Sprint(values[0])] = true })
	for text, id := range l.taken {
		if !there[id] {
			l.t.Errorf("%s was taken as %s, and is not in the database", text, id)
		}
	}
	var arrived map[string]int
	for before := -1; len(arrived) < len(l.taken); before = len(arrived) {
		nodetest.Eventually(l.t, "more messages arrive", func() bool {
			time.Sleep(500 * time.Millisecond)
			p.pass(30 * time.Second) // the pauses between tries
			p.juno.Renew()
			arrived = texts(p.juno, l.prefix+"-")
			return len(arrived) > before
		})
	}
	for text := range l.taken {
		if n := arrived[text+"."]; n != 1 {
			l.t.Errorf("%s arrived %d times", text, n)
		}
	}
}

// texts counts the messages that an agent has, of those that begin with a prefix.
func texts(agent *nodetest.Agent, prefix string) map[string]int {
	found := map[string]int{}
	for cursor := ""; ; {
		path := "/v1/agent/messages?limit=100"
		if cursor != "" {
			path += "&cursor=" + cursor
		}
		var page struct {
			Items []struct {
				Content struct{ Text string }
			}
			NextCursor string
		}
		agent.Get(path).Want(http.StatusOK).Into(&page)
		for _, item := range page.Items {
			if strings.HasPrefix(item.Content.Text, prefix) {
				found[item.Content.Text]++
			}
		}
		if cursor = page.NextCursor; cursor == "" {
			return found
		}
	}
}

// within waits up to d for something, and tells how long it took.
func within(t testing.TB, d time.Duration, what string, true func() bool) time.Duration {
	t.Helper()
	clock := node.SystemClock{}
	began := clock.Now()
	for !true() {
		if clock.Now().Sub(began) > d {
			t.Errorf("not within %s: %s", d, what)
			return d
		}
		time.Sleep(5 * time.Millisecond)
	}
	return clock.Now().Sub(began)
}

// ready asks a node whether it is.
func (v *victim) ready() bool {
	status, _, err := v.ask(http.MethodGet, "/readyz", "", nil)
	return err == nil && status == http.StatusOK
}
