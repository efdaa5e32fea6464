package simulation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"agentlink/actions"
	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/api/peer"
	"agentlink/node/audit"
	"agentlink/node/delivery"
	"agentlink/node/outbox"
	"agentlink/policy"
	"agentlink/policy/engine"
)

// faults are mistakes that a change could make, each planted in what the services
// are given, so that their own code knows of none of it.
var faults = []fault{
	{
		name: "a used approval is not marked as used", finder: "I5", seed: 1_000_005,
		beneath: func(_ *side, at *seams) { at.approvals = neverUsed{at.approvals} },
	},
	{
		name: "the hash that the owner was shown is not compared", finder: "I5", seed: 1,
		between: func(s *side, at *seams) { at.decide = unseen{s, at.decide}.decide },
	},
	{
		name: "an approval is over after its last instant, not at it", finder: "I5", seed: 1,
		between: func(s *side, at *seams) { at.decide = overlong{s, at.decide}.decide },
	},
	{
		name: "an action runs with other parameters than were approved", finder: "I2", seed: 1_000_005,
		beneath: func(_ *side, at *seams) { at.executor = oneMore{at.executor} },
	},
	{
		name: "a confirmation is sent twice", finder: "I2", seed: 1_000_005,
		between: func(_ *side, at *seams) { at.tasks = twice{at.tasks} },
	},
	{
		name: "answers are not kept, so a message that comes twice is new", finder: "I11", seed: 31,
		beneath: func(_ *side, at *seams) { at.coordination = forgetful{at.coordination} },
	},
	{
		name: "what is sent again gets a new id", finder: "I3", seed: 1,
		between: func(s *side, at *seams) { at.outgoing = &renamed{at.outgoing, s, map[string]string{}} },
	},
	{
		name: "a message is acknowledged before it is stored", finder: "I1", seed: 2,
		beneath: func(s *side, at *seams) { at.inboxDB = hasty{at.inboxDB, s} },
	},
	{
		name: "an acceptance of an older version is taken for the latest", finder: "I1", seed: 51,
		between: func(s *side, at *seams) { at.inbox = generous{at.inbox, s} },
	},
	{
		name: "a disagreement is not flagged", finder: "I1", seed: 30,
		beneath: func(_ *side, at *seams) { at.coordination = agreeable{at.coordination} },
	},
	{
		name: "the end of a grant is ignored", finder: "I3", seed: 1_000_000,
		beneath: func(_ *side, at *seams) { at.rules = endless{at.rules} },
	},
	{
		name: "a revoked connection still sends", finder: "I4", seed: 3,
		beneath: func(_ *side, at *seams) { at.coordination = deaf{at.coordination} },
	},
	{
		name: "an answer can be changed", finder: "I6", seed: 1_000_001,
		beneath: func(_ *side, at *seams) { at.coordination = fickle{at.coordination} },
	},
	{
		name: "a confirmed task can be cancelled", finder: "I7", seed: 1_000_005,
		beneath: func(_ *side, at *seams) { at.coordination = reopening{at.coordination} },
	},
	{
		name: "a held proposal already counts in the copy", finder: "I9", seed: 1,
		beneath: func(_ *side, at *seams) { at.coordination = eager{at.coordination} },
	},
	{
		name: "decisions have no row in the audit log", finder: "I10", seed: 1,
		beneath: func(_ *side, at *seams) { at.audit = silent{at.audit} },
	},
	{
		name: "the pause between attempts has no limit", finder: "I11", seed: 9,
		beneath: func(_ *side, at *seams) { at.outbox = patient{at.outbox} },
	},
	{
		name: "the text of a message is stored in the clear", finder: "I12", seed: 4,
		beneath: func(_ *side, at *seams) { at.coordination = talkative{at.coordination} },
	},
}

type neverUsed struct{ approvals.Store }

func (n neverUsed) SaveApproval(tx node.Tx, a approvals.Approval, from approvals.Status) error {
	if a.Status == approvals.Consumed && a.Kind == approvals.Action {
		return nil
	}
	return n.Store.SaveApproval(tx, a, from)
}

