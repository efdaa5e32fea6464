package simulation

import (
	"context"
	"fmt"
	"time"

	"agentlink/actions"
	"agentlink/coordination"
	"agentlink/node"
	"agentlink/policy"
)

// heal makes everything work again: network, clocks, processes, rules.
func (h *history) heal() {
	h.network.parted, h.network.drop, h.network.repeat = false, 0, 0
	for _, s := range h.sides {
		s.clock.off = 0
		s.start(h.t, h.network)
	}
	for _, s := range h.sides {
		h.status(s, policy.Active)
		h.ungrant(s)
	}
	h.log("healed")
}

// drain lets time pass until nothing waits to leave but what waits for a
// connection that has ended. Everything that waits has a time, so it ends.
func (h *history) drain() {
	for range 80 {
		for _, s := range h.sides {
			h.background(s)
		}
		for len(h.network.late) > 0 {
			h.network.deliverLate()
		}
		if h.quiet() {
			return
		}
		h.clock.Advance(h.untilDue())
	}
	h.fail("after 80 rounds something still waits:%s", h.waiting())
}

// waiting describes what waits.
func (h *history) waiting() (text string) {
	for _, s := range h.sides {
		s.in(h.t, func(tx node.Tx) error {
			c, err := s.connection(tx)
			if err != nil {
				return err
			}
			queued, err := s.store.QueuedMessages(tx, s.agent.ID, c.ID)
			if err != nil {
				return err
			}
			for _, m := range queued {
				text += fmt.Sprintf("\n  %s %s %s of %s code=%q seq=%d position=%d tries=%d expires=%s", s.name, m.Type, m.ID, m.TaskUID, m.Code, m.Seq, m.Position, m.Tries, m.ExpiresAt)
			}
			next, ok, err := s.store.NextOutbox(tx)
			text += fmt.Sprintf("\n  %s now=%s next=%s %v", s.name, tx.Now(), next, ok)
			return err
		})
	}
	return text
}

// quiet says whether nothing waits that can still arrive: all of an active
// connection, of an ended one the notices.
func (h *history) quiet() bool {
	for _, s := range h.sides {
		waiting := 0
		s.in(h.t, func(tx node.Tx) error {
			c, err := s.connection(tx)
			if err != nil {
				return err
			}
			queued, err := s.store.QueuedMessages(tx, s.agent.ID, c.ID)
			for _, m := range queued {
				if c.Status == coordination.ConnActive || m.Type.Notice() {
					waiting++
				}
			}
			return err
		})
		if waiting > 0 {
			return false
		}
	}
	return true
}

func (h *history) untilDue() time.Duration {
	next := 15 * time.Minute
	for _, s := range h.sides {
		s.in(h.t, func(tx node.Tx) error {
			at, ok, err := s.store.NextOutbox(tx)
			if ok {
				next = min(next, max(at.Sub(tx.Now()), time.Second))
			}
			return err
		})
	}
	return next
}

// check is what has to hold of a history that has come to rest.
func (h *history) check(when string) {
	h.t.Helper()
	tasks := [2]map[string]coordination.Task{h.tasks(h.sides[0]), h.tasks(h.sides[1])}
	for i, own := range tasks {
		for uid, task := range own {
			other, there := tasks[1-i][uid]
			if problem := differ(task, other, there); problem != "" {
				h.fail("%s: task %s: %s\n%s\n%s", when, uid, problem, show(task), show(other))
			}
			if task.InDoubt && !task.OutOfStep {
				h.fail("%s: task %s of %s is still in doubt", when, uid, h.sides[i].name)
			}
		}
	}
	h.checkRuns(when, tasks)
	h.checkLedger(when, tasks)
}

// tasks reads the copies of a side, without those that nobody was told of.
func (h *history) tasks(s *side) map[string]coordination.Task {
	found := map[string]coordination.Task{}
	s.in(h.t, func(tx node.Tx) error {
		list, err := s.coordination.Tasks(tx, s.agent.ID, coordination.TaskFilter{}, coordination.Page{Limit: 100})
		for _, task := range list {
			found[task.UID] = task
		}
		return err
	})
	return found
}

