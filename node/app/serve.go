package app

import (
	"context"
	"errors"
	"sync"
	"time"

	"agentlink/node"
	"agentlink/node/api/socket"
	"agentlink/node/audit"
)

// A node stops in order: nobody new is let in, what runs may end, what waits is
// cut short, and after stopTime whatever is left is dropped as in a crash.
const (
	graceTime = 2 * time.Second
	stopTime  = 9 * time.Second
)

// Serve runs the node until ctx ends, and closes it. ready is called once when
// it can be used.
func (n *Node) Serve(ctx context.Context, ready func(socket.Info)) (err error) {
	defer func() { err = errors.Join(err, n.Close()) }()
	requests, endRequests := context.WithCancel(context.Background())
	defer endRequests()
	servers, err := n.servers(requests)
	if err != nil {
		return cannotStart(err)
	}
	if err := n.recordStart(ctx); err != nil {
		return err
	}
	link, needsSetUp, err := n.access.SetUpLink(ctx)
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	failed := make(chan error, len(servers))
	for _, s := range servers {
		running.Go(func() { failed <- s.serve() })
	}
	work, endWork := context.WithCancel(ctx)
	defer endWork()
	n.startLoops(work, &running)
	n.log.Info("ready", "agents", n.settings.LocalURL(), "peers", n.settings.URL(), "database", n.settings.Database)
	ready(n.Info())
	if needsSetUp {
		n.options.SetUp(link.URL)
	}

	select {
	case <-ctx.Done():
	case err = <-failed:
		n.log.Error("a listener failed", "error", err)
	}
	n.log.Info("stopping")
	endWork()
	n.stop(servers, endRequests)
	running.Wait()
	return err
}

func (n *Node) recordStart(ctx context.Context) error {
	return n.store.InTx(ctx, func(tx node.Tx) error {
		person, err := n.owner.Owner(tx)
		if err != nil && node.CodeOf(err) != node.NotFound { // there is none before the set-up
			return err
		}
		// The lock of the data folder says that nobody else sends from this file. A
		// server of databases may have other replicas, whose leases stay theirs.
		if !n.settings.Database.Postgres() {
			if err := n.store.ReleaseOutbox(tx); err != nil {
				return err
			}
		}
		return n.audit.Append(tx, audit.Event{
			Type: audit.NodeStarted, Actor: node.Actor{Kind: node.ActorNode, OwnerID: person.ID},
			Data: map[string]any{"version": n.options.Version},
		})
	})
}

// stop shuts the servers down together.
func (n *Node) stop(servers []served, endRequests func()) {
	grace := time.AfterFunc(graceTime, endRequests)
	defer grace.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	var stopping sync.WaitGroup
	for _, s := range servers {
		stopping.Go(func() {
			if err := s.server.Shutdown(ctx); err != nil {
				n.log.Warn("requests were cut off", "listener", s.name, "error", err)
				_ = s.server.Close() // what is left of it is dropped
			}
		})
	}
	stopping.Wait()
}
