package approvals

import (
	"time"

	"agentlink/node"
)

// Store keeps approvals. What is not there is node.NotFound. A row whose sealed
// values do not open is given as Damaged, without them: one such row must not
// keep the owner from all others.
type Store interface {
	// InsertApproval writes a new row. fresh is false, and nothing is written,
	// where the same request for an action is pending: same agent, action, hash,
	// accepted digest and OnApproval.
	InsertApproval(tx node.Tx, a Approval) (fresh bool, err error)
	Approval(tx node.Tx, id string) (Approval, error)
	// LockApproval keeps other writers off the row until the transaction ends.
	LockApproval(tx node.Tx, id string) (Approval, error)
	// SaveApproval writes status, note, Override, Repeat, DecidedAt and MAC of an
	// approval that had the status given as from and is not past its time, now;
	// otherwise it is a conflict.
	SaveApproval(tx node.Tx, a Approval, from Status) error
	// ExpireApproval writes status and MAC of an approval that had the status given
	// as from, whatever its time; otherwise it is a conflict.
	ExpireApproval(tx node.Tx, a Approval, from Status) error
	// RenewMAC writes the MAC of an approval that is as it was.
	RenewMAC(tx node.Tx, a Approval) error

	// LockRequests lets one transaction at a time ask for approvals of an agent.
	LockRequests(tx node.Tx, agentID string) error
	// SamePending finds the pending approval that InsertApproval would meet.
	SamePending(tx node.Tx, a Approval) (Approval, error)
	// CountPending counts the pending approvals of an agent, or with "" of all, that
	// are not past their time and not of an earlier epoch.
	CountPending(tx node.Tx, agentID string, epoch int64) (int, error)

	// Approvals lists as Service.Approvals says, leaving out what is past its time
	// or of an earlier epoch where the filter asks for an open status.
	Approvals(tx node.Tx, filter Filter, epoch int64) ([]Approval, error)
	// OpenOfTask lists the ids of open approvals of a task, oldest first; action ""
	// means any.
	OpenOfTask(tx node.Tx, agentID, taskUID, action string) ([]string, error)
	// Overdue lists the ids of open approvals that are past their time or of an
	// earlier epoch.
	Overdue(tx node.Tx, epoch int64, limit int) ([]string, error)
	// ReadyToRun lists approved actions that the node is to run itself, by id after
	// the given one.
	ReadyToRun(tx node.Tx, epoch int64, after string, limit int) ([]Approval, error)
}

// Filter narrows a list of approvals. Zero values mean all.
type Filter struct {
	AgentID string
	Status  Status
	TaskUID string
	Limit   int // 1 to 100; 0 means 50
	// BeforeAt and BeforeID continue after the last entry of a page: its ExpiresAt
	// where Status is Pending, otherwise its CreatedAt.
	BeforeAt time.Time
	BeforeID string
}
