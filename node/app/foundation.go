package app

import (
	"context"
	"errors"
	"fmt"

	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/config"
	"agentlink/node/identity"
	"agentlink/node/owner"
	"agentlink/node/seal"
	"agentlink/node/store"
)

// foundation is what init and serve both stand on: the locked folder, the keys,
// the migrated database.
type foundation struct {
	lock     *lock
	master   seal.Master
	store    *store.Store
	audit    *audit.Log
	identity *identity.Identity
	owner    *owner.Service
}

// lay checks the settings and opens what they name. Every error is a StartError.
func lay(ctx context.Context, settings config.Config, o Options, master func() (seal.Master, error)) (f *foundation, err error) {
	if err := settings.Check(); err != nil {
		return nil, cannotStart(err)
	}
	if err := settings.MakeDataDir(); err != nil {
		return nil, cannotStart(err)
	}
	f = &foundation{}
	defer func() {
		if err != nil {
			err = cannotStart(errors.Join(err, f.close()))
			f = nil
		}
	}()
	if f.lock, err = lockFolder(settings.DataDir); err != nil {
		return f, err
	}
	if err := refuseHalf(settings.DataDir); err != nil {
		return f, err
	}
	if f.master, err = master(); err != nil {
		return f, err
	}
	if err := f.openStore(ctx, settings, o); err != nil {
		return f, err
	}
	f.audit = newLog(f.store, f.master)
	f.owner = owner.New(f.store, f.store, f.audit, o.IDs)
	f.identity, err = identity.LoadOrCreate(ctx, f.store, f.store, o.IDs)
	return f, plainly(err, "the node's identity cannot be read: the database may be another node's, or the master key")
}

// newLog makes the audit log. What contacts keep of its head stays under the key of the
// first master key.
func newLog(s *store.Store, master seal.Master) *audit.Log {
	return audit.Renewed(s, master.Key(seal.UseAudit), master.First().Key(seal.UseAudit))
}

func (f *foundation) openStore(ctx context.Context, settings config.Config, o Options) (err error) {
	box := f.master.Box()
	f.store, err = store.Open(ctx, store.Config{URL: settings.Database.Reveal(), Box: box, Clock: o.Clock, Wrap: o.WrapDatabase})
	if err != nil {
		f.store = nil
		return plainly(err, fmt.Sprintf("the database %s cannot be reached (%s)", settings.Database, config.DatabaseURLName))
	}
	return plainly(f.store.Migrate(ctx), fmt.Sprintf("the database %s cannot be brought up to date", settings.Database))
}

// plainly puts a sentence before the message of an error, without its cause,
// which may quote a password.
func plainly(err error, sentence string) error {
	if err == nil {
		return nil
	}
	if e, ok := node.AsError(err); ok && e.Message != "" && e.Code != node.Internal {
		return fmt.Errorf("%s: %s", sentence, e.Message)
	}
	return errors.New(sentence)
}

func (f *foundation) close() error {
	var err error
	if f.store != nil {
		err = f.store.Close()
	}
	if f.lock != nil {
		err = errors.Join(err, f.lock.release())
	}
	return err
}
