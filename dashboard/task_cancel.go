package dashboard

import (
	"agentlink/coordination"
	"agentlink/dashboard/view"
	"agentlink/node"
)

// askCancelTask shows what cancelling a task means, before it is done.
func (v *visit) askCancelTask() error {
	var page view.CancelTaskPage
	err := v.read(func(tx node.Tx) (err error) {
		if page.Frame, err = v.frame(tx, "Cancel a task", "/tasks"); err != nil {
			return err
		}
		task, err := v.findTask(tx, v.c.Query("agent"))
		if err != nil {
			return err
		}
		page.URL, page.AgentID, page.Title, page.Contact = taskURL(task.AgentID, task.UID), task.AgentID, task.Copy.Title, task.Contact
		page.Status, page.Agreed = string(task.Status), task.Copy.Accepted > 0
		return nil
	})
	if err != nil {
		return err
	}
	return v.show(view.CancelTask(page))
}

var errTaskMoved = node.ConflictFor(node.ReasonBadState, "The task has changed since you opened the page. Look at it again before you cancel it.")

// cancelTask cancels what the owner was shown: not a task that has moved on.
func (v *visit) cancelTask() error {
	if v.field("sure") != "yes" {
		return node.BadFields(node.Field{Field: "sure", Problem: "must be ticked: a task that has ended does not come back"})
	}
	var uid, agentID string
	err := v.write(func(tx node.Tx) error {
		task, err := v.findTask(tx, v.field("agent"))
		if err != nil {
			return err
		}
		if task, err = v.d.Coordination.LockTask(tx, task.AgentID, task.UID); err != nil {
			return err
		}
		if v.field("status") != string(task.Status) {
			return errTaskMoved
		}
		uid, agentID = task.UID, task.AgentID
		return v.cancelled(tx, task)
	})
	if err != nil {
		return err
	}
	return v.goTo(taskURL(agentID, uid) + "&done=cancelled")
}

func (v *visit) cancelled(tx node.Tx, task coordination.Task) error {
	result, err := v.d.Coordination.CancelTask(tx, v.actor(task.AgentID), task.UID, v.field("reason"))
	if err == nil && result.Refusal != nil {
		err = result.Refusal
	}
	return err
}
