package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/backup"
	"agentlink/node/config"
	"agentlink/node/owner"
	"agentlink/node/seal"
	"agentlink/node/store"
	"agentlink/policy"
)

// RestoreReport is what came of a restore, or of a look at an archive.
type RestoreReport struct {
	backup.Report
	DataDir string `json:"dataDir,omitempty"` // absent where an archive was only verified
	// NewEpoch is what approvals are bound to from now on.
	NewEpoch int64 `json:"newEpoch,omitempty"`
	// Values counts the sealed values that were opened.
	Values int64 `json:"valuesOpened"`
	// LostRuns counts runs of which nobody knows how they ended.
	LostRuns int `json:"lostRuns"`
}

// restoring is one restore under way.
type restoring struct {
	settings config.Config // of the database that is filled
	options  Options
	master   seal.Master
	floor    int64 // the epoch beside the master key that was given
	*foundation
	report RestoreReport
}

// Restore fills the empty data folder of settings, and the empty database that
// they name, from the content of an archive. The master key is read from
// settings.MasterKeyFile and copied into the folder. What is cut off leaves a
// folder that no node starts in, and that another Restore takes. Errors: a
// StartError, or bad_request for what is no whole archive of that key.
func Restore(ctx context.Context, settings config.Config, o Options, archive io.Reader) (RestoreReport, error) {
	r, key, err := newRestoring(settings, o.complete())
	if err != nil {
		return RestoreReport{}, err
	}
	p, err := takePlace(settings)
	if err != nil {
		return RestoreReport{}, cannotStart(err)
	}
	defer func() { _ = p.lock.release() }()
	if !settings.Database.Postgres() {
		r.settings.Database = config.DatabaseURL("sqlite:" + p.staged(databaseFile))
	}
	if err := r.fill(ctx, archive); err != nil {
		return RestoreReport{}, errors.Join(err, p.giveUp())
	}
	if err := p.settle(key, r.report.NewEpoch); err != nil {
		return RestoreReport{}, cannotStart(err)
	}
	r.report.DataDir = settings.DataDir
	return r.report, nil
}

// VerifyBackup does all that Restore does, in a folder for temporary files that it
// removes, and so writes nothing that stays.
func VerifyBackup(ctx context.Context, settings config.Config, o Options, archive io.Reader) (report RestoreReport, err error) {
	r, _, err := newRestoring(settings, o.complete())
	if err != nil {
		return RestoreReport{}, err
	}
	folder, err := os.MkdirTemp("", "agentlink-verify-")
	if err != nil {
		return RestoreReport{}, cannotStart(fmt.Errorf("no folder for temporary files: %w", err))
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	r.settings.Database = config.DatabaseURL("sqlite:" + filepath.Join(folder, databaseFile))
	if err := r.fill(ctx, archive); err != nil {
		return RestoreReport{}, err
	}
	r.report.NewEpoch = 0
	return r.report, nil
}

func newRestoring(settings config.Config, o Options) (*restoring, []byte, error) {
	key, err := seal.ReadPrivate(settings.MasterKeyFile, "master key")
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("%w: name your copy of it with --master-key-file", err)
	}
	if err != nil {
		return nil, nil, cannotStart(err)
	}
	master, err := loadMaster(settings, o)
	if err != nil {
		return nil, nil, cannotStart(err)
	}
	floor, err := readEpoch(settings)
	return &restoring{settings: settings, options: o, master: master, floor: floor}, key, cannotStart(err)
}

