package actions

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"

	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/token"
)

// KeyOf finds the key of a node with a fingerprint; that of today where it has, or
// had, no such key.
type KeyOf func(fingerprint string) ed25519.PublicKey

// signerOf is the key that a receipt says to be signed with, as ReceiptFile has it.
func (find KeyOf) signerOf(receipt string) string {
	return base64.RawURLEncoding.EncodeToString(find(token.SignedWith(token.Receipt, receipt)))
}

// FileOfRun is the receipt of one of this node's runs. keys are the node's. Code:
// conflict where the run has none.
func FileOfRun(run Run, keys KeyOf) (ReceiptFile, error) {
	if run.Receipt == "" {
		return ReceiptFile{}, node.ConflictFor(node.ReasonBadState, "This run has no receipt: it did not succeed, or is not finished.")
	}
	return ReceiptFile{Receipt: run.Receipt, PublicKey: keys.signerOf(run.Receipt), Parameters: run.Parameters, Salt: run.Salt}, nil
}

// FileOfTask is the receipt that came with a task's confirmation. keys are those of
// the side that confirmed. It has the parameters that the accepted
// proposal asks for, where these are what ran; with what else it ran is known to
// that side alone. Code: conflict where there is none.
func FileOfTask(task coordination.Task, keys KeyOf) (ReceiptFile, error) {
	confirmed := task.Copy.Confirmation
	if confirmed == nil || confirmed.Receipt == "" {
		return ReceiptFile{}, node.ConflictFor(node.ReasonBadState, "This task has no receipt: nothing ran for it, as far as this node knows.")
	}
	file := ReceiptFile{Receipt: confirmed.Receipt, PublicKey: keys.signerOf(confirmed.Receipt)}
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
