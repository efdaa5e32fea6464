package rest

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"agentlink/node"
	"agentlink/node/api"
	"agentlink/node/audit"
)

// stream is an open event stream.
type stream struct {
	t        *testing.T
	response *http.Response
	lines    chan string
}

func (w *world) stream(ctx context.Context, authorization, query string, header ...string) *stream {
	w.t.Helper()
	server := httptest.NewUnstartedServer(nil)
	server.Config = api.NewServer(w.handler)
	server.Start()
	w.t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	r := newRequest("GET", server.URL+"/v1/agent/events"+query, "", authorization, "").WithContext(ctx)
	r.RequestURI = ""
	r.Header.Set("Accept", "text/html, text/event-stream;q=0.9")
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	response, err := server.Client().Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = response.Body.Close() }) // its client has seen what it wants
	s := &stream{t: w.t, response: response, lines: make(chan string, 100)}
	go func() {
		defer close(s.lines)
		scanner := bufio.NewScanner(response.Body)
		for scanner.Scan() {
			s.lines <- scanner.Text()
		}
	}()
	return s
}

// next reads an event; ok is false when the stream has ended.
func (s *stream) next() (id, kind string, data map[string]any, ok bool) {
	s.t.Helper()
	for {
		select {
		case line, open := <-s.lines:
			name, value, _ := strings.Cut(line, ": ")
			switch {
			case !open:
				return id, kind, data, false
			case line == "" && kind != "":
				return id, kind, data, true
			case name == "id":
				id = value
			case name == "event":
				kind = value
			case name == "data":
				if err := json.Unmarshal([]byte(value), &data); err != nil {
					s.t.Fatalf("%s: %v", line, err)
				}
			}
		case <-time.After(10 * time.Second):
			s.t.Fatal("no event came")
		}
	}
}

// TestStream: what has happened comes at once, what happens comes when it does,
// and a client that comes back goes on where it was.
func TestStream(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.stream(t.Context(), w.bearer(adaID), "")
	if kind := s.response.Header.Get("Content-Type"); s.response.StatusCode != 200 || kind != "text/event-stream" {
		t.Fatalf("%d %s", s.response.StatusCode, kind)
	}
	first, kind, data, _ := s.next()
	if kind != string(audit.MessageReceived) || data["cursor"] != first || data["subject"] != messageID {
		t.Errorf("%s %s %v", first, kind, data)
	}
	second, kind, _, _ := s.next()
	if kind != string(audit.TaskProposed) {
		t.Error(kind)
	}
	w.behind.happen(audit.Row{Position: 11, Type: audit.TaskCancelled, AgentID: adaID, ActorKind: node.ActorPeer, Data: []byte("{}"), At: begin})
	w.behind.happen(audit.Row{Position: 12, Type: audit.TaskCancelled, AgentID: bobID, ActorKind: node.ActorPeer, Data: []byte("{}"), At: begin})
	w.behind.happen(audit.Row{Position: 13, Type: audit.TaskVoided, AgentID: adaID, ActorKind: node.ActorPeer, Data: []byte("{}"), At: begin})
	w.db.wake()
	third, kind, _, _ := s.next()
	if kind != string(audit.TaskCancelled) {
		t.Error(kind)
	}
	if _, kind, _, _ := s.next(); kind != string(audit.TaskVoided) {
		t.Error(kind)
	}

	after := w.stream(t.Context(), w.bearer(adaID), "?after="+first)
	if id, _, _, _ := after.next(); id != second {
		t.Errorf("after the first comes %s", id)
	}
	back := w.stream(t.Context(), w.bearer(adaID), "?after="+first, "Last-Event-ID", second)
	if id, _, _, _ := back.next(); id != third {
		t.Errorf("after the second comes %s", id)
	}
}

// TestStreamEndsWithTheAgent: disabling the agent, or its token's time, ends the
// stream with the reason.
func TestStreamEndsWithTheAgent(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w *world){
		"disabled": func(w *world) { w.behind.setStatus(adaID, "disabled") },
		"expired":  func(w *world) { w.clock.Advance(15 * time.Minute) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := w.stream(t.Context(), w.bearer(adaID), "")
			s.next()
			s.next()
			w.until("it waits", func() bool { return w.db.waiters() == 1 })
			end(w)
			w.db.wake()
			_, kind, data, _ := s.next()
			problem, _ := data["error"].(map[string]any)
			if kind != "end" || problem["code"] != string(node.Unauthorized) {
				t.Errorf("%s %v", kind, data)
			}
			if _, _, _, open := s.next(); open {
				t.Error("it goes on")
			}
			w.until("it stopped listening", func() bool { return w.db.waiters() == 0 })
		})
	}
}

func TestStreamEndsWithTheClient(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, leave := context.WithCancel(t.Context())
	s := w.stream(ctx, w.bearer(adaID), "")
	s.next()
	w.until("it listens", func() bool { return w.db.waiters() == 1 })
	leave()
	w.until("it stopped listening", func() bool { return w.db.waiters() == 0 })
}

// TestStreamRefusals: who is not let in gets a problem and no stream.
func TestStreamRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, caller := range callers {
		if caller.name == "agent" || caller.name == "other" {
			continue
		}
		s := w.stream(t.Context(), caller.bears(w), "")
		if s.response.StatusCode != 401 || !strings.HasPrefix(s.response.Header.Get("Content-Type"), jsonType) {
			t.Errorf("%s: %d", caller.name, s.response.StatusCode)
		}
	}
	for _, c := range []struct {
		query, last string
	}{{"?after=x", ""}, {"", "x"}, {"?wait=5", ""}, {"?x=1", ""}} {
		header := []string{"Last-Event-ID", c.last}
		if c.last == "" {
			header = nil
		}
		if s := w.stream(t.Context(), w.bearer(adaID), c.query, header...); s.response.StatusCode != 400 {
			t.Errorf("%v: %d", c, s.response.StatusCode)
		}
	}
	foreign := w.ask("GET", "/v1/agent/events", "").member(t, "cursor").(string)
	if s := w.stream(t.Context(), w.bearer(bobID), "", "Last-Event-ID", foreign); s.response.StatusCode != 400 {
		t.Errorf("another agent's cursor: %d", s.response.StatusCode)
	}
}
