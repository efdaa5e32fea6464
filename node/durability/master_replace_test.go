package durability

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentlink/node"
	"agentlink/node/app"
	"agentlink/node/audit"
	"agentlink/node/config"
	"agentlink/node/nodetest"
	"agentlink/node/seal"
	"agentlink/node/store"
	"agentlink/node/store/storetest"
	"agentlink/policy"
)

// TestReplaceMasterFails makes the n-th call to the database fail while the master key
// is replaced, before it is done and after. Each time one of the two keys at hand opens
// everything, a node does not start with the wrong one, and a second try succeeds.
func TestReplaceMasterFails(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, fresh func(*testing.T) storetest.Database) {
		every := 1
		if strings.HasSuffix(t.Name(), "/postgres") {
			every = 4 // for the time that it takes; the end of the transaction has as many
		}
		for name, late := range map[string]bool{"early": false, "late": true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				k := newKeyed(t, fresh(t).URL)
				waited, calls := 0, 1
				for ; ; calls += every {
					k.wire.arm(calls, late)
					_, err := app.ReplaceMaster(t.Context(), k.settings, k.options)
					fired := k.wire.disarm()
					if err == nil && !fired {
						break
					}
					if err != nil && k.waits() {
						waited++
						k.startsNot()
					}
					_, err = app.ReplaceMaster(t.Context(), k.settings, k.options)
					must(t, err)
					k.isWhole()
				}
				if late && waited == 0 {
					t.Error("no failure left anybody in doubt: the commit was not among them")
				}
				t.Logf("%d calls, every %d. of them failed once; %d times nobody knew how it ended", calls, every, waited)
			})
		}
	})
}

// keyed is a node that does not run.
type keyed struct {
	t        *testing.T
	settings config.Config
	wire     *tripwire
	options  app.Options
}

func newKeyed(t *testing.T, url string) *keyed {
	t.Helper()
	given := map[string]string{config.DataDirName: filepath.Join(t.TempDir(), "data"), config.DatabaseURLName: url, config.ListenName: "localhost:0"}
	if strings.HasPrefix(url, "sqlite:") {
		delete(given, config.DatabaseURLName)
	}
	settings, err := config.Load(func(name string) string { return given[name] })
	must(t, err)
	k := &keyed{t: t, settings: settings, wire: &tripwire{}}
	k.options = app.Options{WrapDatabase: k.wire.wrap}
	_, err = app.Init(t.Context(), settings, app.Setup{OwnerName: "Ada", Password: nodetest.Password, Handle: "scout", Mode: policy.Manual}, k.options)
	must(t, err)
	return k
}

// waits says whether a new key was left waiting.
func (k *keyed) waits() bool {
	_, err := os.Lstat(seal.Successor(k.settings.MasterKeyFile))
	return err == nil
}

func (k *keyed) startsNot() {
	k.t.Helper()
	var refused *app.StartError
	if _, err := app.New(k.t.Context(), k.settings, k.options); !errors.As(err, &refused) || !strings.Contains(err.Error(), "rekey again") {
		k.t.Errorf("a node starts while nobody knows which key is its: %v", err)
	}
}

// isWhole opens everything with the key in its place.
func (k *keyed) isWhole() {
	k.t.Helper()
	if k.waits() {
		k.t.Error("a new key still waits")
	}
	master, err := seal.LoadMaster(k.settings.MasterKeyFile, nil)
	must(k.t, err)
	s, err := store.Open(k.t.Context(), store.Config{URL: k.settings.Database.Reveal(), Box: master.Box()})
	must(k.t, err)
	defer func() { must(k.t, s.Close()) }()
	must(k.t, s.View(k.t.Context(), func(tx node.Tx) error {
		_, err := s.NodeKeys(tx)
		_, err2 := s.Owner(tx)
		report, err3 := audit.Renewed(s, master.Key(seal.UseAudit), master.First().Key(seal.UseAudit)).Verify(tx, true)
		if !report.OK() {
			k.t.Error(report.Problem)
		}
		return errors.Join(err, err2, err3)
	}))
}
