package rest_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/node/api/rest"
	"agentlink/node/api/socket"
	"agentlink/node/nodetest"
	"agentlink/policy"
)

// pair is a whole node with two agents of its own that are connected.
type pair struct {
	t           *testing.T
	node        *nodetest.Node
	scout, juno *nodetest.Agent
	// ofScout and ofJuno are the two sides of the connection.
	ofScout, ofJuno socket.Connection
	contract        *rest.Contract
}

func newPair(t *testing.T) *pair {
	t.Helper()
	n := nodetest.Start(t, nodetest.Options{})
	p := &pair{t: t, node: n, scout: n.CreateAgent("scout", policy.Assisted), juno: n.CreateAgent("juno", policy.Assisted)}
	p.ofScout, p.ofJuno = nodetest.Connect(p.scout, p.juno)
	p.contract = rest.NewContract(t, p.scout.Get("/openapi.json").Want(http.StatusOK).Body)
	return p
}

// do calls, and holds request and answer to the document that the node serves.
func (p *pair) do(agent *nodetest.Agent, method, path string, body any, header map[string]string) nodetest.Answer {
	p.t.Helper()
	var sent []byte
	if body != nil {
		sent, _ = json.Marshal(body) // maps of ours
	}
	a := agent.Do(method, path, body, header)
	plain, _, _ := strings.Cut(path, "?")
	p.contract.Check(p.t, method, plain, sent, a.Status, a.Body)
	return a
}

func (p *pair) dinner() (uid string) {
	p.t.Helper()
	for _, agent := range []*nodetest.Agent{p.scout, p.juno} {
		p.node.Grant(agent, "", "disclose.availability", policy.Allow)
	}
	started := p.do(p.scout, "POST", "/v1/agent/tasks", map[string]any{
		"connectionId": p.ofScout.ID, "type": "dinner.coordination", "title": "Dinner",
		"proposal": map[string]any{"date": "2031-05-09", "time": "19:30", "timezone": "Europe/Rome", "partySize": 2},
	}, nil).Want(http.StatusCreated)
	return started.Text("taskUid")
}

// TestLiveAnswersFitTheDocument calls the real services by every kind of read
// and write, and holds each answer to the served document.
func TestLiveAnswersFitTheDocument(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	uid := p.dinner()
	nodetest.Eventually(t, "juno has the task", func() bool {
		return p.do(p.juno, "GET", "/v1/agent/tasks/"+uid, nil, nil).Status == http.StatusOK
	})
	task := p.do(p.juno, "GET", "/v1/agent/tasks/"+uid, nil, nil)
	if task.Value("content.untrusted") != true || task.Text("content.title") != "Dinner" || task.Text("role") != "responder" {
		t.Errorf("%s", task.Body)
	}
	p.do(p.juno, "POST", "/v1/agent/tasks/"+uid+"/responses", map[string]any{"version": 1, "decision": "accept"}, nil).Want(http.StatusCreated)
	nodetest.Eventually(t, "scout's copy is agreed", func() bool {
		return p.do(p.scout, "GET", "/v1/agent/tasks/"+uid, nil, nil).Text("status") == "agreed"
	})
	parameters := map[string]any{"venue": "Da Piero", "date": "2031-05-09", "time": "19:30", "partySize": 2, "taskUid": uid}
	refused := p.do(p.scout, "POST", "/v1/agent/actions", map[string]any{"action": "reservation.book", "parameters": parameters}, nil).Want(http.StatusForbidden)
	if refused.Value("error.details.approvalRequired") == nil {
		t.Errorf("%s", refused.Body)
	}
	asked := p.do(p.scout, "POST", "/v1/agent/approvals", map[string]any{"action": "reservation.book", "parameters": parameters}, nil).Want(http.StatusCreated)
	id := asked.Text("approvalId")
	p.do(p.scout, "POST", "/v1/agent/actions", map[string]any{"approvalId": id}, nil).Want(http.StatusConflict)
	p.node.Approve(p.node.Pending())
	key := map[string]string{"Idempotency-Key": "book"}
	ran := p.do(p.scout, "POST", "/v1/agent/actions", map[string]any{"approvalId": id}, key).Want(http.StatusCreated)
	again := p.do(p.scout, "POST", "/v1/agent/actions", map[string]any{"approvalId": id}, key).Want(http.StatusCreated)
	if diff := cmp.Diff(string(ran.Body), string(again.Body)); diff != "" || ran.Text("outcome") != "done" {
		t.Errorf("%s: %s", ran.Body, diff)
	}
	for _, path := range []string{
		"/me", "/capabilities", "/capabilities?connection=" + p.ofScout.ID, "/connections", "/connections/" + p.ofScout.ID, "/messages",
		"/tasks", "/tasks?status=confirmed&limit=1", "/approvals/" + id, "/actions/" + ran.Text("runId"), "/events?limit=100",
	} {
		p.do(p.scout, "GET", "/v1/agent"+path, nil, nil).Want(http.StatusOK)
	}
}

