package node

import (
	"context"
	"time"
)

// Tx is an open transaction, passed as a value to whatever takes part in it.
// Only node/store looks inside.
type Tx interface {
	// Now is the one time of this transaction.
	Now() time.Time
	// OnCommit registers what is to happen once the transaction is durable.
	// It is skipped when the transaction rolls back.
	OnCommit(func())
	// Context is the context that the transaction was opened with.
	Context() context.Context
}

// DB opens transactions.
type DB interface {
	// InTx commits when f returns nil and rolls back otherwise. A refusal, a
	// hold and a rejected peer message are therefore values of f, never errors:
	// an error would roll back their own decision and audit row. f may run more
	// than once, after a serialization failure or a deadlock. Rows are locked in one
	// order: connection, agent, task, approval, run, message and outbox item; the
	// audit log's head comes last by itself (docs/adr/0011).
	InTx(ctx context.Context, f func(Tx) error) error
	// View is a transaction that only reads.
	View(ctx context.Context, f func(Tx) error) error
}