// fill loads, checks, and draws the consequences. Of a server's database it leaves
// nothing where that fails.
func (r *restoring) fill(ctx context.Context, archive io.Reader) (err error) {
	s, err := store.Open(ctx, store.Config{
		URL: r.settings.Database.Reveal(), Box: r.master.Box(), Clock: r.options.Clock, Wrap: r.options.WrapDatabase,
	})
	if err != nil {
		return cannotStart(plainly(err, fmt.Sprintf("the database %s cannot be reached (%s)", r.settings.Database, config.DatabaseURLName)))
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	r.foundation = &foundation{master: r.master, store: s, audit: newLog(s, r.master)}
	r.owner = owner.New(s, s, r.audit, r.options.IDs)
	l := &loading{restoring: r}
	if r.report.Report, err = backup.Read(archive, l.in(ctx)); err == nil {
		err = l.commit()
	}
	if err != nil {
		return errors.Join(err, l.abandon())
	}
	if err = plainly(s.Migrate(ctx), "the restored database cannot be brought up to date"); err == nil {
		err = s.InTx(ctx, r.conclude)
	}
	if err != nil {
		err = errors.Join(err, s.MigrateDown(context.WithoutCancel(ctx), 0))
	}
	return err
}

// conclude checks what was loaded and does what a restore means, in one step.
func (r *restoring) conclude(tx node.Tx) error {
	r.report.Values, r.report.LostRuns = 0, 0 // of a try before
	if err := r.check(tx); err != nil {
		return err
	}
	person, err := r.owner.Owner(tx)
	if err != nil {
		return err
	}
	actor := node.Actor{Kind: node.ActorOwner, OwnerID: person.ID, Via: "restore"}
	r.report.NewEpoch = max(r.report.Epoch, r.floor) + 1
	restored := Restored{Epoch: r.report.NewEpoch, At: tx.Now().UTC(), BackupFrom: r.report.MadeAt, Whole: true}
	if err := r.loseRuns(tx); err != nil {
		return err
	}
	if err := r.services().Restored(tx); err != nil {
		return err
	}
	if err := errors.Join(r.store.EndTokens(tx), r.store.ReleaseOutbox(tx), setRestored(tx, r.store, restored)); err != nil {
		return err
	}
	return r.audit.Append(tx, audit.Event{Type: audit.NodeRestored, Actor: actor, Data: map[string]any{
		"epoch": restored.Epoch, "backupFrom": restored.BackupFrom.Format(timeFormat), "auditRows": r.report.AuditRows,
		"sha256": r.report.SHA256, "lostRuns": r.report.LostRuns,
	}})
}

const timeFormat = "2006-01-02T15:04:05Z07:00"

func (r *restoring) loseRuns(tx node.Tx) error {
	lost, err := r.store.LoseRuns(tx)
	r.report.LostRuns = len(lost)
	for _, run := range lost {
		if err != nil {
			break
		}
		err = r.audit.Append(tx, audit.Event{
			Type: audit.ActionUnknown, Actor: node.Actor{Kind: node.ActorNode, OwnerID: run.OwnerID, AgentID: run.AgentID},
			AgentID: run.AgentID, TaskUID: run.TaskUID, Subject: run.ID,
			Data: map[string]any{"action": run.Action, "approvalId": run.ApprovalID, "outcome": run.Outcome(), "reason": run.Reason},
		})
	}
	return err
}

// services are as far as a restore needs them: nobody is asked, nothing is sent.
func (r *restoring) services() *coordination.Service {
	return coordination.New(coordination.Config{
		Store: r.store, DB: r.store, Clock: r.options.Clock, IDs: r.options.IDs, Audit: r.audit, Outbox: r.store,
		Approvals: r.approvals(r.report.NewEpoch),
		Agents:    policy.New(policy.Config{Store: r.store, IDs: r.options.IDs, Audit: r.audit}),
	})
}

func (r *restoring) approvals(epoch int64) *approvals.Service {
	return approvals.New(approvals.Config{
		Store: r.store, DB: r.store, IDs: r.options.IDs, Audit: r.audit, TTL: r.settings.ApprovalTTL, Epoch: epoch,
		HashKey: r.master.First().Key(seal.UseApproval), MACKey: r.master.Key(seal.UseRowMAC),
	})
}

// identify says whether the archive is of the node that its head names, and of
// this master key.
func (r *restoring) identify(tx node.Tx) error {
	keys, err := r.store.NodeKeys(tx)
	if err != nil {
		if node.CodeOf(err) == node.NotFound {
			return node.Errorf(node.BadRequest, "The backup holds no node.")
		}
		return node.Errorf(node.BadRequest, "The backup was made with another master key than %s.", r.settings.MasterKeyFile)
	}
	fingerprint, err := keys.Fingerprint()
	if err == nil && fingerprint != r.report.Fingerprint {
		return node.Errorf(node.BadRequest, "The backup holds another node than it says.")
	}
	return err
}
