package actions

import (
	"encoding/json"

	"agentlink/coordination"
	"agentlink/node"
)

// FileOfRun is the receipt of one of this node's runs. publicKey is the node's,
// as ReceiptFile has it. Code: conflict where the run has none.
func FileOfRun(run Run, publicKey string) (ReceiptFile, error) {
	if run.Receipt == "" {
		return ReceiptFile{}, node.ConflictFor(node.ReasonBadState, "This run has no receipt: it did not succeed, or is not finished.")
	}
	return ReceiptFile{Receipt: run.Receipt, PublicKey: publicKey, Parameters: run.Parameters, Salt: run.Salt}, nil
}

// FileOfTask is the receipt that came with a task's confirmation. publicKey is
// that of the side that confirmed. It has the parameters that the accepted
// proposal asks for, where these are what ran; with what else it ran is known to
// that side alone. Code: conflict where there is none.
func FileOfTask(task coordination.Task, publicKey string) (ReceiptFile, error) {
	confirmed := task.Copy.Confirmation
	if confirmed == nil || confirmed.Receipt == "" {
		return ReceiptFile{}, node.ConflictFor(node.ReasonBadState, "This task has no receipt: nothing ran for it, as far as this node knows.")
	}
	file := ReceiptFile{Receipt: confirmed.Receipt, PublicKey: publicKey}
	full := file
	full.Parameters, full.Salt = agreedParameters(task), confirmed.Salt
	if content, err := json.Marshal(full); err == nil {
		if verified, err := VerifyReceipt(content, ""); err == nil && verified.ParametersMatch {
			return full, nil
		}
	}
	return file, nil
}

// agreedParameters are the action's, as the accepted proposal has them; nil
// where there is none.
func agreedParameters(task coordination.Task) json.RawMessage {
	accepted := task.Copy.AcceptedProposal()
	taskType, known := coordination.TypeOf(task.Type)
	var fields map[string]any
	if accepted == nil || !known || json.Unmarshal(accepted.Fields, &fields) != nil {
		return nil
	}
	parameters := taskType.Mapped(fields)
	parameters["taskUid"] = task.UID
	raw, err := node.Canonical(parameters)
	if err != nil {
		return nil
	}
	return raw
}
