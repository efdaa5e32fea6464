package simulation

import (
	"cmp"
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

// maxSkew is by how much a node's clock may be off.
const maxSkew = 2 * time.Minute

// step does one random thing.
func (h *history) step() {
	s := h.sides[h.rng.IntN(2)]
	if s.db.died != "" {
		if h.rng.IntN(3) == 0 {
			h.log("%s: starts again", s.name)
			happened("a process starts again")
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
	case n < 87:
		h.passTime()
	case n < 88:
		h.lastMoment(s)
	case n < 93:
		h.background(s)
	case n < 95:
		h.network.parted = !h.network.parted
		h.log("parted: %v", h.network.parted)
		happened(map[bool]string{true: "the network parts", false: "the network heals"}[h.network.parted])
	case n < 98:
		h.dooms(s)
	default:
		s.clock.off = time.Duration(h.rng.IntN(241))*time.Second - maxSkew
		h.log("%s: the clock is off by %s", s.name, s.clock.off)
		happened(map[bool]string{true: "a clock is behind", false: "a clock is ahead"}[s.clock.off < 0])
	}
}

// dooms lets a process die soon: some transactions later, or when it carries an
// action out.
func (h *history) dooms(s *side) {
	switch h.rng.IntN(8) {
	case 0:
		s.db.doomed = "before the executor"
	case 1:
		s.db.doomed = "after the executor"
	default:
		s.db.countdown = 1 + h.rng.IntN(8)
	}
}

func (h *history) passTime() {
	if h.rng.IntN(8) == 0 && h.passDeadline(h.sides[h.rng.IntN(2)]) {
		return
	}
	pauses := []time.Duration{time.Second, 10 * time.Second, time.Minute, 20 * time.Minute, 2 * time.Hour}
	pause := pauses[h.rng.IntN(len(pauses))]
	h.clock.Advance(pause)
	h.log("%s pass", pause)
}

// passDeadline lets time pass until about the deadline of a task that still lives.
func (h *history) passDeadline(s *side) bool {
	task, ok := h.task(s)
	left := task.Deadline.Sub(s.clock.Now())
	if !ok || task.Status.Ended() || left < time.Minute {
		return false
	}
	left += time.Duration(h.rng.IntN(61)-30) * time.Second
	h.clock.Advance(left)
	h.log("%s pass, to the deadline of %s", left, task.UID)
	happened("a deadline passes")
	return true
}

// task picks one of the agent's tasks.
func (h *history) task(s *side) (task coordination.Task, ok bool) {
	tasks := s.known(h).list()
	tasks = tasks[:min(10, len(tasks))]
	if len(tasks) > 0 {
		task, ok = tasks[h.rng.IntN(len(tasks))], true
	}
	return task, ok
}

func (h *history) agentActs(s *side) {
	task, ok := h.task(s)
	if !ok || h.rng.IntN(14) == 0 {
		h.starts(s)
		return
	}
	if h.eager() && h.rng.IntN(4) > 0 {
		h.goesOn(s, h.living(s, task))
		return
	}
	latest := task.Copy.Latest()
	switch n := h.rng.IntN(100); {
	case n < 30:
		h.proposes(s, task)
	case n < 62 && latest != nil:
		h.answers(s, task, latest.Version)
	case n < 68:
		h.sends(s, "cancels "+task.UID, func(tx node.Tx) (coordination.Result, error) {
			return s.coordination.CancelTask(tx, s.actor(), task.UID, canary+" changed my mind")
		})
	case n < 72:
		h.sends(s, "chats", func(tx node.Tx) (coordination.Result, error) {
			return s.coordination.SendMessage(tx, s.actor(), task.ConnectionID, canary+" hello")
		})
	default:
		h.books(s, task)
	}
}

func (h *history) proposes(s *side, task coordination.Task) {
	h.sends(s, "proposes on "+task.UID, func(tx node.Tx) (coordination.Result, error) {
		return s.coordination.Propose(tx, s.actor(), task.UID, h.dinner(), 0)
	})
}

func (h *history) answers(s *side, task coordination.Task, version int) {
	decision := wire.Accept
	if h.rng.IntN(4) == 0 {
		decision = wire.Reject
	}
	h.sends(s, fmt.Sprintf("answers %s to %d of %s", decision, version, task.UID), func(tx node.Tx) (coordination.Result, error) {
		return s.coordination.Respond(tx, s.actor(), task.UID, coordination.Answer{Version: version, Decision: decision})
	})
}

// living is a task of the agent that has not ended, where it has one.
func (h *history) living(s *side, otherwise coordination.Task) coordination.Task {
	var all []coordination.Task
	for _, task := range s.known(h).list() {
		if !task.Status.Ended() {
			all = append(all, task)
		}
	}
	if len(all) == 0 {
		return otherwise
	}
	return all[h.rng.IntN(len(all))]
}

// goesOn does what brings a task to its end.
func (h *history) goesOn(s *side, task coordination.Task) {
	latest := task.Copy.Latest()
	switch {
	case task.Status.Ended() || task.OutOfStep:
		h.starts(s)
	case task.Copy.Status == coordination.Agreed:
		h.books(s, task)
	case latest == nil || latest.Status == coordination.ProposalRejected:
		h.proposes(s, task)
	case latest.Author == task.Role:
		h.works(s, "delivers", s.worker.Step)
	default:
		h.answers(s, task, latest.Version)
	}
}

func (h *history) sends(s *side, what string, f func(tx node.Tx) (coordination.Result, error)) {
	var before []coordination.Task
	if !h.crowded {
		before = s.known(h).list()
	}
	problem := ""
	h.tx(s, what, func(tx node.Tx) error {
		result, err := f(tx)
		if err != nil {
			return err
		}
		h.log("  %s %s", result.Status, result.ID)
		happened("a write is " + result.Status)
		if err := s.noteAllowed(tx, result.ID); err != nil {
			return err
		}
		if h.crowded || result.Status != coordination.StatusPendingApproval {
			return nil
		}
		after, err := s.tasks(tx)
		if was, is := visible(before), visible(after); was != is {
			problem = fmt.Sprintf("%s %s changed the copies from\n%s\nto\n%s", s.name, what, was, is)
		}
		return err
	})
	if problem != "" {
		h.breaks(heldLeavesTheCopy, "when it was held", problem)
	}
}

func (h *history) starts(s *side) {
	h.sends(s, "starts a task", func(tx node.Tx) (coordination.Result, error) {
		c, err := s.connection(tx)
		if err != nil {
			return coordination.Result{}, err
		}
		start := coordination.StartTask{ConnectionID: c.ID, Type: "dinner.coordination", Title: canary + " Dinner", ExpiresInHours: 1 + h.rng.IntN(30)}
		if h.rng.IntN(3) > 0 {
			start.Proposal = h.dinner()
		}
		return s.coordination.StartTask(tx, s.actor(), start)
	})
}

// books asks for an approval, runs with one, or runs under a grant.
func (h *history) books(s *side, task coordination.Task) {
	parameters := map[string]any{"venue": canary + " Trattoria", "date": "2027-01-05", "time": "19:30", "partySize": 2, "taskUid": task.UID}
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
	if approved := s.known(h).approvals(approvals.Approved); len(approved) > 0 && h.rng.IntN(4) > 0 {
		start = actions.Start{ApprovalID: approved[h.rng.IntN(len(approved))].ID}
		if h.rng.IntN(4) == 0 { // with what the agent would like now, approved or not
			start.Action, start.Parameters = "reservation.book", raw
		}
	}
	h.do(s, "runs for "+task.UID, func(ctx context.Context) error {
		run, err := s.actions.Run(ctx, s.actor(), start)
		if err == nil {
			h.log("  run %s %s %s", run.ID, run.State, run.TaskConfirmation)
			happened(map[bool]string{true: "an action runs under a rule", false: "an action runs with an approval"}[run.Automatic])
		}
		return err
	})
}

func (h *history) ownerDecides(s *side) {
	pending := s.known(h).approvals(approvals.Pending)
	if len(pending) == 0 {
		return
	}
	a := pending[h.rng.IntN(len(pending))]
	shown := a
	if h.rng.IntN(15) == 0 { // the page in front of the owner is another one
		shown = pending[h.rng.IntN(len(pending))]
	}
	h.decides(s, a, shown)
}

// decides answers an approval, as the owner who was shown one.
func (h *history) decides(s *side, a, shown approvals.Approval) {
	decision := approvals.Decision{ID: a.ID, Hash: shown.Hash, Approve: h.rng.IntN(5) > 0, Note: canary + " note"}
	often := 12
	if h.eager() {
		often = 4
	}
	if h.rng.IntN(often) == 0 && a.Kind == approvals.Action {
		decision.Override, decision.Word = true, "again"
		h.repeats[a.TaskUID] = true
	}
	problem, now := "", s.clock.Now()
	h.do(s, fmt.Sprintf("decides %s %s of %s: %v", a.Kind, a.Action, a.TaskUID, decision.Approve), func(ctx context.Context) error {
		effect, err := s.decide(ctx, decision)
		if err != nil {
			happened("a decision is refused: " + cmp.Or(string(node.ReasonOf(err)), string(node.CodeOf(err))))
			return err
		}
		h.log("  %s %s", effect.Outcome, effect.Code)
		happened("a decision is " + effect.Outcome)
		problem = wronglyDecided(a, shown, now)
		return nil
	})
	if problem != "" {
		h.breaks(approvalOnce, "when the owner decided", problem)
	}
}

// lastMoment lets time pass until the very instant at which something that waits
// for the owner is over, and no longer.
func (h *history) lastMoment(s *side) {
	pending := s.known(h).approvals(approvals.Pending)
	if len(pending) == 0 {
		return
	}
	a := pending[0]
	for _, b := range pending {
		if b.ExpiresAt.Before(a.ExpiresAt) {
			a = b
		}
	}
	left := a.ExpiresAt.Sub(s.clock.Now())
	if left < 0 {
		return
	}
	h.clock.Advance(left)
	h.log("%s pass, to the end of %s", left, a.ID)
	happened("an approval is answered at the instant of its end")
	h.decides(s, a, a)
}

// ownerChanges changes rules, modes, statuses, and once in a while ends the connection.
func (h *history) ownerChanges(s *side) {
	capabilities := []string{"disclose.*", "disclose.dietary", "action.reservation.book", "task.*", "task.respond", "task.propose", "task.cancel"}
	switch n := h.rng.IntN(100); {
	case n < 15:
		h.grantFor(s, capabilities[h.rng.IntN(2)], []time.Duration{time.Minute, 30 * time.Minute, 3 * time.Hour}[h.rng.IntN(3)])
	case n < 45:
		h.grant(s, capabilities[h.rng.IntN(len(capabilities))], policy.GrantModes[h.rng.IntN(len(policy.GrantModes))])
	case n < 65:
		h.ungrant(s)
	case n < 80:
		mode := h.mode()
		h.tx(s, "is now "+string(mode), func(tx node.Tx) error {
			_, err := s.policy.SetMode(tx, s.owner, s.agent.ID, mode)
			return err
		})
		happened("the mode is " + string(mode))
	case n < 92:
		h.status(s, policy.Statuses[h.rng.IntN(2)])
	case n < 94 && !h.lasting:
		h.revokes(s)
		happened("a connection is revoked")
	}
}

func (h *history) status(s *side, status policy.Status) {
	happened("an agent is " + string(status))
	h.tx(s, "is "+string(status), func(tx node.Tx) error {
		_, err := s.policy.SetStatus(tx, s.owner, s.agent.ID, status)
		return err
	})
}

// grantFor allows something for a while.
func (h *history) grantFor(s *side, capability string, life time.Duration) {
	happened("an allow grant has an end")
	h.tx(s, fmt.Sprintf("allows %s for %s", capability, life), func(tx node.Tx) error {
		_, err := s.policy.SetGrant(tx, s.owner, policy.NewGrant{
			AgentID: s.agent.ID, Capability: capability, Mode: policy.Allow, ExpiresAt: tx.Now().Add(life),
		})
		return err
	})
}
