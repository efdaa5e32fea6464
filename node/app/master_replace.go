package app

import (
	"context"
	"errors"
	"sync"

	"agentlink/approvals"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/config"
	"agentlink/node/seal"
	"agentlink/node/store"
)

// MasterReplaced is what came of replacing the master key.
type MasterReplaced struct {
	MasterKeyFile string `json:"masterKeyFile"`
	// Finished is true where an earlier replacement had been cut off, whose key was put
	// in its place; its values are not counted again.
	Finished bool `json:"finished"`
	store.Resealed
}

// ReplaceMaster gives a node that does not run a new master key: every value is sealed
// anew, and every row whose state matters gets a new MAC, in one transaction. The new
// key waits beside the old one until that is done, and then takes its place. What is cut
// off keeps the node from starting until ReplaceMaster is called again. Errors: a
// StartError, or conflict where another process uses the database or the log is not
// whole.
func ReplaceMaster(ctx context.Context, settings config.Config, o Options) (MasterReplaced, error) {
	r := &replacing{settings: settings, options: o.complete(), done: MasterReplaced{MasterKeyFile: settings.MasterKeyFile}}
	if ask := passphraseOf(settings, o); ask != nil {
		r.passphrase = sync.OnceValues(ask)
	}
	waits, err := seal.HasSuccessor(settings.MasterKeyFile)
	if err != nil {
		return r.done, cannotStart(err)
	}
	if waits {
		if r.done.Finished, err = r.wasSealed(ctx); err != nil {
			return r.done, err
		}
	}
	if !r.done.Finished {
		if err := r.replace(ctx); err != nil {
			return r.done, err
		}
	}
	return r.done, r.settle(ctx)
}

// replacing is one replacement under way.
type replacing struct {
	settings   config.Config
	options    Options
	passphrase func() ([]byte, error) // asks once; nil for nobody to ask
	done       MasterReplaced
}

// wasSealed says whether everything is sealed with the key that waits. Where it is
// sealed with the one before, the one that waits is removed.
func (r *replacing) wasSealed(ctx context.Context) (bool, error) {
	if f, err := r.lay(ctx, seal.Successor(r.settings.MasterKeyFile)); err == nil {
		return true, f.close()
	}
	f, err := r.lay(ctx, r.settings.MasterKeyFile)
	if err != nil {
		return false, err
	}
	// Read again with nobody else there: the transaction that was cut off might have
	// been about to end.
	err = f.store.InTx(ctx, func(tx node.Tx) error {
		if err := f.store.Sole(tx); err != nil {
			return err
		}
		_, err := f.store.NodeKeys(tx)
		return err
	})
	if err == nil {
		err = cannotStart(seal.DropSuccessor(r.settings.MasterKeyFile))
	}
	return false, errors.Join(err, f.close())
}

func (r *replacing) lay(ctx context.Context, path string) (*foundation, error) {
	return lay(ctx, r.settings, r.options, func() (seal.Master, error) { return seal.LoadMaster(path, r.passphrase) })
}

// replace does all of it but putting the key in its place. Where it is certain that
// nothing was changed, the new key is removed again.
func (r *replacing) replace(ctx context.Context) (err error) {
	var next seal.Master
	made, changed := false, false
	defer func() {
		if err != nil && made && !changed {
			err = errors.Join(err, cannotStart(seal.DropSuccessor(r.settings.MasterKeyFile)))
		}
	}()
	f, err := lay(ctx, r.settings, r.options, func() (present seal.Master, err error) {
		present, next, err = seal.CreateSuccessor(r.settings.MasterKeyFile, r.passphrase)
		made = err == nil
		return present, err
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	return f.store.InTx(ctx, func(tx node.Tx) error {
		r.done.Resealed, err = f.reseal(tx, next)
		changed = err == nil // from here on a failure may be one of which nobody knows how it ended
		return err
	})
}

// reseal seals everything with the next master key.
func (f *foundation) reseal(tx node.Tx, next seal.Master) (done store.Resealed, err error) {
	if err := f.store.Sole(tx); err != nil {
		return done, err
	}
	person, err := f.owner.Owner(tx)
	if err != nil {
		return done, err
	}
	if err := f.wholeLog(tx); err != nil {
		return done, err
	}
	renewed := approvals.New(approvals.Config{Store: f.store, MACKey: next.Key(seal.UseRowMAC)})
	if err := renewed.Renew(tx, f.master.Key(seal.UseRowMAC)); err != nil {
		return done, err
	}
	if done, err = f.store.Reseal(tx, next.Box()); err != nil {
		return done, err
	}
	// Without data: that would be sealed as this store seals, with the key from before.
	return done, newLog(f.store, next).Append(tx, audit.Event{
		Type: audit.NodeMasterReplaced, Actor: node.Actor{Kind: node.ActorOwner, OwnerID: person.ID, Via: "rekey"},
	})
}

// wholeLog refuses a log that is not whole: a new head would cover what was done to it.
func (f *foundation) wholeLog(tx node.Tx) error {
	report, err := f.audit.Verify(tx, false)
	if err != nil || report.OK() {
		return err
	}
	return node.Errorf(node.Conflict, "The audit log is not whole: %s. Nothing was replaced.", report.Problem)
}

// settle puts the new key in its place, and removes what the database's files still
// hold of former values.
func (r *replacing) settle(ctx context.Context) (err error) {
	if err := seal.SettleSuccessor(r.settings.MasterKeyFile); err != nil {
		return cannotStart(err)
	}
	f, err := r.lay(ctx, r.settings.MasterKeyFile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	return cannotStart(plainly(f.store.Rewrite(ctx),
		"the master key is replaced, but the database's files may still hold values under the one before: make room on the disk, and replace it once more"))
}

// passphraseOf is nil where nobody can be asked.
func passphraseOf(settings config.Config, o Options) func() ([]byte, error) {
	if file := settings.MasterPassphrase(); file != nil {
		return file
	}
	return o.Passphrase
}

// refuseCutOff keeps a node from starting while a new master key waits: the database
// may be sealed with it.
func refuseCutOff(path string) error {
	waits, err := seal.HasSuccessor(path)
	if err == nil && waits {
		err = errors.New("replacing the master key was cut off: run agentlink rekey again")
	}
	return err
}
