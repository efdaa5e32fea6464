package coordination

import (
	"agentlink/coordination/wire"
	"agentlink/node"
)

// refusals says what our own agent is told when a message of its own does not
// fit its copy, by the code that a peer would have answered.
var refusals = map[string]struct {
	reason  node.Reason
	message string
}{
	wire.CodeStaleVersion:     {node.ReasonStaleVersion, "Another version is the latest. Read the task again."},
	wire.CodeNotLatest:        {node.ReasonNotLatest, "Only the latest pending proposal can be answered. Read the task again."},
	wire.CodeDigestMismatch:   {node.ReasonHashMismatch, "The digest is not that of this version. Read the task again."},
	wire.CodeAlreadyResponded: {node.ReasonAlreadyResponded, "This proposal has been answered; a recorded response cannot be changed."},
	wire.CodeTaskEnded:        {node.ReasonTaskEnded, "The task has ended."},
	wire.CodeAlreadyConfirmed: {node.ReasonTaskEnded, "The task is confirmed."},
	wire.CodeCancelled:        {node.ReasonTaskEnded, "The task is cancelled."},
	wire.CodeDoubleRun:        {node.ReasonAlreadyRan, "The task is confirmed already."},
	wire.CodeBadState:         {node.ReasonBadState, "The task does not allow this now."},
}

// refusalOf is the error for a message of ours that does not fit.
func refusalOf(code string) *node.Error {
	refusal, ok := refusals[code]
	if !ok {
		return node.ConflictFor(node.ReasonBadState, "The task does not allow this now.")
	}
	return node.ConflictFor(refusal.reason, "%s", refusal.message)
}
