package dashboard

import (
	"encoding/json"
	"net/http"

	"github.com/gofiber/fiber/v2"

	"agentlink/actions"
	"agentlink/node"
)

func (d *Dashboard) receiptRoutes() []route {
	return []route{get("/approvals/:id/receipt", (*visit).approvalReceipt)}
}

// approvalReceipt is the receipt of the run that used an approval, as a file that
// anyone can verify offline.
func (v *visit) approvalReceipt() error {
	var file actions.ReceiptFile
	err := v.read(func(tx node.Tx) error {
		a, err := v.d.Approvals.Approval(tx, "", v.c.Params("id"))
		if err != nil {
			return err
		}
		run, err := v.d.Actions.OfApproval(tx, a.AgentID, a.ID)
		if err != nil {
			return err
		}
		file, err = actions.FileOfRun(run, v.d.Signer.KeyOf)
		return err
	})
	if err != nil {
		return err
	}
	return v.download(file, "approval-"+v.c.Params("id")+".receipt")
}

// taskReceipt is the receipt that came with a task's confirmation, ours or the
// peer's.
func (v *visit) taskReceipt() error {
	var file actions.ReceiptFile
	var uid string
	err := v.read(func(tx node.Tx) error {
		task, err := v.findTask(tx, v.c.Query("agent"))
		if err != nil {
			return err
		}
		keys := v.d.Signer.KeyOf
		if c := task.Copy.Confirmation; c != nil && c.By != task.Role {
			connection, err := v.d.Coordination.Connection(tx, task.AgentID, task.ConnectionID)
			if err != nil {
				return err
			}
			keys = connection.Peer.Key
		}
		uid = task.UID
		file, err = actions.FileOfTask(task, keys)
		return err
	})
	if err != nil {
		return err
	}
	return v.download(file, "task-"+uid+".receipt")
}

// download sends a value as a JSON file. The name holds nothing of an agent's or
// a peer's choice but ids that were found.
func (v *visit) download(value any, name string) error {
	content, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return node.Wrap(err, "write a file")
	}
	v.c.Set(fiber.HeaderContentType, "application/json")
	v.c.Set(fiber.HeaderContentDisposition, `attachment; filename="`+name+`"`)
	return v.c.Status(http.StatusOK).Send(append(content, '\n'))
}