// TestLiveWaiting: an object is waited for, and a stream tells of a message, as
// soon as the commit is there.
func TestLiveWaiting(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	uid := p.dinner()
	nodetest.Eventually(t, "juno has the task", func() bool {
		return p.juno.Get("/v1/agent/tasks/"+uid).Status == http.StatusOK
	})
	stream := p.stream(p.juno)
	tag := p.juno.Get("/v1/agent/tasks/" + uid).Header.Get("ETag")
	changed := make(chan nodetest.Answer, 1)
	go func() {
		changed <- p.juno.Do("GET", "/v1/agent/tasks/"+uid+"?wait=60", nil, map[string]string{"If-None-Match": tag})
	}()
	p.do(p.scout, "POST", "/v1/agent/tasks/"+uid+"/cancel", map[string]any{"reason": "rain"}, nil).Want(http.StatusCreated)
	select {
	case a := <-changed:
		if a.Text("status") != "cancelled" || a.Text("content.cancelReason") != "rain" {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	case <-time.After(20 * time.Second):
		t.Error("nobody told that the task changed")
	}
	p.do(p.scout, "POST", "/v1/agent/messages", map[string]any{"connectionId": p.ofScout.ID, "text": "Another time."}, nil).Want(http.StatusCreated)
	for kind := range stream {
		if kind == "message.received" {
			return
		}
	}
	t.Error("the stream ended without the message")
}

// stream gives the types of the events that an agent's stream tells.
func (p *pair) stream(agent *nodetest.Agent) <-chan string {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.node.Info.AgentsURL+"/v1/agent/events", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+agent.Token())
	r.Header.Set("Accept", "text/event-stream")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(response.Body) // for the message alone
		p.t.Fatalf("%d %s", response.StatusCode, body)
	}
	kinds := make(chan string, 1000)
	go func() {
		defer response.Body.Close()
		defer close(kinds)
		scanner := bufio.NewScanner(response.Body)
		for scanner.Scan() {
			if kind, ok := strings.CutPrefix(scanner.Text(), "event: "); ok {
				kinds <- kind
			}
		}
	}()
	return kinds
}

// TestLiveIdempotency: one key, one message, also when the requests meet.
func TestLiveIdempotency(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	body := map[string]any{"connectionId": p.ofScout.ID, "text": "Once."}
	p.scout.Get("/v1/agent/me") // gets the token
	answers := make(chan nodetest.Answer)
	for range 8 {
		go func() {
			answers <- p.scout.Do("POST", "/v1/agent/messages", body, map[string]string{"Idempotency-Key": "once"})
		}()
	}
	first := (<-answers).Want(http.StatusCreated)
	for range 7 {
		if other := <-answers; other.Status != http.StatusCreated || !bytes.Equal(other.Body, first.Body) {
			t.Errorf("%d %s, then %d %s", first.Status, first.Body, other.Status, other.Body)
		}
	}
	var list struct{ Items []any }
	p.do(p.scout, "GET", "/v1/agent/messages", nil, nil).Into(&list)
	if len(list.Items) != 1 {
		t.Errorf("%d messages", len(list.Items))
	}
	p.node.Restart()
	again := p.do(p.scout, "POST", "/v1/agent/messages", body, map[string]string{"Idempotency-Key": "once"})
	if again.Status != http.StatusCreated || !bytes.Equal(again.Body, first.Body) {
		t.Errorf("after a restart: %d %s", again.Status, again.Body)
	}
	p.do(p.scout, "POST", "/v1/agent/messages", map[string]any{"connectionId": p.ofScout.ID, "text": "Twice."},
		map[string]string{"Idempotency-Key": "once"}).Want(http.StatusConflict)
}
