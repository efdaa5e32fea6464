package app

import (
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"agentlink/actions"
	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/dashboard"
	"agentlink/node/api/agent"
	"agentlink/node/api/peer"
	"agentlink/node/api/socket"
	"agentlink/node/config"
	"agentlink/node/delivery"
	"agentlink/node/oauth"
	"agentlink/node/owner"
	"agentlink/node/seal"
	"agentlink/node/token"
	"agentlink/policy"
	"agentlink/policy/engine"
)

// Node is a running node, or one about to run.
type Node struct {
	settings config.Config
	options  Options
	log      *slog.Logger
	started  time.Time
	*foundation

	listeners listeners
	setUp     atomic.Bool // the node was seen to have an owner
	// restored is the last restore, restoreEpoch what approvals are bound to.
	restored     Restored
	restoreEpoch int64
	// ownerActed wakes what the owner may have set free.
	ownerActed bell
	// deliverable wakes one deliverer.
	deliverable bell

	engine       *engine.Engine
	policy       *policy.Service
	approvals    *approvals.Service
	coordination *coordination.Service
	actions      *actions.Service
	access       *owner.Access
	client       *delivery.Client
	directory    *delivery.Directory
	inbox        *peer.Inbox
	worker       *delivery.Worker
	strangers    *delivery.Strangers
	tokens       *token.Tokens
	api          *agent.API
	oauth        *oauth.Service
	socket       *socket.Server
	dashboard    *dashboard.Dashboard
}

// New opens everything that a node needs and listens, but serves nobody yet.
// What keeps it from starting is a StartError.
func New(ctx context.Context, settings config.Config, options Options) (n *Node, err error) {
	o := options.complete()
	f, err := layToServe(ctx, settings, o)
	if err != nil {
		return nil, err
	}
	n = &Node{settings: settings, options: o, log: o.Log, foundation: f, started: o.Clock.Now(), ownerActed: newBell(), deliverable: newBell()}
	defer func() {
		if err != nil {
			err = cannotStart(errors.Join(err, n.Close()))
			n = nil
		}
	}()
	// The real ports are known from here on, and so the node's own address.
	if n.listeners, err = listen(&n.settings, o); err != nil {
		return n, err
	}
	return n, n.wire()
}

// layToServe also makes the master key of a new node.
func layToServe(ctx context.Context, settings config.Config, o Options) (*foundation, error) {
	made := false
	f, err := lay(ctx, settings, o, func() (master seal.Master, err error) {
		master, made, err = masterToServe(settings, o)
		return master, err
	})
	if err != nil && made {
		err = cannotStart(errors.Join(err, os.Remove(settings.MasterKeyFile)))
	}
	return f, err
}

// Close gives up what New has taken. Serve does so by itself.
func (n *Node) Close() error {
	return errors.Join(n.listeners.close(), n.foundation.close())
}

// Info describes the node as it runs.
func (n *Node) Info() socket.Info {
	database := "sqlite"
	if n.settings.Database.Postgres() {
		database = "postgres"
	}
	return socket.Info{
		Version: n.options.Version, PID: os.Getpid(), StartedAt: n.started, Host: n.settings.Host(),
		Fingerprint: n.identity.Signer.Fingerprint(),
		PublicKey:   base64.RawURLEncoding.EncodeToString(n.identity.Signer.PublicKey()),
		AgentsURL:   n.settings.LocalURL(), PeersURL: n.settings.URL(), Database: database, DataDir: n.settings.DataDir,
	}
}
