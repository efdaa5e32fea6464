package app

import (
	"fmt"

	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/node"
)

// check opens what was loaded and compares it: the log's chain with the data of
// every row, the approvals' MACs and hashes, and every connection, message, task
// and rule that the node could be asked for. Code: bad_request.
func (r *restoring) check(tx node.Tx) error {
	if err := r.identify(tx); err != nil {
		return err
	}
	log, err := r.audit.Verify(tx, true)
	if err != nil {
		return err
	}
	if !log.OK() {
		return damaged("the audit log is not whole: " + log.Problem)
	}
	if log.Rows != r.report.AuditRows || log.Head != r.report.AuditHash {
		return damaged("its audit log does not end where its head says")
	}
	r.report.Values = log.Rows
	for what, check := range map[string]func(node.Tx) error{
		"an approval": r.checkApprovals, "a task": r.checkTasks, "a message": r.checkMessages,
	} {
		if err := check(tx); err != nil {
			if e, ok := node.AsError(err); ok && e.Code == node.BadRequest {
				return err
			}
			return damaged(what + " does not open")
		}
	}
	return nil
}

func damaged(what string) error {
	return node.Errorf(node.BadRequest, "The backup is damaged: %s.", what)
}

// checkPage is how many rows are in memory together.
const checkPage = 100

// checkApprovals also finds a row that was changed.
func (r *restoring) checkApprovals(tx node.Tx) error {
	all := r.approvals(1) // every epoch's
	filter := approvals.Filter{Limit: checkPage}
	for {
		list, err := all.Approvals(tx, filter)
		if err != nil {
			return err
		}
		for _, a := range list {
			if a.Damaged {
				return damaged(fmt.Sprintf("the approval %s was changed", a.ID))
			}
			r.report.Values++
			filter.BeforeAt, filter.BeforeID = a.CreatedAt, a.ID
		}
		if len(list) < checkPage {
			return nil
		}
	}
}

func (r *restoring) checkTasks(tx node.Tx) error {
	page := coordination.Page{Limit: checkPage}
	for {
		list, err := r.store.Tasks(tx, "", coordination.TaskFilter{}, page)
		if err != nil {
			return err
		}
		for _, task := range list {
			r.report.Values++
			page.BeforeAt, page.BeforeID = task.CreatedAt, task.UID
		}
		if len(list) < checkPage {
			return nil
		}
	}
}

func (r *restoring) checkMessages(tx node.Tx) error {
	page := coordination.Page{Limit: checkPage}
	for {
		list, err := r.store.Connections(tx, "", page)
		if err != nil {
			return err
		}
		for _, c := range list {
			r.report.Values++
			if err := r.checkThread(tx, c.ID); err != nil {
				return err
			}
			page.BeforeAt, page.BeforeID = c.CreatedAt, c.ID
		}
		if len(list) < checkPage {
			return nil
		}
	}
}

func (r *restoring) checkThread(tx node.Tx, connectionID string) error {
	page := coordination.Page{Limit: checkPage}
	for {
		list, err := r.store.Thread(tx, connectionID, page)
		if err != nil {
			return err
		}
		for _, m := range list {
			r.report.Values++
			page.BeforeAt, page.BeforeID = m.CreatedAt, m.ID
		}
		if len(list) < checkPage {
			return nil
		}
	}
}