type unseen struct {
	side *side
	next decider
}

func (u unseen) decide(ctx context.Context, d approvals.Decision) (approvals.Effect, error) {
	err := u.side.store.View(ctx, func(tx node.Tx) error {
		a, err := u.side.store.Approval(tx, d.ID)
		d.Hash = a.Hash
		return err
	})
	if err != nil {
		return approvals.Effect{}, err
	}
	return u.next(ctx, d)
}

type overlong struct {
	side *side
	next decider
}

// decide compares times that are counted in microseconds: now − 1 < end is now ≤ end.
func (o overlong) decide(ctx context.Context, d approvals.Decision) (approvals.Effect, error) {
	o.side.clock.off -= time.Microsecond
	defer func() { o.side.clock.off += time.Microsecond }()
	return o.next(ctx, d)
}

type oneMore struct{ actions.Executor }

func (o oneMore) Execute(ctx context.Context, key string, parameters json.RawMessage) (actions.Result, error) {
	return o.Executor.Execute(ctx, key, bytes.ReplaceAll(parameters, []byte(`"partySize":2`), []byte(`"partySize":3`)))
}

type twice struct{ actions.Tasks }

func (t twice) EndRun(tx node.Tx, actor node.Actor, agentID, uid, runID string, run *coordination.Run) (bool, error) {
	if _, err := t.Tasks.EndRun(tx, actor, agentID, uid, runID, run); err != nil || run == nil {
		return false, err
	}
	return t.Tasks.EndRun(tx, actor, agentID, uid, runID, run)
}

type forgetful struct{ coordination.Store }

func (forgetful) KeepAck(node.Tx, string, string, string, []byte, time.Time) error { return nil }

// renamed sends kept bytes no second time: it makes new ones, with an id of their own.
type renamed struct {
	delivery.Coordination
	side *side
	was  map[string]string // the id of the message, by the id that was sent
}

func (r *renamed) Dispatch(tx node.Tx, item outbox.Item, sign coordination.Sign) (coordination.Dispatch, error) {
	d, err := r.Coordination.Dispatch(tx, item, sign)
	if err == nil && d.Again && !d.Claims.Type.Notice() {
		id := r.side.ids.New()
		r.was[id] = d.Claims.JTI
		d.Again, d.Claims.JTI, d.Inner.JTI = false, id, id
		d.Envelope, err = sign(d)
	}
	return d, err
}

func (r *renamed) Acknowledged(tx node.Tx, agentID string, ack wire.Ack) (bool, error) {
	if id, ok := r.was[ack.Ref]; ok {
		ack.Ref = id
	}
	return r.Coordination.Acknowledged(tx, agentID, ack)
}

// hasty answers, and then sometimes has not stored what it answered for.
type hasty struct {
	node.DB
	side *side
}

var errPower = errors.New("the power fails before the commit")

func (h hasty) InTx(ctx context.Context, f func(node.Tx) error) error {
	fails := h.side.connected && h.side.rng.IntN(20) == 0
	err := h.DB.InTx(ctx, func(tx node.Tx) error {
		if err := f(tx); err != nil || !fails {
			return err
		}
		return errPower
	})
	if errors.Is(err, errPower) {
		return nil
	}
	return err
}

type generous struct {
	peer.Coordination
	side *side
}

func (g generous) Receive(tx node.Tx, in coordination.Incoming, sign func(wire.Ack) ([]byte, error)) ([]byte, error) {
	var answer wire.Response
	task, err := g.side.store.Task(tx, g.side.agent.ID, in.Envelope.Task)
	if err == nil && in.Envelope.Type == wire.TaskRespond && node.Decode(in.Inner.Content, &answer) == nil && answer.Decision == wire.Accept {
		if latest := task.Copy.Latest(); latest != nil {
			answer.Version, answer.Digest = latest.Version, latest.Digest
			in.Inner.Content = node.MustCanonical(answer)
		}
	}
	return g.Coordination.Receive(tx, in, sign)
}