func flagged(t coordination.Task) bool { return t.OutOfStep || t.Disagreement != "" }

// differ says how two copies differ without both saying so; "" where they agree.
func differ(a, b coordination.Task, there bool) string {
	if !there {
		if a.Status == coordination.CancelledTask || flagged(a) {
			return ""
		}
		return "the other side has no copy of it"
	}
	switch {
	case flagged(a) && flagged(b):
		return ""
	case (a.OutOfStep || b.OutOfStep) && overWithoutBooking(a) && overWithoutBooking(b):
		// A connection ended while a cancel was on its way, and the other side had let
		// the task expire. Nothing was agreed to be carried out on either; the side that
		// cannot know says so, and there is nobody left to tell the other.
		return ""
	case shared(a.Status) != shared(b.Status):
		return "the statuses differ"
	case a.OutOfStep || b.OutOfStep:
		// One side cannot know any more what the other got, and says so; both ended alike.
		return ""
	case digest(a.Copy.Latest()) != digest(b.Copy.Latest()):
		return "the latest proposals differ"
	case digest(a.Copy.AcceptedProposal()) != digest(b.Copy.AcceptedProposal()):
		return "the accepted proposals differ"
	}
	return ""
}

func overWithoutBooking(t coordination.Task) bool {
	return t.Status == coordination.CancelledTask || t.Status == coordination.ExpiredTask
}

// shared is the status as both sides could know it.
func shared(s coordination.Status) coordination.Status {
	if s == coordination.AwaitingApproval {
		return coordination.Agreed
	}
	return s
}

func digest(p *coordination.Proposal) string {
	if p == nil {
		return ""
	}
	return fmt.Sprint(p.Version, p.Digest, p.Status)
}

func show(t coordination.Task) string {
	return fmt.Sprintf("  %s %s role=%s accepted=%d out=%d in=%d outOfStep=%v disagreement=%q inDoubt=%v owed=%v copy=%+v",
		t.AgentID, t.Status, t.Role, t.Copy.Accepted, t.OutSeq, t.InSeq, t.OutOfStep, t.Disagreement, t.InDoubt, t.ConfirmOwed, t.Copy)
}

// checkRuns: at most one run of a task over both nodes, but where an owner
// repeated or overrode it; none of it ran twice; a confirmed task has its run.
func (h *history) checkRuns(when string, tasks [2]map[string]coordination.Task) {
	h.t.Helper()
	succeeded := map[string]int{}
	for _, s := range h.sides {
		for key, times := range s.runs {
			var run actions.Run
			s.in(h.t, func(tx node.Tx) (err error) {
				run, err = s.actions.Find(tx, "", key)
				return err
			})
			if run.State == actions.Succeeded {
				succeeded[run.TaskUID]++
			}
			_ = times // the executor is idempotent by key; how often it was asked does not matter
		}
	}
	for uid, count := range succeeded {
		if uid != "" && count > 1 && !h.repeats[uid] {
			h.fail("%s: task %s ran %d times", when, uid, count)
		}
	}
	for i := range tasks {
		for uid, task := range tasks[i] {
			if task.Status == coordination.Confirmed && succeeded[uid] == 0 {
				h.fail("%s: task %s is confirmed and nothing ran", when, uid)
			}
		}
	}
}

// checkLogs verifies the audit log of both sides.
func (h *history) checkLogs() {
	h.t.Helper()
	for _, s := range h.sides {
		must(h.t, s.store.View(context.Background(), func(tx node.Tx) error {
			report, err := s.audit.Verify(tx, true)
			if err == nil && !report.OK() {
				h.fail("the audit log of %s: %s", s.name, report.Problem)
			}
			return err
		}))
	}
}
