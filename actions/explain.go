package actions

import (
	"encoding/json"
	"fmt"

	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/node"
)

// The kinds of warning.
const (
	NotExecutingRole = "not_executing_role" // D6: the other side is to run it
	AlreadyRan       = "already_ran"        // D7: it ran, or may have
	RestoredTask     = "restored_copy"      // D13: it may have run in a time that the node knows nothing of
)

// Warning is what an owner has to see before approving an action.
type Warning struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// View is what an owner sees of an action's approval beside its parameters.
// Summary and Difference hold text of the agent's and the peer's: whoever shows
// them escapes it.
type View struct {
	Summary    string
	Warnings   []Warning    // only while the approval is open
	Difference []Difference // from the accepted proposal
}

// Explain prepares an action's approval for its owner. A damaged one explains
// nothing.
func (s *Service) Explain(tx node.Tx, approval approvals.Approval) (View, error) {
	if approval.Kind != approvals.Action || approval.Damaged {
		return View{}, nil
	}
	var values map[string]any
	if err := json.Unmarshal(approval.Parameters, &values); err != nil {
		return View{}, node.Wrap(err, "read the parameters of an approval")
	}
	view := View{Summary: approval.Action}
	if definition, ok := DefinitionOf(approval.Action); ok {
		view.Summary = definition.Describe(values)
	}
	warnings, err := s.warnings(tx, approval)
	if err != nil {
		return View{}, err
	}
	view.Warnings = warnings
	view.Difference, err = s.difference(tx, approval, values)
	return view, err
}

func (s *Service) difference(tx node.Tx, approval approvals.Approval, values map[string]any) ([]Difference, error) {
	if approval.TaskUID == "" {
		return nil, nil
	}
	task, err := s.Tasks.Task(tx, approval.AgentID, approval.TaskUID)
	if err != nil {
		return nil, err
	}
	taskType, _ := coordination.TypeOf(task.Type)
	return differences(taskType, task.Copy.AcceptedProposal(), values)
}

// warnings are what the owner has to answer: the override of D6, the word of D7.
func (s *Service) warnings(tx node.Tx, approval approvals.Approval) ([]Warning, error) {
	if approval.TaskUID == "" || !approval.Status.Open() {
		return nil, nil
	}
	task, err := s.Tasks.Task(tx, approval.AgentID, approval.TaskUID)
	if err != nil {
		return nil, err
	}
	var warnings []Warning
	if taskType, ok := coordination.TypeOf(task.Type); ok && taskType.ExecutingRole != task.Role {
		warnings = append(warnings, Warning{NotExecutingRole, fmt.Sprintf(
			"%s is to run this, not your agent. If both run it, it is done twice.", task.Contact)})
	}
	if s.mayHaveRun(task) {
		warnings = append(warnings, Warning{RestoredTask, "This node was restored from a backup after the task began. It may have done this already: check first."})
	}
	before, ran, err := s.ran(tx, approval.AgentID, approval.TaskUID, approval.Action)
	if ran {
		warnings = append(warnings, Warning{AlreadyRan, ranText(before)})
	}
	return warnings, err
}

// ranText says when it ran and with which code, and the word that repeats it.
func ranText(before Run) string {
	text := "This began on " + before.ReservedAt.Format("Monday 2 January 2006 at 15:04 UTC") + " and nobody knows whether it was carried out. Check first."
	if before.State == Succeeded {
		text = "This already ran on " + before.ReservedAt.Format("Monday 2 January 2006 at 15:04 UTC")
		if before.Code != "" {
			text += " with the code " + before.Code
		}
		text += "."
	}
	return text + ` To run it a second time, type the word "` + approvals.Again + `".`
}
