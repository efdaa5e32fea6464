package coordination

import (
	"context"
	"errors"

	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/audit"
)

var errNothingAccepted = errors.New("no proposal of this task is accepted")

// batch is how many rows one step looks at.
const batch = 50

// ExpireStep marks overdue tasks expired, fails what was queued and is no longer
// worth sending, pays confirmations that are owed, and forgets old answers; a
// bounded number a call. It is called each minute.
func (s *Service) ExpireStep(ctx context.Context) (more bool, err error) {
	for _, step := range []func(context.Context) (bool, error){s.expireTasks, s.expireMessages, s.payOwed, s.sweepAnswers, s.keepKeys} {
		m, err := step(ctx)
		if err != nil {
			return false, err
		}
		more = more || m
	}
	return more, nil
}

func (s *Service) expireTasks(ctx context.Context) (bool, error) {
	var overdue []Task
	err := s.DB.View(ctx, func(tx node.Tx) (err error) {
		overdue, err = s.Store.OverdueTasks(tx, batch)
		return err
	})
	for _, task := range overdue {
		if err == nil {
			err = s.DB.InTx(ctx, func(tx node.Tx) error { return s.expireTask(tx, task) })
		}
	}
	return len(overdue) == batch, err
}

func (s *Service) expireTask(tx node.Tx, listed Task) error {
	task, err := s.Store.LockTask(tx, listed.AgentID, listed.UID)
	if err != nil {
		return err
	}
	from := task.Status
	to, ok := next(from, evExpired)
	if !ok || task.Held || tx.Now().Before(task.Deadline) {
		return nil
	}
	task.Status, task.Copy.Status, task.Copy.Expired = to, to, true
	if err := s.saveTask(tx, task, from, ""); err != nil {
		return err
	}
	return s.audit(tx, audit.Event{
		Type: audit.TaskExpired, Actor: nodeActor(task.OwnerID, task.AgentID), AgentID: task.AgentID,
		ConnectionID: task.ConnectionID, TaskUID: task.UID, Data: map[string]any{"from": string(from)},
	})
}

func (s *Service) expireMessages(ctx context.Context) (bool, error) {
	var overdue []Message
	err := s.DB.View(ctx, func(tx node.Tx) (err error) {
		overdue, err = s.Store.OverdueMessages(tx, batch)
		return err
	})
	for _, m := range overdue {
		if err == nil {
			err = s.DB.InTx(ctx, func(tx node.Tx) error { return s.expireMessage(tx, m) })
		}
	}
	return len(overdue) == batch, err
}

// expireMessage takes back a message whose time is over. Of one that may have
// arrived the peer is asked, by a task.void, what became of it, so that the two
// copies end alike. What cannot be asked about any more leaves them out of step.
func (s *Service) expireMessage(tx node.Tx, listed Message) error {
	m, err := s.lockedMessage(tx, listed.AgentID, listed.ID)
	if err != nil || m.Status != MsgQueued {
		return err
	}
	return s.stop(tx, nodeActor(m.OwnerID, m.AgentID), m, wire.CodeTooLate)
}

func (s *Service) payOwed(ctx context.Context) (bool, error) {
	var owed []Task
	err := s.DB.View(ctx, func(tx node.Tx) (err error) {
		owed, err = s.Store.OwedTasks(tx, batch)
		return err
	})
	for _, task := range owed {
		if err == nil {
			err = s.DB.InTx(ctx, func(tx node.Tx) error { return s.pay(tx, task) })
		}
	}
	return false, err
}

// pay sends an owed confirmation where nothing bars it any more. It records
// nothing where something still does.
func (s *Service) pay(tx node.Tx, listed Task) error {
	task, err := s.Store.LockTask(tx, listed.AgentID, listed.UID)
	if err != nil || !task.ConfirmOwed || task.RunID != "" {
		return err
	}
	why, err := s.confirmBarred(tx, task)
	if err != nil || why != "" {
		return err
	}
	_, err = s.confirm(tx, nodeActor(task.OwnerID, task.AgentID), task)
	return err
}

func (s *Service) sweepAnswers(ctx context.Context) (more bool, err error) {
	err = s.DB.InTx(ctx, func(tx node.Tx) error {
		swept, err := s.Store.SweepAcks(tx, 10*batch)
		more = swept == 10*batch
		return err
	})
	return more, err
}