type agreeable struct{ coordination.Store }

func (a agreeable) SaveTask(tx node.Tx, t coordination.Task, from coordination.Status) error {
	t.Disagreement = coordination.NoDisagreement
	return a.Store.SaveTask(tx, t, from)
}

type endless struct{ engine.Store }

func (e endless) Rules(tx node.Tx, agentID string) (policy.Rules, error) {
	rules, err := e.Store.Rules(tx, agentID)
	rules.Grants = slices.Clone(rules.Grants)
	for i := range rules.Grants {
		rules.Grants[i].ExpiresAt = time.Time{}
	}
	return rules, err
}

// deaf does not hear that a connection is over: not when messages are prepared to
// leave, and not when those that wait should be taken back.
type deaf struct{ coordination.Store }

func (d deaf) Connection(tx node.Tx, id string) (coordination.Connection, error) {
	c, err := d.Store.Connection(tx, id)
	if c.Status == coordination.ConnRevoked {
		c.Status = coordination.ConnActive
	}
	return c, err
}

func (deaf) QueuedMessages(node.Tx, string, string) ([]coordination.Message, error) { return nil, nil }

// fickle forgets, for whoever is about to write, that a proposal was rejected.
type fickle struct{ coordination.Store }

func (f fickle) LockTask(tx node.Tx, agentID, uid string) (coordination.Task, error) {
	t, err := f.Store.LockTask(tx, agentID, uid)
	if latest := t.Copy.Latest(); latest != nil && latest.Status == coordination.ProposalRejected {
		latest.Status = coordination.ProposalPending
	}
	return t, err
}

// reopening takes a confirmed task for an agreed one, and has lost the guard of
// the statement that would notice.
type reopening struct{ coordination.Store }

func (r reopening) LockTask(tx node.Tx, agentID, uid string) (coordination.Task, error) {
	t, err := r.Store.LockTask(tx, agentID, uid)
	if t.Status == coordination.Confirmed {
		t.Status, t.Copy.Status = coordination.Agreed, coordination.Agreed
	}
	return t, err
}

func (r reopening) SaveTask(tx node.Tx, t coordination.Task, from coordination.Status) error {
	stored, err := r.Store.Task(tx, t.AgentID, t.UID)
	if err != nil {
		return err
	}
	if stored.Status == coordination.Confirmed {
		from = coordination.Confirmed
	}
	return r.Store.SaveTask(tx, t, from)
}

type eager struct{ coordination.Store }

func (e eager) InsertMessage(tx node.Tx, m coordination.Message) error {
	if err := e.Store.InsertMessage(tx, m); err != nil || m.Status != coordination.MsgPendingApproval || m.Type != wire.TaskPropose {
		return err
	}
	t, err := e.Store.LockTask(tx, m.AgentID, m.TaskUID)
	if err != nil {
		return err
	}
	t.Positions++
	return e.Store.SaveTask(tx, t, t.Status)
}

type silent struct{ audit.Store }

func (s silent) KeepAudit(tx node.Tx, row audit.Row, write func([]audit.Row) error) (int64, error) {
	if row.Type == audit.PolicyDecided {
		return 0, nil
	}
	return s.Store.KeepAudit(tx, row, write)
}

type patient struct{ outbox.Store }

func (p patient) RescheduleOutbox(tx node.Tx, id, token string, next time.Time) (bool, error) {
	if pause := next.Sub(tx.Now()); pause > 8*time.Second {
		next = next.Add(1000 * time.Hour)
	}
	return p.Store.RescheduleOutbox(tx, id, token, next)
}

type talkative struct{ coordination.Store }

func (t talkative) InsertMessage(tx node.Tx, m coordination.Message) error {
	if m.Type == wire.Message && m.Direction == coordination.In {
		m.VoidReason = string(m.Content)
	}
	return t.Store.InsertMessage(tx, m)
}
