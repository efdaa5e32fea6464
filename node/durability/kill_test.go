package durability

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/node/api/socket"
	"agentlink/node/audit"
	"agentlink/node/config"
	"agentlink/node/nodetest"
	"agentlink/node/store/storetest"
	"agentlink/policy"
)

// timesEach is how often a node dies at each point.
const timesEach = 3

// TestKilled kills a node with SIGKILL at each point, starts it again and holds
// it to what it has promised: no message lost and none twice, no second run, no
// gap in the audit log, an outbox that drains, copies that agree, and readiness
// within 5 s.
func TestKilled(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		for _, flow := range []string{"send", "deliver", "receive", "decide", "run", "expire"} {
			t.Run(flow, func(t *testing.T) {
				t.Parallel()
				killAt(t, "", flow, timesEach)
			})
		}
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		storetest.RequirePostgres(t)
		for _, flow := range []string{"deliver", "run"} {
			t.Run(flow, func(t *testing.T) {
				t.Parallel()
				killAt(t, storetest.Postgres(t).URL, flow, 1)
			})
		}
	})
}

func killAt(t *testing.T, databaseURL, flow string, times int) {
	t.Helper()
	p := newPlay(t, databaseURL)
	count := 0
	for _, point := range points {
		for range times {
			if point.flow == flow {
				p.round(point)
				count++
			}
		}
	}
	if p.victim.deaths != count {
		t.Errorf("it died %d times, want %d", p.victim.deaths, count)
	}
	t.Logf("%s: killed %d times; ready again in %s at the slowest", flow, p.victim.deaths, p.victim.slowest.Round(time.Millisecond))
}

// play is what two owners' agents do again and again: the node of one of them dies.
type play struct {
	t      *testing.T
	clock  *shifted
	victim *victim
	looker looker
	peer   *nodetest.Node
	juno   *nodetest.Agent
	ofA    string // the connection's id at the victim
	ofB    string
	rounds int
	front  *front   // before the node, where it has replicas
	runs   []string // keys in the journal
}

func newPlay(t *testing.T, databaseURL string) *play {
	t.Helper()
	p := &play{t: t, clock: &shifted{}}
	p.victim = newVictim(t, databaseURL, p.clock)
	if databaseURL == "" {
		databaseURL = "sqlite:" + p.victim.settings[config.DataDirName] + "/node.db"
	}
	p.looker = newLooker(t, databaseURL)
	p.join()
	return p
}

// join starts the peer and makes the agents contacts.
func (p *play) join() {
	p.t.Helper()
	p.peer = nodetest.Start(p.t, nodetest.Options{Owner: "Ben", Clock: p.clock})
	p.juno = p.peer.CreateAgent("juno", policy.Autonomous)
	p.meet()
}

// meet makes the agents contacts.
func (p *play) meet() {
	p.t.Helper()
	v := p.victim
	command[socket.Sent](v, socket.ConnectionRequest, socket.RequestConnection{Agent: v.agentID, Address: p.juno.Address})
	incoming := p.peer.ConnectionWith(v.address, coordination.PendingIncoming)
	nodetest.Owner[socket.Connection](p.peer, socket.ConnectionAccept, socket.ByID{ID: incoming.ID})
	p.ofB = p.peer.ConnectionWith(v.address, coordination.ConnActive).ID
	nodetest.Eventually(p.t, "the connection is active", func() bool {
		for _, c := range command[[]socket.Connection](v, socket.ConnectionList, socket.ListOf{}) {
			if c.Status == coordination.ConnActive {
				p.ofA = c.ID
			}
		}
		return p.ofA != ""
	})
	p.peer.Grant(p.juno, v.address, "disclose.availability", policy.Allow)
	command[socket.GrantChange](v, socket.GrantSet, socket.SetGrant{Agent: v.agentID, Contact: p.juno.Address, Capability: "disclose.availability", Mode: policy.Allow})
}

// round is one time of everything, with one death in it.
func (p *play) round(at point) {
	p.t.Helper()
	p.rounds++
	deaths, v := p.victim.deaths, p.victim
	v.order("die %s", at.name)
	text := fmt.Sprintf("round-%d", p.rounds)
	v.agent(http.MethodPost, "/messages", text, map[string]any{"connectionId": p.ofA, "text": "from scout, " + text})
	p.fromPeer("/messages", map[string]any{"connectionId": p.ofB, "text": "from juno, " + text})
	uid := p.agree(text)
	p.book(uid, text)
	p.hold(text)
	if at.flow == "expire" {
		p.lapse(text)
	}
	p.pass(2 * time.Minute) // leases of what a death cut off
	p.rest(at, text, uid, deaths)
}

