package actions_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"agentlink/actions"
	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/store"
	"agentlink/policy"
)

// tasks is a small fake of coordination. Its tasks lie in the store, so that they
// take part in transactions.
type tasks struct {
	store *store.Store
	log   *audit.Log

	mu        sync.Mutex
	unsettled bool  // our acceptance was not answered yet
	barred    bool  // the connection no longer takes our confirmation
	endErr    error // EndRun fails
	ended     []*coordination.Run
}

func (f *tasks) set(change func(*tasks)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func settingOf(agentID, uid string) string { return "task " + agentID + " " + uid }

func (f *tasks) put(tx node.Tx, task coordination.Task) error {
	raw, err := json.Marshal(task)
	if err != nil {
		return err
	}
	return f.store.SetSetting(tx, settingOf(task.AgentID, task.UID), raw)
}

func (f *tasks) Task(tx node.Tx, agentID, uid string) (task coordination.Task, err error) {
	raw, err := f.store.Setting(tx, settingOf(agentID, uid))
	if err != nil {
		return task, err
	}
	return task, json.Unmarshal(raw, &task)
}

func (f *tasks) LockTask(tx node.Tx, agentID, uid string) (coordination.Task, error) {
	if err := f.store.SetSetting(tx, "lock "+settingOf(agentID, uid), []byte("x")); err != nil {
		return coordination.Task{}, err
	}
	return f.Task(tx, agentID, uid)
}

func (f *tasks) Connection(node.Tx, string, string) (coordination.Connection, error) {
	return coordination.Connection{ID: "connection", Contact: "bob@b.example", Status: coordination.ConnActive}, nil
}

func (f *tasks) AwaitApproval(tx node.Tx, _ node.Actor, task coordination.Task) (coordination.Task, error) {
	task.Status = coordination.AwaitingApproval
	return task, f.put(tx, task)
}

func (f *tasks) AcceptanceSettled(node.Tx, coordination.Task) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.unsettled, nil
}

func (f *tasks) BeginRun(tx node.Tx, task coordination.Task, runID string) (coordination.Task, error) {
	if task.RunID != "" {
		return task, node.ConflictFor(node.ReasonBadState, "A run is under way.")
	}
	task.RunID = runID
	return task, f.put(tx, task)
}

func (f *tasks) EndRun(tx node.Tx, actor node.Actor, agentID, uid, runID string, run *coordination.Run) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.endErr != nil {
		return false, f.endErr
	}
	task, err := f.Task(tx, agentID, uid)
	if err != nil {
		return false, err
	}
	if task.RunID != runID {
		return false, fmt.Errorf("the task is in run %q, not %q", task.RunID, runID)
	}
	f.ended = append(f.ended, run)
	task.RunID = ""
	sent := run != nil && !f.barred
	if run != nil {
		task.ExecutedAt = run.ReservedAt
		if err := f.log.Append(tx, audit.Event{Type: map[bool]audit.Type{true: audit.TaskConfirmed, false: audit.TaskConfirmFailed}[sent], Actor: actor, TaskUID: uid}); err != nil {
			return false, err
		}
	}
	if sent {
		task.Status, task.Copy.Status = coordination.Confirmed, coordination.Confirmed
	}
	return sent, f.put(tx, task)
}

// task keeps a changed dinner.
func (w *world) task(change ...func(*coordination.Task)) {
	w.t.Helper()
	task := agreedDinner()
	for _, f := range change {
		f(&task)
	}
	w.do(func(tx node.Tx) error { return w.tasks.put(tx, task) })
}

func (w *world) dinner() (task coordination.Task) {
	w.t.Helper()
	w.do(func(tx node.Tx) (err error) {
		task, err = w.tasks.Task(tx, "agent", "dinner")
		return err
	})
	return task
}

// rules is a small fake of the policy: one answer for everything, recorded and
// audited as the real one does.
type rules struct {
	log *audit.Log

	mu     sync.Mutex
	reason policy.Reason // mode_not_autonomous unless set
	asked  []policy.Request
}

func (f *rules) set(reason policy.Reason) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reason = reason
}

func (f *rules) answer(request policy.Request) (policy.Outcome, policy.Reason) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, request)
	switch {
	case f.reason == policy.GrantDenies || f.reason == policy.AgentDisabled:
		return policy.Refused, f.reason
	case request.DenyOnly:
		return policy.Allowed, policy.NothingDenies
	case f.reason == policy.GrantAllows:
		return policy.Allowed, f.reason
	case f.reason == "":
		return policy.Held, policy.ModeNotAutonomous
	}
	return policy.Held, f.reason
}

func (f *rules) Decide(tx node.Tx, request policy.Request) (policy.Decision, error) {
	outcome, reason := f.answer(request)
	decision := policy.Decision{ID: node.RandomIDs{}.New(), Outcome: outcome}
	for _, capability := range request.Capabilities {
		decision.Answers = append(decision.Answers, policy.Answer{Capability: capability, Outcome: outcome, Reason: reason})
	}
	err := f.log.Append(tx, audit.Event{
		Type: audit.PolicyDecided, Actor: agent, AgentID: request.AgentID, Subject: decision.ID,
	})
	return decision, err
}

func (f *rules) Capabilities(node.Tx, policy.Request, []string) ([]policy.Answer, error) {
	return nil, errors.New("not asked for here")
}

// executor is one whose ways a test chooses.
type executor struct {
	idempotent bool
	execute    func(ctx context.Context, key string) (actions.Result, error)

	mu   sync.Mutex
	keys []string
}

func (e *executor) Name() string     { return "reservation.book" }
func (e *executor) Idempotent() bool { return e.idempotent }

func (e *executor) Execute(ctx context.Context, key string, _ json.RawMessage) (actions.Result, error) {
	e.mu.Lock()
	e.keys = append(e.keys, key)
	e.mu.Unlock()
	return e.execute(ctx, key)
}

func (e *executor) calls() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.keys)
}

func succeeds(_ context.Context, key string) (actions.Result, error) {
	return actions.Result{Code: "AL-" + key[len(key)-6:], Checked: true, Data: map[string]any{"ok": true}}, nil
}
