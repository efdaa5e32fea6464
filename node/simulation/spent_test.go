package simulation

import (
	"fmt"
	"time"

	"agentlink/actions"
	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
)

// runsAreTied is I2.
func runsAreTied(h *history, tasks copies) string {
	succeeded := [2]map[string]int{{}, {}}
	for i, s := range h.sides {
		for key := range s.runs {
			run, problem := s.tied(h, key)
			if problem != "" {
				return problem
			}
			if run.State == actions.Succeeded && run.TaskUID != "" {
				succeeded[i][run.TaskUID]++
			}
		}
	}
	for i, s := range h.sides {
		for uid, task := range tasks[i] {
			runs := succeeded[0][uid] + succeeded[1][uid]
			switch confirms := s.confirms(h, uid); {
			case runs > 1 && !h.repeats[uid]:
				return fmt.Sprintf("task %s ran %d times", uid, runs)
			case task.Status == coordination.Confirmed && runs == 0:
				return fmt.Sprintf("task %s is confirmed and nothing ran", uid)
			case confirms > succeeded[i][uid]:
				return fmt.Sprintf("%s confirmed task %s %d times and ran it %d times", s.name, uid, confirms, succeeded[i][uid])
			}
		}
	}
	return ""
}

// tied finds a run by its key, and what is wrong with its approval or with what
// the executor was given.
func (s *side) tied(h *history, key string) (run actions.Run, problem string) {
	s.in(h.t, func(tx node.Tx) error {
		var err error
		if run, err = s.actions.Find(tx, "", key); err != nil {
			return err
		}
		a, err := s.store.Approval(tx, run.ApprovalID)
		if err != nil {
			return err
		}
		hash, err := s.approvals.Hash(run.Action, s.runs[key])
		if hash != a.Hash {
			problem = fmt.Sprintf("%s ran %s, and its owner approved %s", s.name, s.runs[key], a.Parameters)
		}
		return err
	})
	return run, problem
}

// confirms counts a side's confirmations of a task.
func (s *side) confirms(h *history, uid string) (count int) {
	for _, m := range s.known(h).messages() {
		if m.Direction == coordination.Out && m.Type == wire.TaskConfirm && inCopy(m, uid) {
			count++
		}
	}
	return count
}

// approvalsAreSpentOnce is I5.
func approvalsAreSpentOnce(h *history, _ copies) string {
	for _, s := range h.sides {
		for _, a := range s.known(h).everyApproval() {
			happened("an approval ends " + string(a.Status))
			problem := ""
			s.in(h.t, func(tx node.Tx) (err error) {
				problem, err = s.spentWrongly(tx, a)
				return err
			})
			if problem != "" {
				return fmt.Sprintf("%s, approval %s of %s %s: %s", s.name, a.ID, a.Kind, a.Action, problem)
			}
		}
	}
	return ""
}

func (s *side) spentWrongly(tx node.Tx, a approvals.Approval) (string, error) {
	if a.Status == approvals.Consumed && !a.DecidedAt.Before(a.ExpiresAt) {
		return fmt.Sprintf("decided at %s, and it ended at %s", a.DecidedAt, a.ExpiresAt), nil
	}
	switch a.Kind {
	case approvals.Action:
		run, err := s.store.RunByApproval(tx, a.ID)
		ran := err == nil
		switch {
		case err != nil && node.CodeOf(err) != node.NotFound:
			return "", err
		case ran != (a.Status == approvals.Consumed):
			return fmt.Sprintf("it is %s; that something ran with it is %v", a.Status, ran), nil
		case ran && !run.ReservedAt.Before(a.ExpiresAt):
			return fmt.Sprintf("used at %s, and it ended at %s", run.ReservedAt, a.ExpiresAt), nil
		}
	case approvals.Message:
		m, err := s.store.Message(tx, a.AgentID, a.Subject)
		if err != nil {
			return "", err
		}
		if m.Position > 0 && a.Status != approvals.Consumed {
			return fmt.Sprintf("it is %s, and its message is %s", a.Status, m.Status), nil
		}
		if m.Status == coordination.MsgPendingApproval && a.Status != approvals.Pending {
			return fmt.Sprintf("it is %s, and its message still waits for it", a.Status), nil
		}
	}
	return "", nil
}

// wronglyDecided says why a decision that was taken should have been refused.
func wronglyDecided(a, shown approvals.Approval, now time.Time) string {
	switch {
	case a.Hash != shown.Hash:
		return fmt.Sprintf("%s was decided, and the owner was shown %s", a.ID, shown.ID)
	case !now.Before(a.ExpiresAt):
		return fmt.Sprintf("%s was decided at %s, and it ended at %s", a.ID, now, a.ExpiresAt)
	}
	return ""
}
