package api

import (
	"context"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"agentlink/node"
	"agentlink/node/token"
)

type from struct {
	After string `json:"-" query:"after"`
}

// TestStreamBeats: a silent stream says every 15 seconds that it is alive, and
// looks every 5 for what nobody told it of.
func TestStreamBeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, f := newDoor()
		f.now = time.Unix(100, 0)
		d.Tokens = lasting{}
		looks, happened := 0, atomic.Bool{}
		handler := Stream(d, Source[from]{
			Page:  2,
			Start: func(Caller, from, string) (int64, error) { return 7, nil },
			After: func(_ node.Tx, _ Caller, position int64) ([]Event, int64, error) {
				looks++
				if happened.Load() && position == 7 {
					return []Event{{ID: "eight", Type: "news", Data: []byte("{}")}}, 8, nil
				}
				return nil, position, nil
			},
		})
		ctx, leave := context.WithCancel(t.Context())
		r := httptest.NewRequest("GET", "/events", nil).WithContext(ctx)
		r.Header.Set("Authorization", "Bearer good")
		recorder := httptest.NewRecorder()
		done := make(chan struct{})
		go func() {
			defer close(done)
			handler.ServeHTTP(recorder, r)
		}()
		time.Sleep(31 * time.Second)
		synctest.Wait()
		happened.Store(true)
		time.Sleep(Poll)
		leave()
		<-done
		body := recorder.Body.String()
		if beats := strings.Count(body, ":\n\n"); beats != 4 {
			t.Errorf("%d beats in %q", beats, body)
		}
		if strings.Count(body, "id: eight\nevent: news\ndata: {}\n\n") != 1 {
			t.Errorf("%q", body)
		}
		if looks < 4 || looks > 6 {
			t.Errorf("it looked %d times in 46 seconds", looks)
		}
	})
}

// lasting gives a token that does not expire while a test runs.
type lasting struct{}

func (lasting) Check(string, time.Time) (token.AccessClaims, error) {
	return token.AccessClaims{Sub: "a", Exp: 1 << 40}, nil
}

// TestServerHasEveryTimeOut: none is left to mean for ever.
func TestServerHasEveryTimeOut(t *testing.T) {
	t.Parallel()
	server := NewServer(nil)
	if server.ReadHeaderTimeout <= 0 || server.ReadTimeout <= 0 || server.WriteTimeout <= 0 || server.IdleTimeout <= 0 || server.MaxHeaderBytes <= 0 {
		t.Errorf("%+v", server)
	}
	app := NewFiber(nil).Config()
	if app.ReadTimeout <= 0 || app.WriteTimeout <= 0 || app.IdleTimeout <= 0 || !app.Immutable || app.BodyLimit != node.MaxJSONBytes {
		t.Errorf("%+v", app)
	}
}
