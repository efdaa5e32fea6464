package app

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"agentlink/node"
	"agentlink/node/backup"
)

// loading is the transaction that an archive is loaded in. It runs beside the
// reader, which hands it one piece at a time.
type loading struct {
	*restoring
	ctx    context.Context
	pieces chan func(node.Tx) error
	done   chan error // of the transaction
	begun  bool
	ended  bool
	result error

	table   string
	columns []string
}

// in begins a load; commit or abandon has to end it.
func (l *loading) in(ctx context.Context) backup.Target {
	l.ctx = ctx
	return l
}

var errAbandoned = errors.New("the restore was given up")

// Begin implements backup.Target: it makes the tables of the archive's time.
func (l *loading) Begin(head backup.Head) error {
	l.report.Head = head
	if err := l.store.MigrateTo(l.ctx, head.Schema); err != nil {
		return err
	}
	l.pieces, l.done = make(chan func(node.Tx) error), make(chan error, 1)
	go func() { l.done <- l.store.InTx(l.ctx, l.follow) }()
	return l.do(l.store.ClearForLoad)
}

// follow runs the pieces until there are no more. A transaction that the database
// wants to run again cannot be: its pieces are gone.
func (l *loading) follow(tx node.Tx) error {
	if l.begun {
		return node.Errorf(node.Unavailable, "The database was busy. Try again.")
	}
	l.begun = true
	for piece := range l.pieces {
		if err := piece(tx); err != nil {
			return err
		}
	}
	if !l.ended {
		return errAbandoned
	}
	return nil
}

// do hands over a piece and waits until it is done.
func (l *loading) do(piece func(node.Tx) error) error {
	if l.result != nil {
		return l.result
	}
	told := make(chan error, 1)
	select {
	case l.pieces <- func(tx node.Tx) error { err := piece(tx); told <- err; return err }:
		return <-told
	case l.result = <-l.done:
		if l.result == nil {
			l.result = errAbandoned
		}
		l.done <- l.result
		return l.result
	}
}

// Table implements backup.Target.
func (l *loading) Table(name string, columns []string) error {
	return l.do(func(tx node.Tx) error {
		known, err := l.store.Columns(tx, name)
		if err != nil {
			return err
		}
		if !slices.Equal(known, columns) {
			return node.Errorf(node.BadRequest, "This is not a whole AgentLink backup: a table has other columns than its schema.")
		}
		l.table, l.columns = name, columns
		return nil
	})
}

// Row implements backup.Target.
func (l *loading) Row(row []any) error {
	return l.do(func(tx node.Tx) error {
		if err := l.store.Load(tx, l.table, l.columns, row); err != nil {
			return fmt.Errorf("load a row of %s: %w", l.table, notLoaded(err))
		}
		return nil
	})
}

// notLoaded tells a row that the database does not take from a database that is away.
func notLoaded(err error) error {
	if node.CodeOf(err) == node.Unavailable {
		return err
	}
	return &node.Error{Code: node.BadRequest, Message: "This is not a whole AgentLink backup: a row does not fit the database.", Err: err}
}

// commit keeps what was loaded, if it is of this master key, and notes that the
// rest is still to be done.
func (l *loading) commit() error {
	err := l.do(func(tx node.Tx) error {
		if err := l.identify(tx); err != nil {
			return err
		}
		epoch := max(l.report.Epoch, l.floor) + 1
		return setRestored(tx, l.store, Restored{Epoch: epoch, At: tx.Now().UTC(), BackupFrom: l.report.MadeAt})
	})
	if err != nil {
		return err
	}
	l.ended = true
	return l.end()
}

// abandon ends a load that was not committed. It may be called after that too.
func (l *loading) abandon() error {
	if l.pieces == nil {
		return nil
	}
	_ = l.end() // it fails: that is what abandon wants
	return nil
}

func (l *loading) end() error {
	if l.pieces == nil {
		return l.result
	}
	close(l.pieces)
	l.pieces = nil
	l.result = <-l.done
	return l.result
}
