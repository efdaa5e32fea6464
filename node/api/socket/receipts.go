package socket

import (
	"encoding/base64"
	"encoding/json"

	"agentlink/actions"
	"agentlink/coordination"
	"agentlink/node"
)

// The commands about receipts.
const (
	ReceiptExport = "receipt.export" // ByID, of a run or a task → actions.ReceiptFile
)

func (s *Server) receiptCommands() {
	reads(s, ReceiptExport, s.exportReceipt)
}

// exportReceipt gives the receipt of one of our runs, or of the confirmation of
// a task, which may be the peer's.
func (s *Server) exportReceipt(tx node.Tx, r ByID) (actions.ReceiptFile, error) {
	if node.ValidID(r.ID) {
		run, err := s.Actions.Find(tx, "", r.ID)
		if err == nil {
			return s.receiptOf(run)
		}
		if node.CodeOf(err) != node.NotFound {
			return actions.ReceiptFile{}, err
		}
	}
	task, _, err := s.task(tx, TaskRef{UID: r.ID})
	if node.CodeOf(err) == node.NotFound && err != nil {
		return actions.ReceiptFile{}, node.Errorf(node.NotFound, "There is no such run and no such task.")
	}
	if err != nil {
		return actions.ReceiptFile{}, err
	}
	return s.receiptOfTask(tx, task)
}

func (s *Server) receiptOf(run actions.Run) (actions.ReceiptFile, error) {
	if run.Receipt == "" {
		return actions.ReceiptFile{}, node.ConflictFor(node.ReasonBadState, "This run has no receipt: it did not succeed, or is not finished.")
	}
	return actions.ReceiptFile{
		Receipt: run.Receipt, PublicKey: s.Info().PublicKey, Parameters: run.Parameters, Salt: run.Salt,
	}, nil
}

func (s *Server) receiptOfTask(tx node.Tx, task coordination.Task) (actions.ReceiptFile, error) {
	confirmed := task.Copy.Confirmation
	if confirmed == nil || confirmed.Receipt == "" {
		return actions.ReceiptFile{}, node.ConflictFor(node.ReasonBadState, "This task has no receipt: nothing ran for it, as far as this node knows.")
	}
	file := actions.ReceiptFile{Receipt: confirmed.Receipt, PublicKey: s.Info().PublicKey}
	if confirmed.By != task.Role {
		connection, err := s.Coordination.Connection(tx, task.AgentID, task.ConnectionID)
		if err != nil {
			return actions.ReceiptFile{}, err
		}
		file.PublicKey = base64.RawURLEncoding.EncodeToString(connection.Peer.PublicKey)
	}
	return withAgreed(file, confirmed.Salt, task), nil
}

// withAgreed adds the parameters that the accepted proposal asks for, where the
// receipt says that these are what ran. What else ran with is the other side's.
func withAgreed(file actions.ReceiptFile, salt string, task coordination.Task) actions.ReceiptFile {
	accepted := task.Copy.AcceptedProposal()
	taskType, known := coordination.TypeOf(task.Type)
	var fields map[string]any
	if accepted == nil || !known || json.Unmarshal(accepted.Fields, &fields) != nil {
		return file
	}
	parameters := taskType.Mapped(fields)
	parameters["taskUid"] = task.UID
	raw, err := node.Canonical(parameters)
	if err != nil {
		return file
	}
	full := file
	full.Parameters, full.Salt = raw, salt
	content, err := json.Marshal(full)
	if err != nil {
		return file
	}
	if verified, err := actions.VerifyReceipt(content, ""); err == nil && verified.ParametersMatch {
		return full
	}
	return file
}
