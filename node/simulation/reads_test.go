package simulation

import (
	"context"
	"testing"
	"time"

	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/node"
	"agentlink/policy"
)

// reads keep what was read of a side until anything changes in its database: most
// steps change one side or none, and most invariants ask for both. They are never
// filled within a transaction of the node, which may yet be undone. Nothing may
// change what they give.
type reads struct {
	t       testing.TB
	side    *side
	changes int64

	newest   *[]coordination.Task
	byUID    map[string]coordination.Task
	contact  *coordination.Connection
	agent    policy.Agent
	between  *[]coordination.Message
	threads  map[coordination.Direction]map[string]coordination.Message
	leaving  *[]coordination.Message
	moment   time.Time // of the approvals: one whose time is over shows as expired
	byStatus map[approvals.Status][]approvals.Approval
	every    *[]approvals.Approval
}

// known is what can be read of a side now. On PostgreSQL nothing is kept, since
// others write there too.
func (s *side) known(h *history) *reads {
	if s.raw == nil {
		return &reads{t: h.t, side: s}
	}
	changes, err := s.raw.Changes(context.Background())
	must(h.t, err)
	if s.read == nil || s.read.changes != changes {
		s.read = &reads{t: h.t, side: s, changes: changes}
	}
	return s.read
}

// once fills a place where nothing stands yet.
func once[T any](r *reads, place **T, read func(tx node.Tx) (T, error)) T {
	if *place == nil {
		var value T
		r.side.in(r.t, func(tx node.Tx) (err error) {
			value, err = read(tx)
			return err
		})
		*place = &value
	}
	return **place
}

// list is the agent's tasks, newest first.
func (r *reads) list() []coordination.Task { return once(r, &r.newest, r.side.tasks) }

func (s *side) tasks(tx node.Tx) ([]coordination.Task, error) {
	return s.coordination.Tasks(tx, s.agent.ID, coordination.TaskFilter{}, coordination.Page{Limit: 100})
}

// tasks are the copies of a side by uid, without those that nobody was told of.
func (r *reads) tasks() map[string]coordination.Task {
	if r.byUID == nil {
		r.byUID = map[string]coordination.Task{}
		for _, task := range r.list() {
			r.byUID[task.UID] = task
		}
	}
	return r.byUID
}

// who is the connection, as it stands, and the agent.
func (r *reads) who() (coordination.Connection, policy.Agent) {
	contact := once(r, &r.contact, func(tx node.Tx) (c coordination.Connection, err error) {
		if c, err = r.side.connection(tx); err != nil {
			return c, err
		}
		r.agent, err = r.side.store.AgentByID(tx, r.side.agent.ID)
		return c, err
	})
	return contact, r.agent
}

// messages are all between the two agents, newest first.
func (r *reads) messages() []coordination.Message {
	contact, _ := r.who()
	return once(r, &r.between, func(tx node.Tx) (all []coordination.Message, err error) {
		page := coordination.Page{Limit: 100}
		for {
			list, err := r.side.store.Thread(tx, contact.ID, page)
			if all = append(all, list...); err != nil || len(list) < page.Limit {
				return all, err
			}
			page.BeforeAt, page.BeforeID = list[len(list)-1].CreatedAt, list[len(list)-1].ID
		}
	})
}

// inCopy says whether a message is, or was, a part of the copy of a task.
func inCopy(m coordination.Message, uid string) bool { return m.TaskUID == uid && m.Position > 0 }

// thread is the messages of one direction, by id.
func (r *reads) thread(direction coordination.Direction) map[string]coordination.Message {
	if r.threads == nil {
		r.threads = map[coordination.Direction]map[string]coordination.Message{coordination.In: {}, coordination.Out: {}}
		for _, m := range r.messages() {
			r.threads[m.Direction][m.ID] = m
		}
	}
	return r.threads[direction]
}

// queued is what waits to leave.
func (r *reads) queued() []coordination.Message {
	contact, _ := r.who()
	return once(r, &r.leaving, func(tx node.Tx) ([]coordination.Message, error) {
		return r.side.store.QueuedMessages(tx, r.side.agent.ID, contact.ID)
	})
}

// approvals are the agent's newest of a status.
func (r *reads) approvals(status approvals.Status) []approvals.Approval {
	r.atThisMoment()
	list, ok := r.byStatus[status]
	if !ok {
		r.side.in(r.t, func(tx node.Tx) (err error) {
			list, err = r.side.approvals.Approvals(tx, approvals.Filter{AgentID: r.side.agent.ID, Status: status, Limit: 20})
			return err
		})
		r.byStatus[status] = list
	}
	return list
}

func (r *reads) everyApproval() []approvals.Approval {
	r.atThisMoment()
	return once(r, &r.every, func(tx node.Tx) (all []approvals.Approval, err error) {
		filter := approvals.Filter{AgentID: r.side.agent.ID, Limit: 100}
		for {
			page, err := r.side.approvals.Approvals(tx, filter)
			if all = append(all, page...); err != nil || len(page) < filter.Limit {
				return all, err
			}
			filter.BeforeAt, filter.BeforeID = page[len(page)-1].CreatedAt, page[len(page)-1].ID
		}
	})
}

// atThisMoment forgets what depends on the time where that has changed.
func (r *reads) atThisMoment() {
	if now := r.side.clock.Now(); r.byStatus == nil || !now.Equal(r.moment) {
		r.moment, r.byStatus, r.every = now, map[approvals.Status][]approvals.Approval{}, nil
	}
}
