package actions

import (
	"encoding/json"
	"fmt"

	"agentlink/approvals"
	"agentlink/node"
	"agentlink/policy"
)

// Ask is a request for an action's approval. The task can be named in the
// parameters, beside them, or both.
type Ask struct {
	Action     string
	Parameters json.RawMessage
	TaskUID    string
	OnApproval approvals.OnApproval
}

// RequestApproval asks the owner to approve an action. A refusal by the policy
// is a value: its decision has to be committed. Codes: bad_request, not_found,
// conflict, rate_limited.
func (s *Service) RequestApproval(tx node.Tx, actor node.Actor, ask Ask) (approval approvals.Approval, refusal *node.Error, err error) {
	o, err := s.readAsk(ask)
	if err != nil {
		return approvals.Approval{}, nil, err
	}
	if err := s.lockTask(tx, actor.AgentID, &o); err != nil {
		return approvals.Approval{}, nil, err
	}
	decision, err := s.decide(tx, actor.AgentID, "", o, false)
	if err != nil {
		return approvals.Approval{}, nil, err
	}
	if decision.Outcome == policy.Refused {
		return approvals.Approval{}, denied(decision), nil
	}
	if o.task.UID != "" {
		if o.task, err = s.Tasks.AwaitApproval(tx, actor, o.task); err != nil {
			return approvals.Approval{}, nil, err
		}
	}
	approval, err = s.Approvals.Request(tx, actor, s.asApproval(actor, o, held(decision, o), ask.OnApproval))
	return approval, nil, err
}

func (s *Service) readAsk(ask Ask) (order, error) {
	switch ask.OnApproval {
	case "", approvals.Wait, approvals.Run:
	default:
		return order{}, node.BadFields(node.Field{Field: "onApproval", Problem: `must be "wait" or "run"`})
	}
	if _, err := s.definition(ask.Action); err != nil {
		return order{}, err
	}
	parameters, err := withTask(ask.Parameters, ask.TaskUID)
	if err != nil {
		return order{}, err
	}
	return s.read(ask.Action, parameters)
}

// withTask writes the task into the parameters. Code: bad_request where they
// name another one.
func withTask(parameters json.RawMessage, uid string) (json.RawMessage, error) {
	if uid == "" || len(parameters) == 0 {
		return parameters, nil
	}
	var values map[string]any
	if err := node.Decode(parameters, &values); err != nil {
		return nil, err
	}
	inside, present := values[taskParameter]
	switch {
	case values == nil:
		return parameters, nil
	case present && inside != uid:
		return nil, node.BadFields(node.Field{Field: taskParameter, Problem: "is not the task that the parameters name"})
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(parameters, &members); err != nil {
		return nil, node.Errorf(node.BadRequest, "The parameters are not valid JSON.")
	}
	members[taskParameter] = node.MustCanonical(uid)
	merged, err := node.Canonical(members)
	return merged, node.Wrap(err, "write the task into the parameters")
}

// asApproval is what an order asks the owner for. It never outlives its task.
func (s *Service) asApproval(actor node.Actor, o order, held map[string]string, on approvals.OnApproval) approvals.Request {
	return approvals.Request{
		AgentID: actor.AgentID, OwnerID: actor.OwnerID, Kind: approvals.Action, Action: o.action(),
		ConnectionID: o.task.ConnectionID, Contact: o.task.Contact, TaskUID: o.taskUID,
		Parameters: o.parameters, Held: held, AcceptedDigest: o.acceptedDigest(),
		OnApproval: on, ExpiresBy: o.task.Deadline,
	}
}

// The reasons for which this package holds an action that the rules allow.
const (
	notExecutingRole = "not_executing_role" // D6
	parametersDiffer = "parameters_differ"  // from the accepted proposal
	restoredCopy     = "restored_copy"      // it may have run after the backup that the node was restored from
)

// held names why the owner is needed.
func held(decision policy.Decision, o order) map[string]string {
	_, reasons := decision.NeedApproval()
	all := map[string]string{}
	for capability, reason := range reasons {
		all[capability] = string(reason)
	}
	if len(all) == 0 && o.foreignRole() {
		all[Capability(o.action())] = notExecutingRole
	}
	return all
}

// denied is the refusal that no approval can lift.
func denied(decision policy.Decision) *node.Error {
	refusal := decision.Refusal()
	refusal.Details["approvalRequired"] = false
	return refusal
}

// needsApproval is the refusal that an approval lifts.
func needsApproval(action, reason string) *node.Error {
	capability := Capability(action)
	return &node.Error{
		Code:    node.PolicyDenied,
		Message: fmt.Sprintf("The owner has to approve this first (%s). Ask for the approval of exactly these parameters, then run it with the approval's id.", reason),
		Details: map[string]any{
			"denied": []string{capability}, "reasons": map[string]string{capability: reason}, "approvalRequired": true,
		},
	}
}
