package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"agentlink/actions"
	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/policy"
)

// step does one random thing.
func (h *history) step() {
	s := h.sides[h.rng.IntN(2)]
	if s.db.died != "" {
		if h.rng.IntN(3) == 0 {
			h.log("%s: starts again", s.name)
			s.start(h.t, h.network)
		}
		return
	}
	switch n := h.rng.IntN(100); {
	case n < 36:
		h.agentActs(s)
	case n < 50:
		h.ownerDecides(s)
	case n < 54:
		h.ownerChanges(s)
	case n < 76:
		h.works(s, "delivers", s.worker.Step)
	case n < 81:
		h.network.deliverLate()
	case n < 88:
		h.passTime()
	case n < 93:
		h.background(s)
	case n < 95:
		h.network.parted = !h.network.parted
		h.log("parted: %v", h.network.parted)
	case n < 98:
		s.db.countdown = 1 + h.rng.IntN(8)
	default:
		s.clock.off = time.Duration(h.rng.IntN(240)-120) * time.Second
	}
}

func (h *history) passTime() {
	pauses := []time.Duration{time.Second, 10 * time.Second, time.Minute, 20 * time.Minute, 2 * time.Hour}
	pause := pauses[h.rng.IntN(len(pauses))]
	h.clock.Advance(pause)
	h.log("%s pass", pause)
}

// task picks one of the agent's tasks.
func (h *history) task(s *side) (task coordination.Task, ok bool) {
	s.in(h.t, func(tx node.Tx) error {
		tasks, err := s.coordination.Tasks(tx, s.agent.ID, coordination.TaskFilter{}, coordination.Page{Limit: 10})
		if len(tasks) > 0 {
			task, ok = tasks[h.rng.IntN(len(tasks))], true
		}
		return err
	})
	return task, ok
}

func (h *history) agentActs(s *side) {
	task, ok := h.task(s)
	if !ok || h.rng.IntN(14) == 0 {
		h.starts(s)
		return
	}
	latest := task.Copy.Latest()
	switch n := h.rng.IntN(100); {
	case n < 30:
		h.sends(s, "proposes on "+task.UID, func(tx node.Tx) (coordination.Result, error) {
			return s.coordination.Propose(tx, s.actor(), task.UID, h.dinner(), 0)
		})
	case n < 62 && latest != nil:
		decision := wire.Accept
		if h.rng.IntN(4) == 0 {
			decision = wire.Reject
		}
		h.sends(s, fmt.Sprintf("answers %s to %d of %s", decision, latest.Version, task.UID), func(tx node.Tx) (coordination.Result, error) {
			return s.coordination.Respond(tx, s.actor(), task.UID, coordination.Answer{Version: latest.Version, Decision: decision})
		})
	case n < 68:
		h.sends(s, "cancels "+task.UID, func(tx node.Tx) (coordination.Result, error) {
			return s.coordination.CancelTask(tx, s.actor(), task.UID, "changed my mind")
		})
	case n < 72:
		h.sends(s, "chats", func(tx node.Tx) (coordination.Result, error) {
			return s.coordination.SendMessage(tx, s.actor(), task.ConnectionID, "hello")
		})
	default:
		h.books(s, task)
	}
}

func (h *history) sends(s *side, what string, f func(tx node.Tx) (coordination.Result, error)) {
	h.tx(s, what, func(tx node.Tx) error {
		result, err := f(tx)
		if err == nil {
			h.log("  %s %s", result.Status, result.ID)
		}
		return err
	})
}

func (h *history) starts(s *side) {
	h.sends(s, "starts a task", func(tx node.Tx) (coordination.Result, error) {
		c, err := s.connection(tx)
		if err != nil {
			return coordination.Result{}, err
		}
		start := coordination.StartTask{ConnectionID: c.ID, Type: "dinner.coordination", Title: "Dinner", ExpiresInHours: 1 + h.rng.IntN(30)}
		if h.rng.IntN(3) > 0 {
			start.Proposal = h.dinner()
		}
		return s.coordination.StartTask(tx, s.actor(), start)
	})
}