// fromPeer lets the agent of the peer do something.
func (p *play) fromPeer(path string, body any) nodetest.Answer {
	p.t.Helper()
	answer := p.juno.Post("/v1/agent"+path, body)
	if answer.Status == http.StatusUnauthorized { // its token is over, for the time that was let pass
		p.juno.Renew()
		answer = p.juno.Post("/v1/agent"+path, body)
	}
	return answer.Want(http.StatusCreated)
}

// agree starts a task that says something which the owner has to allow, and the
// peer accepts it.
func (p *play) agree(text string) (uid string) {
	p.t.Helper()
	fields := dinner()
	fields["dietaryNotes"] = []string{"no nuts"}
	started := p.victim.agent(http.MethodPost, "/tasks", "task-of-"+text, map[string]any{
		"connectionId": p.ofA, "type": "dinner.coordination", "title": text, "proposal": fields, "expiresInHours": 5,
	})
	p.decide(started.text("approvalId"))
	uid = started.text("taskUid")
	nodetest.Eventually(p.t, "the peer has the task", func() bool {
		p.victim.revive()
		return p.atPeer("/tasks/"+uid).Status == http.StatusOK
	})
	p.fromPeer("/tasks/"+uid+"/responses", map[string]any{"version": 1, "decision": "accept"})
	p.until(text+" is agreed", func() bool { return p.victim.agent(http.MethodGet, "/tasks/"+uid, "", nil).text("status") == "agreed" })
	return uid
}

func (p *play) atPeer(path string) nodetest.Answer {
	answer := p.juno.Get("/v1/agent" + path)
	if answer.Status == http.StatusUnauthorized {
		p.juno.Renew()
		answer = p.juno.Get("/v1/agent" + path)
	}
	return answer
}

// until waits for something, and starts the node again meanwhile.
func (p *play) until(what string, true func() bool) {
	p.t.Helper()
	nodetest.Eventually(p.t, what, func() bool {
		p.victim.revive()
		return true()
	})
}

func (p *play) decide(id string) {
	p.t.Helper()
	shown := command[socket.Approval](p.victim, socket.ApprovalShow, socket.ByID{ID: id})
	command[socket.Effect](p.victim, socket.ApprovalDecide, socket.DecideApproval{ID: id, Hash: shown.Hash, Approve: true})
	if got := command[socket.Approval](p.victim, socket.ApprovalShow, socket.ByID{ID: id}); got.Status == approvals.Pending {
		p.t.Errorf("the decision on %s is lost", id)
	}
}

// book asks for an approval and runs the task's action.
func (p *play) book(uid, text string) {
	p.t.Helper()
	p.run(text+" booking", map[string]any{"action": "reservation.book", "parameters": booking(uid)}, "done")
}

// hold runs an action of no task, whose executor must not be called twice.
func (p *play) hold(text string) {
	p.t.Helper()
	p.run(text+" hold", map[string]any{"action": "calendar.hold", "parameters": map[string]any{
		"title": text, "date": "2027-01-05", "time": "19:30", "durationMinutes": 60,
	}}, "done", "not_sure_if_saved")
}

func (p *play) run(what string, ask map[string]any, outcomes ...string) {
	p.t.Helper()
	v := p.victim
	key := strings.ReplaceAll(what, " ", "-")
	approval := v.agent(http.MethodPost, "/approvals", "ask-"+key, ask)
	id := approval.text("approvalId")
	p.decide(id)
	run := v.agent(http.MethodPost, "/actions", "run-"+key, map[string]any{"approvalId": id})
	runID := run.text("runId")
	p.until(what+" has an end", func() bool {
		outcome := v.agent(http.MethodGet, "/actions/"+runID, "", nil).text("outcome")
		for _, wanted := range outcomes {
			if outcome == wanted {
				return true
			}
		}
		p.pass(35 * time.Second) // its lease
		return false
	})
	p.runs = append(p.runs, ask["action"].(string)+" "+runID)
}

