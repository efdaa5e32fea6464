package browsertest

import (
	"bufio"
	"context"
	"net/http"
	"testing"
	"time"

	"agentlink/node/nodetest"
)

// connected waits until the page hears of changes.
func (b *tab) connected() {
	b.t.Helper()
	b.until("the page listens", `!!document.body["htmx-internal-data"]?.sseEventSource && document.body["htmx-internal-data"].sseEventSource.readyState === 1`)
}

// listen opens an event stream as a page does, and gives when it ends.
func listen(t *testing.T, n *nodetest.Node, cookies []*http.Cookie) (ended <-chan time.Time, status int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, n.DashboardURL()+"/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	for _, c := range cookies {
		r.AddCookie(c)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	end := make(chan time.Time, 1)
	lines := bufio.NewScanner(answer.Body)
	lines.Scan() // it has begun
	go func() {
		defer answer.Body.Close()
		for lines.Scan() {
		}
		end <- time.Now()
	}()
	return end, answer.StatusCode
}

// A stream ends within a second of the session, and an open page is told nothing
// any more.
func TestStreamsEndWithTheSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t, alone)
	v, other := w.ada.SignIn(), w.ada.SignIn()
	var ends []<-chan time.Time
	for range 3 {
		end, status := listen(t, w.ada, v.Cookies())
		if status != http.StatusOK {
			t.Fatalf("listening answers %d", status)
		}
		ends = append(ends, end)
	}
	stays, _ := listen(t, w.ada, other.Cookies())
	before := v.Cookies()
	begun := time.Now()
	v.Get("/settings").Want(http.StatusOK).Submit("Sign out", nil).Want(http.StatusOK)
	for _, end := range ends {
		select {
		case at := <-end:
			if took := at.Sub(begun); took > time.Second {
				t.Errorf("a stream ended %v after the session", took)
			}
		case <-time.After(5 * time.Second):
			t.Fatal("a stream goes on after its session")
		}
	}
	select {
	case <-stays:
		t.Error("the stream of another session ended")
	case <-time.After(1200 * time.Millisecond):
	}
	if _, status := listen(t, w.ada, before); status != http.StatusUnauthorized {
		t.Errorf("the old cookie listens: %d", status)
	}
}

// An open page whose session has ended elsewhere leads to the login.
func TestPageAfterTheSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t, alone)
	id := w.ask("Da Piero")
	v := w.ada.SignIn()
	b := open(t, w.ada.DashboardURL())
	b.bring(v.Cookies())
	b.visit("/approvals/" + id)
	b.connected()
	v.Get("/settings").Want(http.StatusOK).Submit("Sign out", nil).Want(http.StatusOK)
	b.follow("Approve once")
	b.says("Sign in")
	if w.decisions() != 0 {
		t.Error("a session that has ended decided")
	}
}
