package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"agentlink/node/api/socket"
	"agentlink/policy"
)

// agent is an agent's program: it has a key and what it got for it.
type agent struct {
	socket.Agent
	base  string
	token string
	http  *http.Client
}

// connections is the client of all agents: each keeps its connection.
var connections = &http.Client{Transport: &http.Transport{MaxIdleConns: 0, MaxIdleConnsPerHost: 1000}}

// newAgent makes an agent of a running node.
func (p *process) newAgent(handle string) *agent {
	p.t.Helper()
	made := call[socket.Agent](p, socket.AgentCreate, socket.CreateAgent{Handle: handle, Mode: policy.Autonomous})
	return p.agent(made)
}

// agent signs an agent in.
func (p *process) agent(made socket.Agent) *agent {
	p.t.Helper()
	a := &agent{Agent: made, base: p.info.AgentsURL, http: connections}
	if err := a.signIn(); err != nil {
		p.t.Fatal(err)
	}
	return a
}

func (a *agent) signIn() error {
	r, err := http.NewRequest(http.MethodPost, a.base+"/oauth/token", strings.NewReader(url.Values{"grant_type": {"client_credentials"}}.Encode()))
	if err != nil {
		return err
	}
	r.SetBasicAuth(a.ID, a.Key)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	var answer struct {
		Token string `json:"access_token"`
	}
	err = a.send(r, &answer)
	a.token = answer.Token
	return err
}

// post writes and reads the answer.
func (a *agent) post(path string, body, into any) error {
	content, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequest(http.MethodPost, a.base+path, bytes.NewReader(content))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+a.token)
	return a.send(r, into)
}

// get reads.
func (a *agent) get(path string, into any) error {
	r, err := http.NewRequest(http.MethodGet, a.base+path, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+a.token)
	return a.send(r, into)
}

func (a *agent) send(r *http.Request, into any) error {
	answer, err := a.http.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %d %s", r.Method, r.URL.Path, answer.StatusCode, content)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(content, into)
}

// end is the cursor behind everything that has happened so far.
func (a *agent) end() (string, error) {
	var page struct {
		Items  []struct{}
		Cursor string
	}
	for {
		if err := a.get(eventsPath(page.Cursor)+"limit=100", &page); err != nil || len(page.Items) == 0 {
			return page.Cursor, err
		}
	}
}

// eventsPath asks for what comes behind a cursor; more may follow.
func eventsPath(after string) string {
	if after == "" {
		return "/v1/agent/events?"
	}
	return "/v1/agent/events?after=" + url.QueryEscape(after) + "&"
}

// listener hears the events of an agent and tells when one came about a subject.
type listener struct {
	mu   sync.Mutex
	came map[string]time.Time
	wait map[string]chan struct{}
}

// listen opens the agent's stream of events; those of one type are noted by
// their subjects.
func (a *agent) listen(t *testing.T, kind string) *listener {
	t.Helper()
	after, err := a.end()
	if err != nil {
		t.Fatal(err)
	}
	answer, err := a.stream(after)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	l := &listener{came: map[string]time.Time{}, wait: map[string]chan struct{}{}}
	go l.read(answer.Body, kind)
	return l
}

// stream opens the agent's stream behind a cursor.
func (a *agent) stream(after string) (*http.Response, error) {
	r, err := a.request(context.Background(), after)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "text/event-stream")
	answer, err := a.http.Do(r)
	if err == nil && answer.StatusCode != http.StatusOK {
		content, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		return nil, fmt.Errorf("stream: %d %s", answer.StatusCode, content)
	}
	return answer, err
}

func (l *listener) read(body io.Reader, kind string) {
	lines := bufio.NewScanner(body)
	event := ""
	for lines.Scan() {
		if name, found := strings.CutPrefix(lines.Text(), "event: "); found {
			event = name
		}
		if data, found := strings.CutPrefix(lines.Text(), "data: "); found && event == kind {
			var told struct{ Subject string }
			if json.Unmarshal([]byte(data), &told) == nil {
				l.note(told.Subject, now())
			}
		}
	}
}

func (l *listener) note(subject string, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.came[subject] = at
	if waits := l.wait[subject]; waits != nil {
		close(waits)
		delete(l.wait, subject)
	}
}

// next waits for whatever comes next.
func (l *listener) next() (time.Time, error) {
	for end := now().Add(patience); now().Before(end); time.Sleep(100 * time.Microsecond) {
		l.mu.Lock()
		for subject, at := range l.came {
			delete(l.came, subject)
			l.mu.Unlock()
			return at, nil
		}
		l.mu.Unlock()
	}
	return time.Time{}, fmt.Errorf("nothing was told")
}

// patience is how long anything may take.
const patience = 2 * time.Minute

// of waits for the event about a subject and forgets it.
func (l *listener) of(subject string) (time.Time, error) {
	l.mu.Lock()
	_, there := l.came[subject]
	waits := make(chan struct{})
	if !there {
		l.wait[subject] = waits
	}
	l.mu.Unlock()
	if !there {
		select {
		case <-waits:
		case <-time.After(patience):
			return time.Time{}, fmt.Errorf("nothing was told of %s", subject)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.came[subject]
	delete(l.came, subject)
	return at, nil
}
