package simulation

import (
	"fmt"

	"agentlink/coordination"
)

// copies are the tasks of both sides, by uid.
type copies [2]map[string]coordination.Task

func (h *history) copies() copies {
	return copies{h.sides[0].known(h).tasks(), h.sides[1].known(h).tasks()}
}

// copiesAgree is I1.
func copiesAgree(h *history, tasks copies) string {
	for i, own := range tasks {
		for uid, task := range own {
			other, there := tasks[1-i][uid]
			if problem := differ(task, other, there); problem != "" {
				return fmt.Sprintf("task %s: %s\n%s\n%s", uid, problem, show(task), show(other))
			}
			if task.InDoubt && !task.OutOfStep {
				return fmt.Sprintf("task %s of %s is still in doubt", uid, h.sides[i].name)
			}
			happened("a task ends " + string(task.Status))
			if task.Disagreement != "" {
				happened("both sides flag " + string(task.Disagreement))
			}
			if task.OutOfStep {
				happened("copies are out of step")
			}
		}
	}
	return ""
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
