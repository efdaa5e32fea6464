package rest

import (
	"context"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/api"
	"agentlink/node/audit"
)

// TestVersions: each object has a strong ETag that changes with it.
func TestVersions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, path := range []string{"/me", "/connections/" + connectionID, "/tasks/" + taskUID, "/approvals/" + approvalID, "/actions/" + runID} {
		first := w.ask("GET", "/v1/agent"+path, "")
		tag := first.header.Get("ETag")
		if first.status != 200 || len(tag) != 34 {
			t.Errorf("%s: %d, ETag %s", path, first.status, tag)
		}
		for _, header := range []string{tag, "W/" + tag, `"x", ` + tag, "*"} {
			same := w.ask("GET", "/v1/agent"+path, "", "If-None-Match", header)
			if same.status != 304 || same.body != "" || same.header.Get("ETag") != tag {
				t.Errorf("%s If-None-Match %s: %d %s", path, header, same.status, same.body)
			}
		}
		if other := w.ask("GET", "/v1/agent"+path, "", "If-None-Match", `"x"`); other.status != 200 || other.body != first.body {
			t.Errorf("%s: %d", path, other.status)
		}
	}
	before := w.ask("GET", "/v1/agent/tasks/"+taskUID, "").header.Get("ETag")
	w.behind.setTask(func(task *coordination.Task) { task.InDoubt = true })
	if after := w.ask("GET", "/v1/agent/tasks/"+taskUID, "").header.Get("ETag"); after == before {
		t.Error("another task has the same ETag")
	}
}

// waiting starts a request over a real connection and tells when it waits.
func (w *world) waiting(ctx context.Context, path, tag string) <-chan answer {
	w.t.Helper()
	server := httptest.NewUnstartedServer(nil)
	server.Config = api.NewServer(w.handler)
	server.Start()
	w.t.Cleanup(server.Close)
	before, done := w.db.waiters(), make(chan answer, 1)
	go func() {
		r := newRequest("GET", server.URL+path, "", w.bearer(adaID), "").WithContext(ctx)
		r.RequestURI = ""
		r.Header.Set("If-None-Match", tag)
		response, err := server.Client().Do(r)
		if err != nil {
			done <- answer{body: err.Error()}
			return
		}
		defer response.Body.Close()
		done <- answer{status: response.StatusCode, header: response.Header}
	}()
	w.until("it waits", func() bool { return w.db.waiters() > before })
	return done
}

func (w *world) until(what string, true func() bool) {
	w.t.Helper()
	for range 500 {
		if true() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	w.t.Fatal("never: " + what)
}

func TestWaitEndsWithTheFirstChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := "/v1/agent/tasks/" + taskUID
	tag := w.ask("GET", path, "").header.Get("ETag")
	done := w.waiting(t.Context(), path+"?wait=60", tag)
	w.db.wake() // something else happened
	select {
	case a := <-done:
		t.Fatalf("it ended without a change: %d %s", a.status, a.body)
	case <-time.After(100 * time.Millisecond):
	}
	w.behind.setTask(func(task *coordination.Task) { task.Status = coordination.Agreed })
	w.db.wake()
	if a := <-done; a.status != 200 || a.header.Get("ETag") == tag {
		t.Errorf("%d %s", a.status, a.header.Get("ETag"))
	}
	w.until("it stopped listening", func() bool { return w.db.waiters() == 0 })
}

