package bench

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/node/api/socket"
	"agentlink/node/nodetest"
	"agentlink/policy"
)

// What a proposal costs the two nodes, as it was counted on their way through
// the program: commits that reach the disk; signatures made and checked, the
// agent's access token among them; values sealed and opened at rest.
var (
	proposing  = chores{Commits: 3, Signs: 1, Verifies: 2, Seals: 20, Opens: 11, PeerSeals: 1}
	taking     = chores{Commits: 1, Signs: 1, Verifies: 1, Seals: 5, Opens: 9, PeerOpens: 1}
	approving  = chores{Commits: 4, Verifies: 0, Signs: 1, Seals: 6, Opens: 6}
	bareSender = "two bare programs"
)

// The terms of each proposal need six capabilities.
var terms = json.RawMessage(`{"date":"2031-05-09","time":"20:00","timezone":"Europe/Rome","cuisine":"thai","partySize":2,
	"dietaryNotes":["vegan"],"budgetPerPerson":45,"notes":"A table by the window, and no music if there is a choice."}`)

// perTask is how many proposals one task gets. Its copy holds all of them.
const perTask = 8

// pair is two nodes: each agent of the first has a contact with the one agent of
// the second. A node takes ten requests to connect of another one in a minute, so
// that two senders share an agent.
type pair struct {
	t        *testing.T
	ada, ben *process
	senders  []*sender
}

// sender is an agent of the first node that settles one task after another.
type sender struct {
	*agent
	events     *listener
	connection string
	task       string
	version    int
}

func newPair(t *testing.T, kind engine, senders int) *pair {
	t.Helper()
	p := &pair{t: t, ada: newProcess(t, kind.database(t)), ben: newProcess(t, kind.database(t))}
	p.ada.start()
	p.ben.start()
	juno := p.ben.newAgent("juno")
	for i := range (senders + 1) / 2 {
		first := p.connect(p.ada.newAgent(fmt.Sprint("scout", i)), juno)
		second := *first
		p.senders = append(p.senders, first, &second)
	}
	return p
}

// connect makes two agents contacts, and lets the first one tell everything.
func (p *pair) connect(scout, juno *agent) *sender {
	p.t.Helper()
	call[socket.Sent](p.ada, socket.ConnectionRequest, socket.RequestConnection{Agent: scout.ID, Address: juno.Address})
	incoming := p.ben.connection(scout.Address, coordination.PendingIncoming)
	call[socket.Connection](p.ben, socket.ConnectionAccept, socket.ByID{ID: incoming.ID})
	s := &sender{agent: scout, connection: p.ada.connection(juno.Address, coordination.ConnActive, scout.Handle).ID}
	for _, capability := range []string{"availability", "preferences", "dietary", "budget", "notes"} {
		call[socket.GrantChange](p.ada, socket.GrantSet, socket.SetGrant{Agent: scout.ID, Capability: "disclose." + capability, Mode: policy.Allow})
	}
	s.events = scout.listen(p.t, "message.delivered")
	return s
}

// connection waits for a connection with a contact to have a status.
func (p *process) connection(contact string, status coordination.ConnectionStatus, handle ...string) (found socket.Connection) {
	p.t.Helper()
	nodetest.Eventually(p.t, "the connection with "+contact+" is "+string(status), func() bool {
		for _, k := range call[[]socket.Connection](p, socket.ConnectionList, socket.ListOf{}) {
			if k.Contact == contact && k.Status == status && (len(handle) == 0 || k.Agent == handle[0]) {
				found = k
				return true
			}
		}
		return false
	})
	return found
}

// propose gives how long it takes from the POST to the peer's acknowledgement.
func (s *sender) propose() (time.Duration, error) {
	if s.task == "" || s.version == perTask {
		if err := s.begin(); err != nil {
			return 0, err
		}
	}
	var sent struct{ MessageID string }
	begun := now()
	if err := s.post("/v1/agent/tasks/"+s.task+"/proposals", map[string]any{"fields": terms}, &sent); err != nil {
		return 0, err
	}
	s.version++
	at, err := s.events.of(sent.MessageID)
	return at.Sub(begun), err
}

// begin starts the next task, which is not measured by time but costs its part of
// a rate.
func (s *sender) begin() error {
	var sent struct{ MessageID, TaskUID string }
	err := s.post("/v1/agent/tasks", map[string]any{"connectionId": s.connection, "type": "dinner.coordination", "title": "Dinner"}, &sent)
	if err != nil {
		return err
	}
	s.task, s.version = sent.TaskUID, 0
	_, err = s.events.of(sent.MessageID)
	return err
}

