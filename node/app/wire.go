package app

import (
	"math/rand/v2"
	"os"

	"agentlink/actions"
	"agentlink/actions/executor/calendar"
	"agentlink/actions/executor/reservation"
	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/node/api/agent"
	"agentlink/node/api/peer"
	"agentlink/node/api/socket"
	"agentlink/node/delivery"
	"agentlink/node/owner"
	"agentlink/node/seal"
	"agentlink/node/token"
	"agentlink/policy"
	"agentlink/policy/engine"
)

// wire makes the services, each on top of those before it.
func (n *Node) wire() error {
	if err := n.wireAccess(); err != nil {
		return err
	}
	if err := n.wireRules(); err != nil {
		return err
	}
	n.wireFederation()
	n.wireCoordination()
	n.wireActions()
	n.wireDelivery()
	n.wireAgents()
	n.wireOAuth()
	n.wireSocket()
	n.wireDashboard()
	return nil
}

func (n *Node) wireAccess() (err error) {
	n.access, err = owner.NewAccess(owner.AccessConfig{
		DB: n.store, Store: n.store, Owner: n.owner, Audit: n.audit, IDs: n.options.IDs,
		Key: n.master.Key(seal.UseSessions), Fingerprint: n.identity.First(), Origins: n.settings.DashboardOrigins(),
	})
	return err
}

func (n *Node) wireRules() (err error) {
	n.engine, err = engine.New(engine.Config{Store: n.store, IDs: n.options.IDs, Audit: n.audit, Log: n.log})
	if err != nil {
		return err
	}
	n.policy = policy.New(policy.Config{Store: n.store, IDs: n.options.IDs, Audit: n.audit, Decider: n.engine, Imaginer: n.engine})
	if err := n.readRestore(); err != nil {
		return err
	}
	n.approvals = approvals.New(approvals.Config{
		Store: n.store, DB: n.store, IDs: n.options.IDs, Audit: n.audit,
		HashKey: n.master.First().Key(seal.UseApproval), MACKey: n.master.Key(seal.UseRowMAC),
		TTL: n.settings.ApprovalTTL, Epoch: n.restoreEpoch,
	})
	return nil
}

// self is what the node tells peers of itself.
func (n *Node) self() coordination.Self {
	return coordination.Self{
		Host: n.settings.Host(), Fingerprint: n.identity.Signer.Fingerprint(),
		Recipient: n.identity.Recipient(), Inbox: n.settings.InboxURL(),
	}
}

// wireFederation makes the way out: the client that filters addresses, and the
// look-up of nodes by their cards.
func (n *Node) wireFederation() {
	n.client = delivery.NewClient(delivery.ClientConfig{
		Reach:      delivery.Reach{Loopback: n.settings.LoopbackOnly(), Networks: n.settings.AllowPeerNetworks},
		AllowPlain: n.settings.AllowPlainHTTP, Timeout: n.options.PeerTimeout,
	})
	n.directory = &delivery.Directory{
		Client: n.client, Clock: n.options.Clock, Self: n.self(),
		Signer: n.identity.Signer, Recipient: n.identity.Recipient, AllowPlain: n.settings.AllowPlainHTTP,
	}
}

func (n *Node) wireCoordination() {
	n.coordination = coordination.New(coordination.Config{
		Store: n.store, DB: n.store, Clock: n.options.Clock, IDs: n.options.IDs, Policy: n.engine, Agents: n.policy,
		Approvals: n.approvals, Audit: n.audit, Outbox: n.store, Self: n.self(), Keys: n.identity,
	})
}

func (n *Node) wireActions() {
	executors := n.options.Executors
	if executors == nil {
		executors = []actions.Executor{reservation.Executor{}, calendar.Executor{}}
	}
	n.actions = actions.New(actions.Config{
		Store: n.store, DB: n.store, IDs: n.options.IDs, Policy: n.engine, Approvals: n.approvals, Tasks: n.coordination,
		Audit: n.audit, Executors: executors, Issuer: n.identity.Signer.Fingerprint, Log: n.log,
		RestoredAt:  n.restored.At,
		SignReceipt: n.signReceipt,
	})
}

// signReceipt signs with the key that the claims name: another may have taken its
// place a moment ago.
func (n *Node) signReceipt(claims any) (string, error) {
	key := ""
	if receipt, ok := claims.(actions.Receipt); ok {
		key = receipt.Iss
	}
	return n.identity.Signer.SignAs(key, token.Receipt, claims)
}

// wireDelivery makes the way in, and the workers of both ways.
func (n *Node) wireDelivery() {
	n.inbox = peer.New(peer.Config{
		DB: n.store, Coordination: n.coordination, Strangers: n.store, Signer: n.identity.Signer, Open: n.identity.Open, Recipient: n.identity.Recipient,
		Self: n.self(), Clock: n.options.Clock, IDs: n.options.IDs, Log: n.log,
	})
	n.worker = delivery.NewWorker(delivery.WorkerConfig{
		DB: n.store, Outbox: n.store, Coordination: n.coordination, Directory: n.directory, Transport: n.client,
		Inbox: n.inbox, Signer: n.identity.Signer, Host: n.settings.Host(), Clock: n.options.Clock, IDs: n.options.IDs,
		Jitter: rand.Float64, Log: n.log, Another: n.deliverable.ring,
	})
	n.strangers = delivery.NewStrangers(delivery.StrangersConfig{
		DB: n.store, Store: n.store, Directory: n.directory, Inbox: n.inbox, Jitter: rand.Float64, Log: n.log,
	})
}

// wireAgents makes what agents may do, whichever door they come by.
func (n *Node) wireAgents() {
	n.tokens = token.NewTokens(n.identity.Signer, n.settings.LocalURL())
	n.api = agent.New(agent.Config{
		DB: n.store, Clock: n.options.Clock, Agents: n.policy, Policy: n.engine, Coordination: n.coordination, Actions: n.actions,
		Approvals: n.approvals, Directory: n.directory, Feed: n.store, Tokens: n.tokens, Answers: n.store, Wake: n.store,
		CursorKey: n.master.Key(seal.UseCursor), Host: n.settings.Host(), Log: n.log,
	})
}

func (n *Node) wireSocket() {
	n.socket = socket.New(socket.Config{
		DB: n.store, IDs: n.options.IDs, Log: n.log, Owner: n.owner, Access: n.access, Policy: n.policy, Decider: n.engine, Decisions: n.engine,
		Approvals: n.approvals, Coordination: n.coordination, Actions: n.actions, Clients: n.oauth, Directory: n.directory,
		Audit: n.audit, Events: n.store, Witness: n.witness(), Info: n.Info, Signer: n.identity.Signer, Backup: n.backup, Restored: socket.Restored{Epoch: n.restored.Epoch, At: n.restored.At, BackupFrom: n.restored.BackupFrom},
		Changed: n.ownerActed.ring, UID: os.Getuid(),
	})
}