// TestWaitNeedsNoWake: a change of which nobody told is seen by the poll beneath.
func TestWaitNeedsNoWake(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := "/v1/agent/tasks/" + taskUID
	tag := w.ask("GET", path, "").header.Get("ETag")
	done := w.waiting(t.Context(), path+"?wait=30", tag)
	w.behind.setTask(func(task *coordination.Task) { task.OutOfStep = true })
	if a := <-done; a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestWaitEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := "/v1/agent/tasks/" + taskUID
	tag := w.ask("GET", path, "").header.Get("ETag")
	if a := w.ask("GET", path+"?wait=1", "", "If-None-Match", tag); a.status != 304 || a.header.Get("ETag") != tag {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := w.ask("GET", path+"?wait=60", ""); a.status != 200 {
		t.Errorf("without a version there is nothing to wait for: %d %s", a.status, a.body)
	}
	if a := w.ask("GET", path+"?wait=60", "", "If-None-Match", `"old"`); a.status != 200 {
		t.Errorf("what has changed since is told at once: %d %s", a.status, a.body)
	}
}

// TestWaitOutlivesTheServersTimeOuts: a request may wait longer than a server
// lets others read and write.
func TestWaitOutlivesTheServersTimeOuts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := httptest.NewUnstartedServer(nil)
	server.Config = api.NewServer(w.handler)
	server.Config.ReadTimeout, server.Config.WriteTimeout = 100*time.Millisecond, 100*time.Millisecond
	server.Start()
	t.Cleanup(server.Close)
	r := newRequest("GET", server.URL+"/v1/agent/me?wait=1", "", w.bearer(adaID), "")
	r.RequestURI = ""
	r.Header.Set("If-None-Match", w.ask("GET", "/v1/agent/me", "").header.Get("ETag"))
	response, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != 304 {
		t.Errorf("%d", response.StatusCode)
	}
}

// TestWaitEndsWithTheAgent: who may no longer call waits no longer.
func TestWaitEndsWithTheAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := "/v1/agent/tasks/" + taskUID
	tag := w.ask("GET", path, "").header.Get("ETag")
	done := w.waiting(t.Context(), path+"?wait=60", tag)
	w.behind.setStatus(adaID, "disabled")
	w.db.wake()
	if a := <-done; a.status != 401 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestWaitEndsWithTheClient: a client that has left holds no place.
func TestWaitEndsWithTheClient(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, leave := context.WithCancel(t.Context())
	path := "/v1/agent/tasks/" + taskUID
	done := w.waiting(ctx, path+"?wait=60", w.ask("GET", path, "").header.Get("ETag"))
	leave()
	<-done
	w.until("the place is free", func() bool { return w.db.waiters() == 0 })
}

// TestWaitsAreBounded: one agent cannot fill the node with waiting requests, and
// takes no place from another.
func TestWaitsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range api.MaxWaiting {
		free, err := w.parts.API.Door.Wait(adaID)
		if err != nil {
			t.Fatal(i, err)
		}
		defer free()
	}
	path := "/v1/agent/me?wait=1"
	tag := w.ask("GET", "/v1/agent/me", "").header.Get("ETag")
	a := w.ask("GET", path, "", "If-None-Match", tag)
	if a.status != 429 || a.code(t) != node.RateLimited || a.header.Get("Retry-After") != "1" {
		t.Errorf("%d %s %s", a.status, a.body, a.header.Get("Retry-After"))
	}
	other := w.askAs(w.bearer(bobID), "GET", path, "")
	if other.status != 200 {
		t.Errorf("%d %s", other.status, other.body)
	}
}

// TestWaitForEvents: with nothing new the feed waits, and tells the cursor again.
func TestWaitForEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cursor := w.ask("GET", "/v1/agent/events", "").member(t, "cursor").(string)
	none := w.ask("GET", "/v1/agent/events?wait=1&after="+cursor, "")
	if none.status != 200 || none.member(t, "cursor") != cursor || len(none.member(t, "items").([]any)) != 0 {
		t.Errorf("%d %s", none.status, none.body)
	}
	done := w.waiting(t.Context(), "/v1/agent/events?wait=60&after="+cursor, "")
	w.behind.happen(audit.Row{Position: 9, Type: audit.TaskAgreed, AgentID: adaID, ActorKind: node.ActorPeer, Data: []byte("{}"), At: begin})
	w.db.wake()
	if a := <-done; a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	news := w.ask("GET", "/v1/agent/events?after="+cursor, "")
	items := news.member(t, "items").([]any)
	if len(items) != 1 || fmt.Sprint(items[0].(map[string]any)["type"]) != string(audit.TaskAgreed) {
		t.Errorf("%s", news.body)
	}
}