// proposals are the rows of one kind of database.
func proposals(t *testing.T, table *table, kind engine) {
	crowd := size(4, 16)
	p := newPair(t, kind, crowd)
	for _, senders := range []int{1, crowd} {
		p.measure(table, kind, senders, size(4*senders, 125*perTask*min(senders, 4)), 0)
	}
	p.measure(table, kind, crowd, 0, size(300*time.Millisecond, time.Minute))
	table.add(row{Name: "memory after that, sending node", Unit: "bytes", Value: p.ada.status("VmRSS")})
	table.add(row{Name: "memory after that, receiving node", Unit: "bytes", Value: p.ben.status("VmRSS")})
	p.approveToRun(table, kind)
}

// measure proposes so often, or so long, and lets the bare programs do the same.
func (p *pair) measure(table *table, kind engine, senders, count int, limit time.Duration) {
	p.t.Helper()
	work := p.ada.work() + p.ben.work()
	sending, receiving := p.ada.disk(), p.ben.disk()
	times, elapsed, err := each(senders, count, limit, func(i int) (time.Duration, error) { return p.senders[i].propose() })
	if err != nil {
		log, _ := os.ReadFile(p.ada.log.Name())
		p.t.Fatalf("%v\n%s", err, log)
	}
	work = p.ada.work() + p.ben.work() - work
	sending, receiving = p.ada.disk()-sending, p.ben.disk()-receiving
	floor := runBare(p.t, plan{Engine: kind, Work: proposing, Senders: senders, Count: count, For: limit}, taking)
	label := fmt.Sprintf("%d at a time", senders)
	if limit == 0 {
		r := floor.Times.row("the same, bare", label)
		table.add(times.row("proposal, until it is durable on both nodes", label).over(r.Value, bareSender).atMost(1.7))
		table.add(r)
	} else {
		label = fmt.Sprintf("%d at a time, %v", senders, limit)
		r := rate("", "", len(floor.Times), floor.Elapsed)
		table.add(rate("proposals a second", label, len(times), elapsed).over(r.Value, bareSender).atLeast(0.6))
	}
	cost := row{Name: "processor of both nodes for a proposal", Size: label, Unit: "ns", Value: float64(work) / float64(len(times))}
	table.add(cost.over(float64(floor.Work)/float64(len(floor.Times)), bareSender))
	if kind == sqlite {
		table.add(row{Name: "disk for a proposal, sending node", Size: label, Unit: "bytes", Value: sending / float64(len(times))})
		table.add(row{Name: "disk for a proposal, receiving node", Size: label, Unit: "bytes", Value: receiving / float64(len(times))})
	}
}

// approveToRun is from the owner's click to the run's durable end.
func (p *pair) approveToRun(table *table, kind engine) {
	p.t.Helper()
	scout := p.senders[0].agent
	ends := scout.listen(p.t, "action.executed")
	visitor := nodetest.NewVisitor(p.t, p.ada.settings.LocalURL())
	visitor.Open(call[socket.SignInLink](p.ada, socket.OwnerLink, nil).URL)
	var times sample
	for i := range size(2, 200) {
		var asked struct{ ApprovalID string }
		err := scout.post("/v1/agent/approvals", map[string]any{"action": "reservation.book", "onApproval": "run", "parameters": map[string]any{
			"venue": fmt.Sprint("Da Piero ", i), "date": "2031-05-09", "time": "20:00", "partySize": 2,
		}}, &asked)
		if err != nil {
			p.t.Fatal(err)
		}
		page := visitor.Get("/approvals/" + asked.ApprovalID).Want(http.StatusOK)
		begun := now()
		var clicked sync.WaitGroup
		clicked.Go(func() {
			visitor.Post("/approvals/"+asked.ApprovalID, url.Values{"csrf": {page.Field("csrf")}, "hash": {page.Field("hash")}, "decision": {"approve"}})
		})
		at, err := ends.next()
		clicked.Wait()
		if err != nil {
			p.t.Fatalf("%v: %+v", err, call[socket.Approval](p.ada, socket.ApprovalShow, socket.ByID{ID: asked.ApprovalID}))
		}
		times = append(times, at.Sub(begun))
	}
	if waiting := call[[]socket.Approval](p.ada, socket.ApprovalList, socket.ListApprovals{Status: approvals.Pending, Limit: 1}); len(waiting) != 0 {
		p.t.Errorf("%v still waits", waiting)
	}
	floor := runBare(p.t, plan{Engine: kind, Work: approving, Senders: 1, Count: len(times)}, chores{})
	table.add(times.row("owner's click until the run has ended", "1").over(floor.Times.row("", "").Value, "the same commits, bare").atMost(1.7))
}
