package socket

import (
	"time"

	"agentlink/coordination"
	"agentlink/node"
	"agentlink/policy"
)

// Task is our copy of a task as its owner sees it. Lists leave the proposals out.
type Task struct {
	UID          string                     `json:"uid"`
	Agent        string                     `json:"agent"` // handle
	Contact      string                     `json:"contact"`
	ConnectionID string                     `json:"connectionId"`
	Role         coordination.Role          `json:"role"`
	Type         string                     `json:"type"`
	Title        string                     `json:"title"`
	Status       coordination.Status        `json:"status"`
	Held         bool                       `json:"held,omitempty"`
	Deadline     time.Time                  `json:"deadline"`
	Accepted     int                        `json:"accepted,omitempty"`
	Disagreement coordination.Disagreement  `json:"disagreement,omitempty"`
	OutOfStep    bool                       `json:"outOfStep,omitempty"`
	InDoubt      bool                       `json:"inDoubt,omitempty"`
	ExecutedAt   time.Time                  `json:"executedAt,omitzero"`
	ConfirmOwed  bool                       `json:"confirmOwed,omitempty"`
	EndedBy      coordination.Role          `json:"endedBy,omitempty"`
	CancelReason string                     `json:"cancelReason,omitempty"`
	Confirmation *coordination.Confirmation `json:"confirmation,omitempty"`
	Crossed      *coordination.Confirmation `json:"crossed,omitempty"`
	Proposals    []coordination.Proposal    `json:"proposals,omitempty"`
	CreatedAt    time.Time                  `json:"createdAt"`
	UpdatedAt    time.Time                  `json:"updatedAt"`
}

// The commands about tasks.
const (
	TaskList = "task.list" // ListTasks → []Task
	TaskShow = "task.show" // TaskRef → Task
)

// ListTasks narrows a list of tasks; Status "" means all.
type ListTasks struct {
	Agent  string              `json:"agent,omitempty"`
	Status coordination.Status `json:"status,omitempty"`
	Limit  int                 `json:"limit,omitempty"`
}

// TaskRef names a task by its uid, full or shortened. Agent is only needed
// where both sides of the task are agents of this node.
type TaskRef struct {
	Agent string `json:"agent,omitempty"`
	UID   string `json:"uid"`
}

func (s *Server) taskCommands() {
	reads(s, TaskList, s.listTasks)
	reads(s, TaskShow, func(tx node.Tx, r TaskRef) (Task, error) {
		task, agent, err := s.task(tx, r)
		if err != nil {
			return Task{}, err
		}
		view := taskOf(task, agent.Handle)
		view.Proposals = task.Copy.Proposals
		return view, nil
	})
}

func (s *Server) listTasks(tx node.Tx, r ListTasks) ([]Task, error) {
	agentID, err := s.filter(tx, r.Agent)
	if err != nil {
		return nil, err
	}
	filter := coordination.TaskFilter{Status: r.Status}
	tasks, err := s.Coordination.Tasks(tx, agentID, filter, coordination.Page{Limit: limit(r.Limit)})
	if err != nil {
		return nil, err
	}
	names, err := s.agentNames(tx)
	views := make([]Task, len(tasks))
	for i, task := range tasks {
		views[i] = taskOf(task, names[task.AgentID])
	}
	return views, err
}

// task finds a copy of an agent's, or of any agent, by its full or shortened uid.
func (s *Server) task(tx node.Tx, r TaskRef) (coordination.Task, policy.Agent, error) {
	agentID, err := s.filter(tx, r.Agent)
	if err != nil {
		return coordination.Task{}, policy.Agent{}, err
	}
	uid := r.UID
	if !node.ValidID(uid) {
		if uid, err = s.shortTask(tx, agentID, uid); err != nil {
			return coordination.Task{}, policy.Agent{}, err
		}
	}
	task, err := s.Coordination.Task(tx, agentID, uid)
	if err != nil {
		return coordination.Task{}, policy.Agent{}, err
	}
	agent, err := s.Policy.Agent(tx, task.AgentID)
	return task, agent, err
}

func (s *Server) shortTask(tx node.Tx, agentID, text string) (string, error) {
	return short("task", text, func(visit func(string)) error {
		return s.eachTask(tx, agentID, coordination.TaskFilter{}, func(task coordination.Task) { visit(task.UID) })
	})
}

func (s *Server) eachTask(tx node.Tx, agentID string, filter coordination.TaskFilter, visit func(coordination.Task)) error {
	return each(
		func(page coordination.Page) ([]coordination.Task, error) {
			return s.Coordination.Tasks(tx, agentID, filter, page)
		},
		func(task coordination.Task) (time.Time, string) { return task.CreatedAt, task.UID },
		func(task coordination.Task) bool { visit(task); return false })
}

func taskOf(t coordination.Task, agent string) Task {
	return Task{
		UID: t.UID, Agent: agent, Contact: t.Contact, ConnectionID: t.ConnectionID, Role: t.Role, Type: t.Type,
		Title: t.Copy.Title, Status: t.Status, Held: t.Held, Deadline: t.Deadline, Accepted: t.Copy.Accepted,
		Disagreement: t.Disagreement, OutOfStep: t.OutOfStep, InDoubt: t.InDoubt, ExecutedAt: t.ExecutedAt,
		ConfirmOwed: t.ConfirmOwed, EndedBy: t.Copy.EndedBy, CancelReason: t.Copy.CancelReason,
		Confirmation: t.Copy.Confirmation, Crossed: t.Copy.Crossed, CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt,
	}
}
