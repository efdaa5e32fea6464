package actions

import (
	"time"

	"agentlink/node"
)

// Store keeps runs. What is not there is node.NotFound.
type Store interface {
	// InsertRun writes a new run. fresh is false, and nothing is written, where its
	// approval was used by another run or its agent used its key before.
	InsertRun(tx node.Tx, r Run) (fresh bool, err error)
	Run(tx node.Tx, id string) (Run, error)
	// RunByKey finds the run that an agent's key stands for.
	RunByKey(tx node.Tx, agentID, key string) (Run, error)
	RunByApproval(tx node.Tx, approvalID string) (Run, error)
	// LastRun finds the latest run of a task's action that has written something or
	// may have: one that has not failed.
	LastRun(tx node.Tx, agentID, taskUID, action string) (Run, error)
	// SaveRun writes state, reason, result, confirmation, receipt, times and
	// Settled. held is false, and nothing is written, where the run's state is not
	// the one given as from or its lease is another's.
	SaveRun(tx node.Tx, r Run, from State) (held bool, err error)
	// LostRun says whether ClaimRun would find one. It writes nothing.
	LostRun(tx node.Tx) (bool, error)
	// ClaimRun leases the run that has waited longest among those that are not
	// settled and whose lease is over. ok is false where there is none.
	ClaimRun(tx node.Tx, token string, until time.Time) (r Run, ok bool, err error)
}
