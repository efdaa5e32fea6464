package actions

import (
	"bytes"
	"encoding/json"
	"sort"

	"agentlink/coordination"
	"agentlink/node"
)

// Difference is one parameter that is not what the accepted proposal says.
type Difference struct {
	Parameter string `json:"parameter"`
	Accepted  any    `json:"accepted"` // nil where the proposal says nothing
	Asked     any    `json:"asked"`    // nil where the parameter is not there
}

// differences compares an action's parameters with the accepted proposal, in
// every field that the task type maps, by name of parameter.
func differences(taskType coordination.TaskType, accepted *coordination.Proposal, values map[string]any) ([]Difference, error) {
	if accepted == nil {
		return nil, nil
	}
	var fields map[string]any
	if err := json.Unmarshal(accepted.Fields, &fields); err != nil {
		return nil, node.Wrap(err, "read the accepted proposal")
	}
	mapped := taskType.Mapped(fields)
	var found []Difference
	for parameter := range taskType.Parameters {
		if !equal(mapped[parameter], values[parameter]) {
			found = append(found, Difference{Parameter: parameter, Accepted: mapped[parameter], Asked: values[parameter]})
		}
	}
	sort.Slice(found, func(i, j int) bool { return found[i].Parameter < found[j].Parameter })
	return found, nil
}

// equal compares two JSON values: 4 and 4.0 are one number.
func equal(a, b any) bool {
	left, errA := node.Canonical(a)
	right, errB := node.Canonical(b)
	return errA == nil && errB == nil && bytes.Equal(left, right)
}
