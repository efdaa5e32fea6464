package simulation

import (
	"fmt"

	"agentlink/coordination"
	"agentlink/coordination/wire"
)

// changed calls a check for every copy as it was after the last step, and as it is.
func (h *history) changed(check func(s *side, was, is coordination.Task) string) string {
	for i, s := range h.sides {
		for uid, is := range h.now[i] {
			if problem := check(s, h.last[i][uid], is); problem != "" {
				return fmt.Sprintf("%s, task %s: %s\n%s", s.name, uid, problem, show(is))
			}
		}
	}
	return ""
}

// versionsAndAnswers is I6.
func versionsAndAnswers(h *history) string {
	return h.changed(func(s *side, was, is coordination.Task) string {
		version := 0
		for _, p := range is.Copy.Proposals {
			if p.Status == coordination.ProposalVoid {
				continue
			}
			if version++; p.Version != version {
				return fmt.Sprintf("version %d stands where %d belongs", p.Version, version)
			}
			before := proposalOf(was, p.MessageID)
			if answered(before) && before.Status != p.Status && !s.fell(h, is, wire.TaskRespond) {
				return fmt.Sprintf("version %d was %s and is %s", p.Version, before.Status, p.Status)
			}
		}
		return ""
	})
}

func answered(p *coordination.Proposal) bool {
	return p != nil && (p.Status == coordination.ProposalAccepted || p.Status == coordination.ProposalRejected)
}

func proposalOf(t coordination.Task, messageID string) *coordination.Proposal {
	for i, p := range t.Copy.Proposals {
		if p.MessageID == messageID {
			return &t.Copy.Proposals[i]
		}
	}
	return nil
}

// endsStay is I7.
func endsStay(h *history) string {
	return h.changed(func(s *side, was, is coordination.Task) string {
		switch {
		case !was.Status.Ended() || was.Status == is.Status:
			return ""
		case was.Status == coordination.ExpiredTask && is.Status == coordination.Confirmed:
			happened("an expired task is corrected")
			return ""
		case was.Status == coordination.CancelledTask && s.fell(h, is, wire.TaskCancel):
			happened("a cancel that fell void gives a task back")
			return ""
		case is.Status == coordination.CancelledTask && s.fell(h, is, wire.TaskCreate):
			happened("a task whose create fell void is cancelled")
			return ""
		}
		return fmt.Sprintf("it was %s and is %s", was.Status, is.Status)
	})
}

// fell says whether a message of ours of that type has fallen void.
func (s *side) fell(h *history, t coordination.Task, typ wire.Type) (yes bool) {
	for _, m := range s.known(h).messages() {
		yes = yes || (inCopy(m, t.UID) && m.Direction == coordination.Out && m.Type == typ && m.Void)
	}
	return yes
}
