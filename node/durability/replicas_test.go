package durability

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"agentlink/node"
	"agentlink/node/config"
	"agentlink/node/nodetest"
	"agentlink/node/store/storetest"
)

// uses is how often one approval is used at once.
const uses = 1000

// TestOneApprovalManyUses: one approval of an action, used 1,000 times at once:
// it is run once, all others are told of a conflict, and nothing else is said.
// Over two processes on one PostgreSQL, and over one on SQLite.
func TestOneApprovalManyUses(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		p := newPlay(t, "")
		p.useAtOnce(budget(t, 8*time.Second), p.victim)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		storetest.RequirePostgres(t)
		p, second := newReplicas(t)
		p.useAtOnce(budget(t, 20*time.Second), p.victim, second)
	})
}

func (p *play) useAtOnce(d time.Duration, over ...*victim) {
	p.t.Helper()
	for _, v := range over {
		must(p.t, v.login())
	}
	clock, rounds, total := node.SystemClock{}, 0, map[string]int{}
	for end := clock.Now().Add(d); clock.Now().Before(end) && rounds < 200; rounds++ {
		text := fmt.Sprintf("use-%d", rounds)
		asked := p.victim.agent(http.MethodPost, "/approvals", "ask-"+text, map[string]any{"action": "calendar.hold", "parameters": map[string]any{
			"title": text, "date": "2027-01-05", "time": "19:30", "durationMinutes": 60,
		}})
		id := asked.text("approvalId")
		p.decide(id)
		before := len(readJournal(p.victim.settings[journalName]))
		if rounds == 0 {
			before = 0 // there is no journal yet
		}
		got := p.use(id, over)
		for what, n := range got {
			total[what] += n
		}
		if done := len(readJournal(p.victim.settings[journalName])) - before; done != 1 || got["201"]+got["202"] != 1 || got["409 conflict"] != uses-1 {
			p.t.Fatalf("round %d: %d effects; the agent was told %v", rounds, done, got)
		}
	}
	p.t.Logf("%d rounds of %d uses over %d processes: %v", rounds, uses, len(over), total)
	p.wantWhole()
}

// use is all uses of one approval, by turns over the processes.
func (p *play) use(id string, over []*victim) map[string]int {
	got := map[string]int{}
	var mu sync.Mutex
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range uses {
		all.Go(func() {
			<-begin
			status, body, err := over[i%len(over)].ask(http.MethodPost, "/v1/agent/actions", "", map[string]any{"approvalId": id})
			what := fmt.Sprint(status)
			if status >= 300 || err != nil {
				what = strings.TrimSpace(fmt.Sprintf("%d %s", status, codeOf(body, err)))
			}
			mu.Lock()
			got[what]++
			mu.Unlock()
		})
	}
	close(begin)
	all.Wait()
	return got
}

// front is what stands before two replicas. It hands each envelope to both at
// once, and all else to whichever is there.
type front struct {
	t        *testing.T
	replicas []*victim
	mu       sync.Mutex
	doubled  int
	differ   []string
}

// ServeHTTP implements http.Handler.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	answers := make([]*httptest.ResponseRecorder, len(f.replicas))
	var both sync.WaitGroup
	for i, v := range f.replicas {
		both.Go(func() { answers[i] = forward(v, r, body) })
	}
	both.Wait()
	f.compare(r.URL.Path, answers)
	for _, a := range answers {
		if a.Code == http.StatusBadGateway { // this one is being restarted
			continue
		}
		for name, values := range a.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(a.Code)
		_, _ = w.Write(a.Body.Bytes())
		return
	}
	w.WriteHeader(http.StatusBadGateway)
}

func forward(v *victim, r *http.Request, body []byte) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	request, err := http.NewRequestWithContext(r.Context(), r.Method, "http://"+v.settings[config.ListenName]+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		answer.Code = http.StatusBadGateway
		return answer
	}
	request.Header = r.Header.Clone()
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		answer.Code = http.StatusBadGateway
		return answer
	}
	defer func() { _ = response.Body.Close() }()
	for name, values := range response.Header {
		answer.Header()[name] = values
	}
	answer.WriteHeader(response.StatusCode)
	_, _ = io.Copy(answer, response.Body)
	return answer
}

