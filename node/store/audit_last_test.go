package store_test

import (
	"context"
	"testing"
	"time"

	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/store/storetest"
)

// TestHeadIsLockedLast: a transaction that has appended and is not done yet
// keeps no other from the log, and its row comes after theirs.
func TestHeadIsLockedLast(t *testing.T) {
	t.Parallel()
	s := storetest.OpenPostgres(t)
	log := audit.New(s, []byte("key"))
	inTx(t, s, func(tx node.Tx) error {
		if err := log.Append(tx, audit.Event{Type: audit.TaskStarted, Actor: node.Actor{Kind: node.ActorAgent}}); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		return s.InTx(ctx, func(other node.Tx) error {
			return log.Append(other, audit.Event{Type: audit.TaskAgreed, Actor: node.Actor{Kind: node.ActorAgent}})
		})
	})
	inTx(t, s, func(tx node.Tx) error {
		rows, err := s.AuditRows(tx, audit.Filter{})
		if len(rows) != 2 || rows[0].Type != audit.TaskAgreed || rows[1].Type != audit.TaskStarted {
			t.Errorf("the log is %+v", rows)
		}
		report, err2 := log.Verify(tx, true)
		if !report.OK() {
			t.Errorf("verify gives %+v", report)
		}
		if err == nil {
			err = err2
		}
		return err
	})
}
