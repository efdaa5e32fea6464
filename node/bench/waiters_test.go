package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"agentlink/node"
	"agentlink/node/api/socket"
	"agentlink/policy"
)

// mostWaiter is what one agent that waits may cost.
const mostWaiter float64 = 40 << 10

// waiterRows let many agents of one node wait, each for itself, and looks what
// they cost and how fast an event still reaches its agent.
func waiterRows(t *testing.T, table *table) {
	const speaking = 3 // agents that something happens to
	agents := size(20, 5000)
	p := newProcess(t, "")
	made := p.manyAgents(agents + speaking)
	p.start()
	alone := told(t, p.agent(made[agents])).row("a change reaches its agent", "1 agent waits")
	table.add(alone)
	for i, stream := range []bool{true, false} {
		p.stop() // each way begins with what a node needs by itself
		p.start()
		all := make([]*agent, agents)
		parallel(t, agents, func(i int) error {
			all[i] = &agent{Agent: made[i], base: p.info.AgentsURL, http: connections}
			return all[i].signIn()
		})
		connections.CloseIdleConnections()
		label := fmt.Sprintf("%d agents wait, %s", agents, map[bool]string{true: "stream", false: "long poll"}[stream])
		before := p.status("VmRSS")
		end := wait(t, all, stream)
		time.Sleep(size(100*time.Millisecond, 5*time.Second))
		rss, work := p.status("VmRSS"), p.work()
		table.add(row{Name: "memory of a waiting agent", Size: label, Unit: "bytes", Value: max(0, rss-before) / float64(agents)}.below(mostWaiter))
		time.Sleep(size(100*time.Millisecond, 10*time.Second))
		table.add(row{Name: "processor in 10 s while nothing happens", Size: label, Unit: "ns", Value: float64(p.work() - work)})
		table.add(told(t, p.agent(made[agents+1+i])).row("a change reaches its agent", label).over(alone.Value, alone.Size))
		end()
	}
}

// manyAgents makes agents in a node that does not run.
func (p *process) manyAgents(count int) (made []socket.Agent) {
	p.t.Helper()
	p.within(func(in inside) {
		service := policy.New(policy.Config{Store: in.store, IDs: node.RandomIDs{}, Audit: in.log})
		in.write(p.t, func(tx node.Tx) error {
			for i := range count {
				created, key, err := service.CreateAgent(tx, in.owner, policy.NewAgent{Handle: fmt.Sprint("agent", i)})
				if err != nil {
					return err
				}
				made = append(made, socket.Agent{ID: created.ID, Handle: created.Handle, Key: key})
			}
			return nil
		})
	})
	return made
}

// request is the agent's question for events behind a cursor.
func (a *agent) request(ctx context.Context, after string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.base+strings.TrimRight(eventsPath(after), "?&"), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+a.token)
	return r, nil
}

// waits asks again and again until ctx ends.
func (a *agent) waits(ctx context.Context, client *http.Client, after string, stream bool) {
	for ctx.Err() == nil {
		r, err := a.request(ctx, after)
		if err != nil {
			return
		}
		if stream {
			r.Header.Set("Accept", "text/event-stream")
		} else {
			r.URL.RawQuery += "&wait=60"
		}
		answer, err := client.Do(r)
		if err != nil {
			continue
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	}
}

// wait lets all of them wait until end is called.
func wait(t *testing.T, agents []*agent, stream bool) (end func()) {
	t.Helper()
	afters := make([]string, len(agents))
	parallel(t, len(agents), func(i int) (err error) {
		afters[i], err = agents[i].end()
		return err
	})
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for i, a := range agents {
		running.Go(func() { a.waits(ctx, client, afters[i], stream) })
		time.Sleep(2 * time.Millisecond) // not all of them knock at once
	}
	return func() {
		cancel()
		running.Wait()
	}
}

// told gives how long it takes until a stream tells an agent that it asked for
// an approval.
func told(t *testing.T, a *agent) sample {
	t.Helper()
	events := a.listen(t, "approval.requested")
	var times sample
	for i := range size(2, 40) { // 50 may wait for the owner
		var asked struct{ ApprovalID string }
		begun := now()
		err := a.post("/v1/agent/approvals", map[string]any{"action": "reservation.book", "parameters": map[string]any{
			"venue": fmt.Sprint("Da Piero ", i), "date": "2031-05-09", "time": "20:00", "partySize": 2,
		}}, &asked)
		if err != nil {
			t.Fatal(err)
		}
		at, err := events.of(asked.ApprovalID)
		if err != nil {
			t.Fatal(err)
		}
		times = append(times, at.Sub(begun))
	}
	return times
}

// parallel does something so often, some at a time.
func parallel(t *testing.T, count int, do func(i int) error) {
	t.Helper()
	next := make(chan int, count)
	for i := range count {
		next <- i
	}
	close(next)
	errs := make(chan error, count)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for i := range next {
				errs <- do(i)
			}
		})
	}
	all.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}