// lapse lets a task and an approval fall due.
func (p *play) lapse(text string) {
	p.t.Helper()
	v := p.victim
	started := v.agent(http.MethodPost, "/tasks", "lapse-"+text, map[string]any{
		"connectionId": p.ofA, "type": "dinner.coordination", "title": "late " + text, "proposal": dinner(), "expiresInHours": 1,
	})
	asked := v.agent(http.MethodPost, "/approvals", "late-"+text, map[string]any{
		"action": "calendar.hold", "parameters": map[string]any{"title": "late " + text, "date": "2027-01-05", "time": "19:30", "durationMinutes": 60},
	})
	uid, id := started.text("taskUid"), asked.text("approvalId")
	p.until("the peer has the late task", func() bool { return p.atPeer("/tasks/"+uid).Status == http.StatusOK })
	p.pass(25 * time.Hour)
	p.until("the late task is expired", func() bool { return v.agent(http.MethodGet, "/tasks/"+uid, "", nil).text("status") == "expired" })
	p.until("the late approval is expired", func() bool {
		return command[socket.Approval](v, socket.ApprovalShow, socket.ByID{ID: id}).Status == approvals.Expired && p.count("approvals WHERE status = 'pending'") == 0
	})
	p.until("the peer's late task is expired", func() bool { return p.atPeer("/tasks/"+uid).Text("status") == "expired" })
}

// pass lets time pass on both nodes.
func (p *play) pass(d time.Duration) {
	p.t.Helper()
	p.clock.ahead.Add(int64(d))
	if !p.victim.revive() {
		_, _ = fmt.Fprintf(p.victim.orders, "ahead %d\n", p.clock.ahead.Load())
		_, _ = p.victim.replies.ReadString('\n')
		p.victim.revive()
	}
}

// rest waits until nothing waits any more, and holds both nodes to their promises.
func (p *play) rest(at point, text, uid string, deaths int) {
	p.t.Helper()
	v := p.victim
	p.until("the outbox drains after "+at.name, func() bool { return p.count("outbox") == 0 })
	p.until("the copies of the task agree", func() bool {
		return v.agent(http.MethodGet, "/tasks/"+uid, "", nil).text("status") == "confirmed" && p.atPeer("/tasks/"+uid).Text("status") == "confirmed"
	})
	p.until("juno has the message", func() bool { return strings.Contains(string(p.atPeer("/messages").Body), "from scout, "+text+`"`) })
	p.until("scout has the message", func() bool {
		return strings.Contains(v.agent(http.MethodGet, "/messages", "", nil).body, "from juno, "+text+`"`)
	})
	if v.deaths != deaths+1 {
		p.t.Fatalf("%s: it died %d times, want once", at.name, v.deaths-deaths)
	}
	p.once(at, text)
	if v.slowest > readyWithin {
		p.t.Errorf("%s: ready after %s, want %s", at.name, v.slowest, readyWithin)
	}
	if report := command[audit.Report](v, socket.AuditVerify, socket.VerifyLog{Deep: true}); !report.OK() {
		p.t.Errorf("%s: the audit log is not whole: %s", at.name, report.Problem)
	}
	p.peer.VerifyAudit()
}

// once says that of each message there is one, and of each run one effect.
func (p *play) once(at point, text string) {
	p.t.Helper()
	for name, body := range map[string]string{
		"from scout, " + text + `"`: string(p.atPeer("/messages").Body),
		"from juno, " + text + `"`:  p.victim.agent(http.MethodGet, "/messages", "", nil).body,
	} {
		if n := strings.Count(body, name); n != 1 {
			p.t.Errorf("%s: %s is there %d times", at.name, name, n)
		}
	}
	effects := map[string]int{}
	for _, line := range readJournal(p.victim.settings[journalName]) {
		if effects[line]++; effects[line] > 1 {
			p.t.Errorf("%s: a second effect of %s", at.name, line)
		}
	}
	for _, run := range p.runs {
		delete(effects, run)
	}
	if len(effects) > 0 && !(len(effects) == 1 && effects[""] == 1) {
		p.t.Errorf("%s: effects of no run: %v", at.name, effects)
	}
}

func (p *play) count(from string) (n int64) {
	p.t.Helper()
	p.looker.each(p.t, "SELECT COUNT(*) FROM "+from, func(_ []string, values []any) { n, _ = values[0].(int64) })
	return n
}

// TestKilledWhileMigrating: the first start of a node dies at each point, and the
// next one is ready all the same.
func TestKilledWhileMigrating(t *testing.T) {
	t.Parallel()
	killed := 0
	for _, point := range points {
		if point.flow != "migrate" {
			continue
		}
		for range timesEach {
			dieMigrating(t, point)
			killed++
		}
	}
	t.Logf("killed %d times", killed)
}

func dieMigrating(t *testing.T, at point) {
	t.Helper()
	v := bareVictim(t)
	if err := v.launch(pointName + "=" + at.name); err == nil {
		t.Fatalf("%s: it lives", at.name)
	}
	v.deaths++
	v.settings[pointName] = ""
	v.start()
	if v.slowest > readyWithin {
		t.Errorf("%s: ready after %s", at.name, v.slowest)
	}
	v.stop()
}