// books asks for an approval, runs with one, or runs under a grant.
func (h *history) books(s *side, task coordination.Task) {
	parameters := map[string]any{"venue": "Trattoria", "date": "2027-01-05", "time": "19:30", "partySize": 2, "taskUid": task.UID}
	if accepted := task.Copy.AcceptedProposal(); accepted != nil && h.rng.IntN(10) > 0 {
		var fields map[string]any
		_ = json.Unmarshal(accepted.Fields, &fields)
		t, _ := coordination.TypeOf(task.Type)
		parameters = t.Mapped(fields)
		parameters["taskUid"] = task.UID
	}
	raw, _ := json.Marshal(parameters)
	if h.rng.IntN(2) == 0 {
		on := [2]approvals.OnApproval{approvals.Wait, approvals.Run}[h.rng.IntN(2)]
		h.tx(s, "asks to book for "+task.UID, func(tx node.Tx) error {
			_, _, err := s.actions.RequestApproval(tx, s.actor(), actions.Ask{Action: "reservation.book", Parameters: raw, OnApproval: on})
			return err
		})
		return
	}
	start := actions.Start{Action: "reservation.book", Parameters: raw}
	if approved := h.approvals(s, approvals.Approved); len(approved) > 0 && h.rng.IntN(4) > 0 {
		start = actions.Start{ApprovalID: approved[h.rng.IntN(len(approved))].ID}
	}
	h.do(s, "runs for "+task.UID, func(ctx context.Context) error {
		run, err := s.actions.Run(ctx, s.actor(), start)
		if err == nil {
			h.log("  run %s %s %s", run.ID, run.State, run.TaskConfirmation)
		}
		return err
	})
}

func (h *history) approvals(s *side, status approvals.Status) (list []approvals.Approval) {
	s.in(h.t, func(tx node.Tx) (err error) {
		list, err = s.approvals.Approvals(tx, approvals.Filter{AgentID: s.agent.ID, Status: status, Limit: 20})
		return err
	})
	return list
}

func (h *history) ownerDecides(s *side) {
	pending := h.approvals(s, approvals.Pending)
	if len(pending) == 0 {
		return
	}
	a := pending[h.rng.IntN(len(pending))]
	decision := approvals.Decision{ID: a.ID, Hash: a.Hash, Approve: h.rng.IntN(5) > 0}
	if h.rng.IntN(12) == 0 && a.Kind == approvals.Action {
		decision.Override, decision.Word = true, "again"
		h.repeats[a.TaskUID] = true
	}
	h.tx(s, fmt.Sprintf("decides %s %s of %s: %v", a.Kind, a.Action, a.TaskUID, decision.Approve), func(tx node.Tx) error {
		effect, err := s.approvals.Decide(tx, s.owner, decision)
		if err == nil {
			h.log("  %s %s", effect.Outcome, effect.Code)
		}
		return err
	})
}

// ownerChanges changes rules, modes, statuses, and once in a while ends the connection.
func (h *history) ownerChanges(s *side) {
	capabilities := []string{"disclose.*", "disclose.dietary", "action.reservation.book", "task.*", "task.respond", "task.propose", "task.cancel"}
	switch n := h.rng.IntN(100); {
	case n < 45:
		h.grant(s, capabilities[h.rng.IntN(len(capabilities))], policy.GrantModes[h.rng.IntN(len(policy.GrantModes))])
	case n < 65:
		h.ungrant(s)
	case n < 80:
		h.tx(s, "changes the mode", func(tx node.Tx) error {
			_, err := s.policy.SetMode(tx, s.owner, s.agent.ID, h.mode())
			return err
		})
	case n < 92:
		h.status(s, policy.Statuses[h.rng.IntN(2)])
	case n < 94 && !h.lasting:
		h.revokes(s)
	}
}

func (h *history) status(s *side, status policy.Status) {
	h.tx(s, "is "+string(status), func(tx node.Tx) error {
		_, err := s.policy.SetStatus(tx, s.owner, s.agent.ID, status)
		return err
	})
}
