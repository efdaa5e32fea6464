package app

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"agentlink/node"
	"agentlink/node/config"
	"agentlink/node/owner"
	"agentlink/node/seal"
	"agentlink/policy"
)

// Setup is what a new node is made of.
type Setup struct {
	OwnerName string
	Password  string
	// Passphrase protects the master key; empty for none.
	Passphrase []byte
	// Handle names a first agent; "" makes none. Mode "" is assisted.
	Handle string
	Mode   policy.Mode
}

// Made is what came of it.
type Made struct {
	Owner         string     `json:"owner"`
	DataDir       string     `json:"dataDir"`
	Database      string     `json:"database"`
	MasterKeyFile string     `json:"masterKeyFile"`
	Fingerprint   string     `json:"fingerprint"`
	Agent         *MadeAgent `json:"agent,omitempty"`
}

// MadeAgent is the first agent, with its key, which is shown once.
type MadeAgent struct {
	ID     string      `json:"id"`
	Handle string      `json:"handle"`
	Mode   policy.Mode `json:"mode"`
	Key    string      `json:"key"`
}

// Init makes a node. Codes beside StartError: bad_request, conflict where the
// node has an owner already.
func Init(ctx context.Context, settings config.Config, setup Setup, o Options) (made Made, err error) {
	o = o.complete()
	password, err := owner.NewPassword(setup.Password)
	if err != nil {
		return Made{}, err
	}
	f, err := lay(ctx, settings, o, func() (seal.Master, error) { return firstMaster(settings, setup, o) })
	if err != nil {
		return Made{}, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	made = Made{
		DataDir: settings.DataDir, Database: settings.Database.String(),
		MasterKeyFile: settings.MasterKeyFile, Fingerprint: f.identity.Signer.Fingerprint(),
	}
	agents := policy.New(policy.Config{Store: f.store, IDs: o.IDs, Audit: f.audit})
	err = f.store.InTx(ctx, func(tx node.Tx) error {
		actor := node.Actor{Kind: node.ActorOwner, Via: "init"}
		person, err := f.owner.Create(tx, actor, setup.OwnerName, password)
		if err != nil {
			return err
		}
		made.Owner, actor.OwnerID = person.Name, person.ID
		made.Agent, err = firstAgent(tx, agents, actor, setup)
		return err
	})
	return made, err
}

// firstMaster makes the master key; one that is there already is used, so that an
// init which was cut off can be repeated.
func firstMaster(settings config.Config, setup Setup, o Options) (seal.Master, error) {
	_, err := os.Stat(settings.MasterKeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		return seal.CreateMaster(settings.MasterKeyFile, setup.Passphrase)
	}
	return loadMaster(settings, o)
}

// masterToServe makes the master key of a new node, without a passphrase unless a
// file holds one. made tells the caller to take it back where the node does not
// start: a database that is there already needs the key that it was made with.
func masterToServe(settings config.Config, o Options) (master seal.Master, made bool, err error) {
	_, err = os.Stat(settings.MasterKeyFile)
	if !errors.Is(err, fs.ErrNotExist) || !mayBeNew(settings) {
		master, err = loadMaster(settings, o)
		return master, false, err
	}
	var passphrase []byte
	if file := settings.MasterPassphrase(); file != nil {
		if passphrase, err = file(); err != nil {
			return seal.Master{}, false, err
		}
	}
	master, err = seal.CreateMaster(settings.MasterKeyFile, passphrase)
	return master, err == nil, err
}

// mayBeNew says whether the database may have no node's data in it. A server has
// to be asked, and is: another node's does not open.
func mayBeNew(settings config.Config) bool {
	path, isFile := settings.Database.Path()
	if !isFile {
		return true
	}
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

func loadMaster(settings config.Config, o Options) (seal.Master, error) {
	if err := refuseCutOff(settings.MasterKeyFile); err != nil {
		return seal.Master{}, err
	}
	return seal.LoadMaster(settings.MasterKeyFile, passphraseOf(settings, o))
}

func firstAgent(tx node.Tx, agents *policy.Service, actor node.Actor, setup Setup) (*MadeAgent, error) {
	if setup.Handle == "" {
		return nil, nil
	}
	agent, key, err := agents.CreateAgent(tx, actor, policy.NewAgent{Handle: setup.Handle, Mode: setup.Mode})
	if err != nil {
		return nil, err
	}
	return &MadeAgent{ID: agent.ID, Handle: agent.Handle, Mode: agent.Mode, Key: key}, nil
}
