package socket

import (
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
			return actions.FileOfRun(run, s.Signer.KeyOf)
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

func (s *Server) receiptOfTask(tx node.Tx, task coordination.Task) (actions.ReceiptFile, error) {
	confirmed := task.Copy.Confirmation
	if confirmed == nil || confirmed.By == task.Role {
		return actions.FileOfTask(task, s.Signer.KeyOf)
	}
	connection, err := s.Coordination.Connection(tx, task.AgentID, task.ConnectionID)
	if err != nil {
		return actions.ReceiptFile{}, err
	}
	return actions.FileOfTask(task, connection.Peer.Key)
}