// compare says that both give the same signed answer to an envelope.
func (f *front) compare(path string, answers []*httptest.ResponseRecorder) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !strings.HasSuffix(path, "/inbox") || answers[0].Code == http.StatusBadGateway || answers[1].Code == http.StatusBadGateway {
		return
	}
	f.doubled++
	if a, b := answers[0].Body.String(), answers[1].Body.String(); a != b {
		f.differ = append(f.differ, fmt.Sprintf("%d %s\n%d %s", answers[0].Code, a, answers[1].Code, b))
	}
}

// newReplicas is a play whose node is two processes on one PostgreSQL.
func newReplicas(t *testing.T) (*play, *victim) {
	t.Helper()
	f := &front{t: t}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	p := &play{t: t, clock: &shifted{}, front: f}
	url := storetest.Postgres(t).URL
	host := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	p.victim = newVictim(t, url, p.clock, config.PublicURLName+"="+host)
	second := p.victim.replica(t)
	f.replicas = []*victim{p.victim, second}
	p.looker = newLooker(t, url)
	p.join()
	return p, second
}

// replica is a second process of the same node.
func (v *victim) replica(t testing.TB) *victim {
	t.Helper()
	r := bareVictim(t)
	r.probe, r.clock = "/readyz", v.clock
	for _, name := range []string{config.DatabaseURLName, config.PublicURLName, journalName} {
		r.settings[name] = v.settings[name]
	}
	r.settings[config.MasterKeyFileName] = filepath.Join(v.settings[config.DataDirName], "master.key")
	r.agentID, r.key = v.agentID, v.key
	r.start()
	return r
}

// TestSameEnvelopeToBoth: each envelope of the peer's is posted to both replicas
// at once. It is applied once, and both give the same signed answer. What two
// replicas' workers send is sent by one of them.
func TestSameEnvelopeToBoth(t *testing.T) {
	t.Parallel()
	storetest.RequirePostgres(t)
	p, second := newReplicas(t)
	f := p.front
	const messages = 100
	for i := range messages {
		p.fromPeer("/messages", map[string]any{"connectionId": p.ofB, "text": fmt.Sprintf("both-%d.", i)})
	}
	l := newLoad(t, "leased", p.ofA, p.victim, second)
	for i := range messages {
		l.send(i)
	}
	l.wantAll(p)
	p.until("all arrive", func() bool { return p.count("messages WHERE direction = 'in' AND type = 'message'") >= messages })
	p.wantWhole()
	if n := p.count("messages WHERE direction = 'in' AND type = 'message'"); n != messages {
		t.Errorf("%d messages were taken in, want %d", n, messages)
	}
	if n := p.count("messages WHERE direction = 'out' AND type = 'message' AND tries > 1"); n != 0 {
		t.Errorf("%d messages were sent by more than one worker", n)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.differ) > 0 {
		t.Errorf("%d of %d answers differ, the first:\n%s", len(f.differ), f.doubled, f.differ[0])
	}
	if f.doubled < messages {
		t.Errorf("only %d envelopes were posted to both", f.doubled)
	}
	t.Logf("%d envelopes posted to both at once, %d messages sent by two replicas", f.doubled, messages)
}

// TestRollingRestart: two replicas are restarted by turns, in order and by kill
// -9, while agents go on. Nothing that was taken is lost, and nothing arrives twice.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	storetest.RequirePostgres(t)
	p, second := newReplicas(t)
	l := newLoad(t, "rolling", p.ofA, p.victim, second)
	l.start(4)
	clock, restarts := node.SystemClock{}, 0
	for end := clock.Now().Add(budget(t, 10*time.Second)); clock.Now().Before(end); restarts++ {
		v := []*victim{p.victim, second}[restarts%2]
		signal := []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL}[restarts/2%2]
		before := len(l.snapshot())
		_ = v.process.Process.Signal(signal)
		<-v.exited
		v.start()
		within(t, recoveredWithin, "messages are taken", func() bool { return len(l.snapshot()) > before+5 })
	}
	taken := l.end()
	t.Logf("%d restarts, %d messages taken, refusals %v; ready in %s and %s at the slowest", restarts, len(taken), l.refused, p.victim.slowest, second.slowest)
	l.wantClean()
	l.wantAll(p)
	p.wantWhole()
	nodetest.Eventually(t, "both are ready", func() bool { return p.victim.ready() && second.ready() })
}
