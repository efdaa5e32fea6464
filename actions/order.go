package actions

import (
	"encoding/json"

	"agentlink/coordination"
	"agentlink/node"
	"agentlink/policy"
)

// order is a request that passed the action's schema, with its task where it
// names one.
type order struct {
	definition Definition
	values     map[string]any
	parameters json.RawMessage // canonical
	taskUID    string
	task       coordination.Task     // zero without a task
	taskType   coordination.TaskType // zero without a task
}

func (o order) action() string { return o.definition.Name }

// read checks action and parameters. Code: bad_request.
func (s *Service) read(action string, raw json.RawMessage) (order, error) {
	definition, err := s.definition(action)
	if err != nil {
		return order{}, err
	}
	values, canonical, err := definition.Check(raw)
	if err != nil {
		return order{}, err
	}
	uid, _ := values[taskParameter].(string)
	return order{definition: definition, values: values, parameters: canonical, taskUID: uid}, nil
}

// lockTask locks the task that an order names and checks that it may be asked
// for there. Codes: not_found, bad_request where the action is not the task
// type's own, conflict.
func (s *Service) lockTask(tx node.Tx, agentID string, o *order) error {
	if o.taskUID == "" {
		return nil
	}
	task, err := s.Tasks.LockTask(tx, agentID, o.taskUID)
	if err != nil {
		return err
	}
	o.task = task
	o.taskType, _ = coordination.TypeOf(task.Type)
	if o.taskType.Action != o.action() {
		return node.BadFields(node.Field{Field: "action", Problem: "is not what tasks of this type lead to"})
	}
	return agreed(tx, task)
}

// agreed says why nothing can be run for a task as it stands.
func agreed(tx node.Tx, task coordination.Task) error {
	switch {
	case task.OutOfStep:
		return node.ConflictFor(node.ReasonOutOfStep, "The two copies of this task no longer follow one another.")
	case task.InDoubt:
		return node.ConflictFor(node.ReasonInDoubt, "It is not known yet whether the last message arrived. Wait for the task to change.")
	case task.Status.Ended() || !tx.Now().Before(task.Deadline):
		return node.ConflictFor(node.ReasonTaskEnded, "This task has ended.")
	case task.Status != coordination.Agreed && task.Status != coordination.AwaitingApproval, task.Copy.AcceptedProposal() == nil:
		return node.ConflictFor(node.ReasonBadState, "Both sides have to accept a proposal first.")
	}
	return nil
}

// gate says why a run for the task may not start yet: another one is under way,
// or the other side may not know that it is agreed.
func (s *Service) gate(tx node.Tx, task coordination.Task) error {
	if task.UID == "" {
		return nil
	}
	if task.RunID != "" {
		return node.ConflictFor(node.ReasonBadState, "A run for this task is under way. Wait for it to end.")
	}
	settled, err := s.Tasks.AcceptanceSettled(tx, task)
	if err != nil {
		return err
	}
	if !settled {
		return node.ConflictFor(node.ReasonAcceptanceNotDelivered, "The other side does not know yet that it is agreed. Try again when the acceptance was delivered.")
	}
	return nil
}

// acceptedDigest is the digest of what both sides accepted; "" without a task.
func (o order) acceptedDigest() string {
	if accepted := o.task.Copy.AcceptedProposal(); accepted != nil {
		return accepted.Digest
	}
	return ""
}

// foreignRole says that the task's type lets the other side run the action (D6).
func (o order) foreignRole() bool {
	return o.task.UID != "" && o.taskType.ExecutingRole != o.task.Role
}

// decide asks the owner's rules. With denyOnly, only whether they forbid it.
func (s *Service) decide(tx node.Tx, agentID, subject string, o order, denyOnly bool) (policy.Decision, error) {
	request := policy.Request{
		AgentID: agentID, Capabilities: []string{Capability(o.action())},
		Fields: o.values, AmountField: o.definition.AmountField,
		DenyOnly: denyOnly, Subject: subject, TaskUID: o.taskUID,
	}
	if o.task.UID != "" {
		connection, err := s.Tasks.Connection(tx, agentID, o.task.ConnectionID)
		if err != nil {
			return policy.Decision{}, err
		}
		request.Contact, request.Connection = connection.Contact, string(connection.Status)
		request.StructuredOnly = connection.StructuredOnly
	}
	return s.Policy.Decide(tx, request)
}
