package app

import (
	"context"
	"errors"
	"io"

	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/backup"
	"agentlink/node/config"
	"agentlink/node/seal"
)

// Backup writes a copy of a node that does not run. Errors are a StartError where
// the node cannot be opened.
func Backup(ctx context.Context, settings config.Config, o Options, w io.Writer) (report backup.Report, err error) {
	o = o.complete()
	f, err := layStopped(ctx, settings, o)
	if err != nil {
		return backup.Report{}, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	return f.backup(ctx, settings, o, w)
}

// BackedUp notes in the log of a node that does not run that a backup is safe on
// its disk.
func BackedUp(ctx context.Context, settings config.Config, o Options, report backup.Report) (err error) {
	o = o.complete()
	f, err := layStopped(ctx, settings, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	return f.store.InTx(ctx, func(tx node.Tx) error {
		person, err := f.owner.Owner(tx)
		if err != nil {
			return err
		}
		return f.audit.Append(tx, audit.BackedUp(node.Actor{Kind: node.ActorOwner, OwnerID: person.ID, Via: "backup"}, report.MadeAt, report.AuditRows, report.SHA256))
	})
}

// layStopped opens what is there and makes nothing.
func layStopped(ctx context.Context, settings config.Config, o Options) (*foundation, error) {
	return lay(ctx, settings, o, func() (seal.Master, error) { return loadMaster(settings, o) })
}

// backup writes one unchanging state of the database. A second try would write
// behind the first one's bytes, so there is none.
func (f *foundation) backup(ctx context.Context, settings config.Config, o Options, w io.Writer) (report backup.Report, err error) {
	tried := false
	err = f.store.View(ctx, func(tx node.Tx) error {
		if tried {
			return node.Errorf(node.Unavailable, "The database was busy. Try again.")
		}
		tried = true
		head, err := f.backupHead(tx, settings, o)
		if err != nil {
			return err
		}
		report, err = backup.Write(tx, f.store, head, w)
		return err
	})
	return report, err
}

func (f *foundation) backupHead(tx node.Tx, settings config.Config, o Options) (head backup.Head, err error) {
	head = backup.Head{Version: o.Version, Fingerprint: f.identity.Signer.Fingerprint(), MadeAt: tx.Now().UTC()}
	if head.Schema, err = f.store.SchemaVersion(tx); err != nil {
		return head, err
	}
	restored, err := lastRestore(tx, f.store)
	if err != nil {
		return head, err
	}
	if head.Epoch, err = f.epoch(settings, restored); err != nil {
		return head, err
	}
	last, err := f.store.AuditHead(tx)
	head.AuditRows, head.AuditHash = last.Position, last.Hash
	return head, err
}

// backup is that of the running node.
func (n *Node) backup(ctx context.Context, w io.Writer) (backup.Report, error) {
	return n.foundation.backup(ctx, n.settings, n.options, w)
}
