package bench

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/api/socket"
	"agentlink/node/audit"
	"agentlink/node/nodetest"
)

// lists asks a node for pages while its log, its tasks and its messages grow: no
// page may grow with rows that are not on it.
func lists(t *testing.T, table *table, kind engine) {
	sizes := size([]int{150, 300}, []int{1_000, min(*rows, 100_000), *rows})
	sizes = slices.Compact(sizes)
	p := newProcess(t, kind.database(t))
	p.start()
	made := p.newAgent("scout").Agent
	p.stop()
	full := &filling{t: t, p: p, agent: made, connection: node.RandomIDs{}.New()}
	first := map[string]row{}
	for _, n := range sizes {
		p.within(func(in inside) { full.to(in, n) })
		if kind == sqlite {
			table.add(row{Name: "disk for a task, a message and a row of the log", Size: fmt.Sprintf("%d of each", n), Unit: "bytes", Value: p.disk() / float64(n)})
		}
		p.start()
		var starts sample
		for range size(1, 5) {
			p.stop()
			p.start()
			starts = append(starts, p.started)
		}
		add := func(name string, r row) {
			r.Name, r.Size = name, fmt.Sprintf("%d rows of each kind", n)
			if first[name].Value == 0 {
				first[name] = r
			}
			r = r.over(first[name].Value, "at "+strings.TrimSuffix(first[name].Size, " of each kind"))
			if strings.Contains(name, "search") && n < searchReach {
				first[name] = row{} // it looks at all there is
			}
			table.add(r.atMost(1.7))
		}
		add("start of the node", starts.row("", ""))
		full.ask(p.agent(made), add)
		p.stop()
	}
}

// searchReach is how many rows a search looks at before it asks whether to go on.
const searchReach = 2000

// filling is how far a node is filled with rows of one agent and one contact.
type filling struct {
	t          *testing.T
	p          *process
	agent      socket.Agent
	connection string
	rows       int
	lastTask   string
}

// perWrite is how many rows of each kind one transaction writes.
const perWrite = 1000

func (f *filling) to(in inside, rows int) {
	f.t.Helper()
	if f.rows == 0 {
		in.write(f.t, func(tx node.Tx) error {
			return in.store.InsertConnection(tx, coordination.Connection{
				ID: f.connection, OwnerID: in.owner.OwnerID, AgentID: f.agent.ID, Contact: "juno@node.example", Status: coordination.ConnActive,
				CreatedAt: tx.Now(), UpdatedAt: tx.Now(),
			})
		})
	}
	for f.rows < rows {
		count := min(perWrite, rows-f.rows)
		in.write(f.t, func(tx node.Tx) error {
			for i := range count {
				if err := f.one(tx, in, f.rows+i); err != nil {
					return err
				}
			}
			return nil
		})
		f.rows += count
	}
}

// one writes a task, a chat message and a row of the log. Every hundredth task is
// unfinished.
func (f *filling) one(tx node.Tx, in inside, i int) error {
	at := tx.Now().Add(time.Duration(i-2_000_000) * time.Second)
	uid, ids := node.RandomIDs{}.New(), node.RandomIDs{}
	status := coordination.Confirmed
	if i%100 == 0 {
		status = coordination.Negotiating
	}
	task := coordination.Task{
		UID: uid, OwnerID: in.owner.OwnerID, AgentID: f.agent.ID, ConnectionID: f.connection, Role: coordination.Initiator,
		Type: "dinner.coordination", Contact: "juno@node.example", Status: status, Deadline: tx.Now().Add(time.Hour), CreatedAt: at, UpdatedAt: at,
		Copy: coordination.Copy{Title: fmt.Sprint("Dinner ", i), Status: status, Proposals: []coordination.Proposal{{
			Version: 1, Author: coordination.Initiator, Fields: terms, Digest: fmt.Sprintf("%064d", i), Status: coordination.ProposalPending, MessageID: ids.New(), At: at,
		}}},
	}
	if _, err := in.store.InsertTask(tx, task); err != nil {
		return err
	}
	f.lastTask = uid
	message := coordination.Message{
		ID: ids.New(), OwnerID: in.owner.OwnerID, AgentID: f.agent.ID, ConnectionID: f.connection, Direction: coordination.Out, Type: wire.Message,
		Author: "agent", Status: coordination.MsgDelivered, Content: json.RawMessage(fmt.Sprintf(`{"text":"Message %d."}`, i)),
		CreatedAt: at, ExpiresAt: at.Add(time.Hour), AttemptedAt: at, SettledAt: at,
	}
	if err := in.store.InsertMessage(tx, message); err != nil {
		return err
	}
	return in.log.Append(tx, audit.Event{
		Type: audit.MessageDelivered, Actor: node.Actor{Kind: node.ActorPeer, OwnerID: in.owner.OwnerID, AgentID: f.agent.ID},
		AgentID: f.agent.ID, ConnectionID: f.connection, TaskUID: uid, Subject: message.ID, Data: map[string]any{"type": "message", "number": i},
	})
}

// ask times pages of the agent's and of the owner's.
func (f *filling) ask(scout *agent, add func(name string, r row)) {
	f.t.Helper()
	var page struct{ NextCursor string }
	if err := scout.get("/v1/agent/tasks?limit=100", &page); err != nil {
		f.t.Fatal(err)
	}
	for _, list := range []struct{ name, path string }{
		{"agent: tasks, 50", "/v1/agent/tasks"},
		{"agent: tasks, the page after the first 100", "/v1/agent/tasks?limit=100&cursor=" + page.NextCursor},
		{"agent: tasks of a status, 50", "/v1/agent/tasks?status=negotiating&limit=10"},
		{"agent: one task", "/v1/agent/tasks/" + f.lastTask},
		{"agent: messages, 50", "/v1/agent/messages"},
		{"agent: events from the first, 50", "/v1/agent/events"},
	} {
		add(list.name, f.times(func() error { return scout.get(list.path, nil) }))
	}
	visitor := nodetest.NewVisitor(f.t, f.p.settings.LocalURL())
	visitor.Open(call[socket.SignInLink](f.p, socket.OwnerLink, nil).URL)
	for _, list := range []struct{ name, path string }{
		{"owner: home", "/"},
		{"owner: activity, 50", "/activity"},
		{"owner: activity of one task", "/activity?task=" + f.lastTask},
		{"owner: search of the activity, a page", "/activity?q=message"},
		{"owner: search that finds nothing, 2,000 looked at", "/activity?q=nowhere"},
		{"owner: tasks, 50", "/tasks"},
		{"owner: messages", "/messages"},
	} {
		add(list.name, f.times(func() error { visitor.Get(list.path).Want(http.StatusOK); return nil }))
	}
}

// times repeats a request, after one that is not counted.
func (f *filling) times(ask func() error) row {
	f.t.Helper()
	if err := ask(); err != nil {
		f.t.Fatal(err)
	}
	times, _, err := each(1, size(2, 100), 0, func(int) (time.Duration, error) {
		begun := now()
		err := ask()
		return now().Sub(begun), err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return times.row("", "")
}
