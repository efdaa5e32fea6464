package mcp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agentlink/actions"
	"agentlink/node/api"
	"agentlink/node/nodetest"
	"agentlink/policy"
)

// slow is an executor that begins and does not end before it may.
type slow struct {
	begun, may chan struct{}
	count      atomic.Int64
}

func (*slow) Name() string     { return "reservation.book" }
func (*slow) Idempotent() bool { return false }

func (s *slow) Execute(ctx context.Context, _ string, _ json.RawMessage) (actions.Result, error) {
	s.count.Add(1)
	close(s.begun)
	<-s.may
	return actions.Result{Code: "SLOW", Checked: true}, ctx.Err()
}

// TestLeavingDoesNotCancelARun: a run that has begun ends as it would have, and
// the client finds it under its own key.
func TestLeavingDoesNotCancelARun(t *testing.T) {
	t.Parallel()
	for name, version := range versions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			executor := &slow{begun: make(chan struct{}), may: make(chan struct{})}
			n := nodetest.Start(t, nodetest.Options{Executors: []actions.Executor{executor}})
			scout := n.CreateAgent("scout", policy.Autonomous)
			n.Grant(scout, "", "action.reservation.book", policy.Allow)
			book := map[string]any{"idempotencyKey": "book", "action": "reservation.book", "parameters": map[string]any{
				"venue": "Da Piero", "date": "2031-05-09", "time": "19:30", "partySize": 2,
			}}
			leaving := connectAs(t, n, scout.Key, nil, version)
			ctx, leave := context.WithCancel(t.Context())
			left := make(chan error, 1)
			go func() {
				_, err := leaving.session.CallTool(ctx, &sdk.CallToolParams{Name: "run_action", Arguments: book})
				left <- err
			}()
			<-executor.begun
			leave()
			if err := <-left; err == nil {
				t.Error("the call was answered")
			}
			var ended sync.WaitGroup
			if version != nil {
				ended.Go(func() { endSession(t, n, scout.Key, leaving.session.ID()) })
				time.Sleep(100 * time.Millisecond)
			}
			close(executor.may)
			ended.Wait()
			back := connectAs(t, n, scout.Key, nil, version)
			var run nodetest.Answer
			n.Eventually("the run is done", func() bool {
				run = back.call("run_action", book).value()
				return run.Text("outcome") == "done"
			})
			if run.Text("result.code") != "SLOW" || executor.count.Load() != 1 {
				t.Errorf("executed %d times: %s", executor.count.Load(), run.Body)
			}
		})
	}
}

// TestLeavingFreesItsPlace: whoever waits no longer takes no place from others.
// Without sessions a place is free as soon as the client ends the call; with
// sessions also when it ends the session.
func TestLeavingFreesItsPlace(t *testing.T) {
	t.Parallel()
	for name, version := range versions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := nodetest.Start(t, nodetest.Options{})
			scout := n.CreateAgent("scout", policy.Assisted)
			h := connectAs(t, n, scout.Key, nil, version)
			after := h.call("wait_for_events", nil).fine().Text("cursor")
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			var waiting sync.WaitGroup
			wait := func() *sdk.CallToolParams { // the SDK writes into each
				return &sdk.CallToolParams{Name: "wait_for_events", Arguments: map[string]any{"after": after, "wait": 60}}
			}
			for range api.MaxWaiting {
				waiting.Go(func() {
					for ctx.Err() == nil { // the look whether it is full takes a place too
						if result, err := h.session.CallTool(ctx, wait()); err != nil || !result.IsError {
							return
						}
					}
				})
			}
			full := func() bool {
				answer := scout.Get("/v1/agent/events?wait=1&after=" + after)
				return answer.Status == http.StatusTooManyRequests && strings.Contains(string(answer.Body), "rate_limited")
			}
			n.Eventually("all places are taken", full)
			if version != nil {
				endSession(t, n, scout.Key, h.session.ID())
			} else {
				leave()
			}
			n.Eventually("the places are free", func() bool { return !full() })
			leave()
			waiting.Wait()
		})
	}
}

// endSession is what a client does that leaves in order.
func endSession(t *testing.T, n *nodetest.Node, key, session string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, n.Info.AgentsURL+"/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Mcp-Session-Id", session)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusNoContent {
		t.Errorf("ending a session: %d", response.StatusCode)
	}
}
