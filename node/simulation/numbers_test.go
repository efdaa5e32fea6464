package simulation

import (
	"fmt"

	"agentlink/coordination"
	"agentlink/coordination/wire"
)

// numbersAreWhole is I8: of every task the other side's numbers 1 to n were
// processed, and every message that came is one that was sent, to the byte.
func numbersAreWhole(h *history, tasks copies) string {
	sent := [2]map[string]coordination.Message{h.sides[0].known(h).thread(coordination.Out), h.sides[1].known(h).thread(coordination.Out)}
	for i, s := range h.sides {
		for uid, task := range tasks[i] {
			if problem := s.numbered(h, task, tasks[1-i][uid]); problem != "" {
				return fmt.Sprintf("%s, task %s: %s", s.name, uid, problem)
			}
		}
		came := s.known(h).thread(coordination.In)
		for id, m := range came {
			switch there, ok := sent[1-i][id]; {
			case !ok:
				return fmt.Sprintf("%s got %s %s, which nobody sent", s.name, m.Type, id)
			case m.Sha256 != there.Sha256:
				return fmt.Sprintf("%s got other bytes of %s %s than are kept", s.name, m.Type, id)
			}
		}
		for id, m := range sent[1-i] {
			happened("a message is " + string(m.Status))
			if m.Code != "" {
				happened("a message is " + string(m.Status) + ": " + m.Code)
			}
			got := came[id].Status
			if m.Status == coordination.MsgDelivered && got != coordination.MsgReceived && hasRow(m.Type) {
				return fmt.Sprintf("%s %s counts as delivered, and %s has it as %q", m.Type, id, s.name, got)
			}
		}
	}
	return ""
}

// hasRow says whether a message of this type is stored where it was applied. A
// task.void may only be the answer to what is there, and a notice is the
// connection's.
func hasRow(t wire.Type) bool { return t != wire.TaskVoid && !t.Notice() }

func (s *side) numbered(h *history, task, theirs coordination.Task) string {
	if !flagged(task) && !flagged(theirs) && theirs.UID != "" && task.InSeq != theirs.OutSeq && !s.cutOff(h, task, theirs) {
		return fmt.Sprintf("%d numbers were processed, and the other side gave %d", task.InSeq, theirs.OutSeq)
	}
	there := map[int64]bool{}
	for _, m := range s.known(h).thread(coordination.In) {
		there[m.Seq] = there[m.Seq] || m.TaskUID == task.UID
	}
	for seq := int64(1); seq <= task.InSeq; seq++ {
		if !there[seq] {
			return fmt.Sprintf("number %d of %d is missing", seq, task.InSeq)
		}
	}
	return ""
}

// cutOff says whether a task had ended alike on both sides when its connection
// did: a cancel that was under way then reaches nobody, and changes nothing.
func (s *side) cutOff(h *history, task, theirs coordination.Task) bool {
	if task.Status != coordination.CancelledTask || theirs.Status != coordination.CancelledTask {
		return false
	}
	c, _ := s.known(h).who()
	return c.Status == coordination.ConnRevoked
}
