package hostile

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node/api/socket"
	"agentlink/node/nodetest"
)

// poisonTasks is how many tasks there are; one of them is poisoned.
const poisonTasks = 50

// TestPoison: fifty tasks of one agent, of which one has a message that cannot
// be delivered. The other 49 are settled meanwhile, and the poisoned one is
// parked and told.
func TestPoison(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		// poison makes one task's messages fail.
		poison func(p *poisoned)
		// told checks what its owner learns.
		told func(p *poisoned)
	}{
		{"the peer fails on it", (*poisoned).failAtPeer, (*poisoned).wantUndelivered},
		{"the peer rejects it", (*poisoned).rejectAtPeer, (*poisoned).wantRejected},
		{"its row is damaged here", (*poisoned).damage, (*poisoned).wantWaiting},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 2)
			w.connect(w.homes[0], w.homes[1])
			p := &poisoned{t: t, world: w, ana: w.homes[0], ben: w.homes[1]}
			for i := range poisonTasks {
				uid := p.ana.starts(p.ben.agent.Address)
				if i == 0 {
					p.uid = uid
					tt.poison(p)
					continue
				}
				p.others = append(p.others, uid)
			}
			p.settleOthers()
			tt.told(p)
			p.ana.VerifyAudit()
		})
	}
}

// poisoned is a world with one task that fails.
type poisoned struct {
	t        *testing.T
	world    *world
	ana, ben *home
	uid      string
	others   []string
}

func (p *poisoned) failAtPeer() {
	p.ben.door.fault.Store(&fault{
		name: "poison", arrives: false, only: func(e wire.Envelope) bool { return e.Task == p.uid }, answer: says(500, nil, "a panic"),
	})
}

// rejectAtPeer: ben's node has another task by that uid.
func (p *poisoned) rejectAtPeer() {
	eve := newRogue(p.t, p.ben, "eve")
	eve.connect()
	eve.send(eve.forTask(wire.TaskCreate, p.uid, 1, 0), fmt.Sprintf(`{"taskType":"dinner.coordination","title":"Mine","deadline":%q}`,
		p.world.clock.Now().Add(40*time.Hour).Format(time.RFC3339)), wire.Applied)
}

// damage spoils the sealed content of the first message.
func (p *poisoned) damage() {
	_, err := p.ana.looker.db.Exec(`UPDATE messages SET content = x'00' WHERE task_uid = $1`, p.uid) //nolint:noctx // a test's
	must(p.t, err)
}

// settleOthers: all of them are agreed on, without a day of waiting.
func (p *poisoned) settleOthers() {
	p.t.Helper()
	began := p.world.clock.Now()
	for range 3 {
		p.rounds()
	}
	for _, uid := range p.others {
		p.ben.post("/tasks/"+uid+"/responses", map[string]any{"version": 1, "decision": "accept"}).Want(http.StatusCreated)
	}
	for range 3 {
		p.rounds()
	}
	for _, uid := range p.others {
		if ours, theirs := p.ana.task(uid), p.ben.task(uid); ours.Status != coordination.Agreed || theirs.Status != coordination.Agreed {
			p.t.Fatalf("a task is %s and %s", ours.Status, theirs.Status)
		}
	}
	if took := p.world.clock.Now().Sub(began); took > time.Minute {
		p.t.Errorf("it took %s", took)
	}
}

func (p *poisoned) rounds() {
	p.t.Helper()
	for _, h := range []*home{p.ana, p.ben} {
		h.StepBravely()
	}
	p.world.clock.Advance(2 * time.Second)
}

// wantUndelivered: it is tried less and less; the first page says that something
// was not delivered; at its end it is failed, and the agent is told.
func (p *poisoned) wantUndelivered() {
	p.t.Helper()
	message := func() (status, code string) {
		must(p.t, p.ana.looker.db.QueryRow(`SELECT status, code FROM messages WHERE task_uid = $1`, p.uid).Scan(&status, &code)) //nolint:noctx // a test's
		return status, code
	}
	if status, _ := message(); status != "queued" {
		p.t.Errorf("the message is %s", status)
	}
	posts := len(p.ben.door.seen())
	for end := p.world.clock.Now().Add(24 * time.Hour); p.world.clock.Now().Before(end); p.ana.next() {
		p.ana.Step()
	}
	if more := len(p.ben.door.seen()) - posts; more > 100 || more < 50 {
		p.t.Errorf("it was tried %d times in a day", more)
	}
	p.ana.SignIn().Get("/").Want(http.StatusOK).Says("not arrived")
	// It may have arrived: until the peer says that it has not, the task is in doubt.
	p.world.clock.Advance(72 * time.Hour)
	p.ana.Step()
	if _, code := message(); code != wire.CodeTooLate {
		p.t.Errorf("at its end the message has code %q", code)
	}
	if task := p.ana.task(p.uid); task.Status != coordination.ExpiredTask || !task.InDoubt {
		p.t.Errorf("the task is %s, in doubt %v", task.Status, task.InDoubt)
	}
	p.ben.door.fault.Store(nil)
	for range 20 {
		p.world.clock.Advance(10 * time.Minute)
		p.ana.Step()
	}
	if status, code := message(); status != "failed" || code != wire.CodeTooLate {
		p.t.Errorf("after that the message is %s %q", status, code)
	}
	if task := p.ana.task(p.uid); task.InDoubt || p.ana.waits() {
		p.t.Errorf("in doubt %v, something waits: %v", task.InDoubt, p.ana.waits())
	}
	if n := p.ana.looker.count(p.t, "audit_log", "type = 'message.failed'"); n != 1 {
		p.t.Errorf("the log tells of %d failures", n)
	}
}

func (p *poisoned) wantRejected() {
	p.t.Helper()
	task := p.ana.task(p.uid)
	if task.Status != coordination.CancelledTask && !task.OutOfStep {
		p.t.Errorf("the task is %s", task.Status)
	}
	if n := p.ana.looker.count(p.t, "messages", "task_uid = $1 AND status = 'rejected' AND code = 'uid_taken'", p.uid); n != 1 {
		p.t.Errorf("%d messages say that they were rejected", n)
	}
	if n := p.ana.looker.count(p.t, "outbox", "1 = 1"); n != 0 {
		p.t.Errorf("%d still wait", n)
	}
}

// wantWaiting: it stays where it is, is looked at less and less, and the node's
// log for its operator says so each time.
func (p *poisoned) wantWaiting() {
	p.t.Helper()
	if n := p.ana.looker.count(p.t, "outbox", "attempts BETWEEN 1 AND 20"); n != 1 {
		p.t.Errorf("%d items wait", n)
	}
	if p.ana.failures == 0 {
		p.t.Error("nobody is told")
	}
	if tasks := nodetest.Owner[[]socket.Task](p.ben.Node, socket.TaskList, socket.ListTasks{Limit: 100}); len(tasks) != poisonTasks-1 {
		p.t.Errorf("ben has %d tasks", len(tasks))
	}
}
