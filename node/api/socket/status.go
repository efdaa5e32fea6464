package socket

import (
	"context"
	"errors"
	"time"

	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/owner"
	"agentlink/policy"
)

// Status is what the owner sees at a glance.
type Status struct {
	Info
	Owner string `json:"owner"`
	// Agents, Connections and unfinished Tasks are counted by status, up to 1,000 of
	// each.
	Agents      map[policy.Status]int                 `json:"agents"`
	Connections map[coordination.ConnectionStatus]int `json:"connections"`
	Tasks       map[coordination.Status]int           `json:"tasks"`
	// What waits for the owner: pending approvals, and incoming requests to connect.
	PendingApprovals int `json:"pendingApprovals"`
	PendingIncoming  int `json:"pendingIncoming"`
	// KeyOffers counts connections whose contact has announced a new key.
	KeyOffers int `json:"keyOffers"`
	// Undelivered counts messages that were tried a while ago and have not arrived,
	// up to 100.
	Undelivered int   `json:"undelivered"`
	AuditRows   int64 `json:"auditRows"`
	// AuditHead is the hash of the last row, to be written down elsewhere.
	AuditHead string `json:"auditHead"`
	// Restored is the restore that the node lives since, if there was one.
	Restored *Restored `json:"restored,omitempty"`
	// LastBackup is when the last backup was made that is in the log.
	LastBackup *time.Time `json:"lastBackup,omitempty"`
}

// The commands about the node and its owner.
const (
	NodeStatus    = "status"         // {} → Status
	OwnerPassword = "owner.password" // ChangePassword → {}
	OwnerLink     = "owner.link"     // {} → SignInLink
)

// ChangePassword sets a new password; the present one stands in the call.
type ChangePassword struct {
	New string `json:"new"`
}

// SignInLink opens the dashboard, once. It is a secret.
type SignInLink struct {
	URL       string    `json:"url"`
	ExpiresAt time.Time `json:"expiresAt"`
}

func (s *Server) statusCommands() {
	reads(s, NodeStatus, s.status)
	decides(s, OwnerLink, s.link)
	acts(s, OwnerPassword, s.changePassword)
}

func (s *Server) link(tx node.Tx, actor node.Actor, _ none) (SignInLink, error) {
	link, err := s.Access.OneTimeLink(tx, actor, owner.LinkSignIn)
	return SignInLink{URL: link.URL, ExpiresAt: link.ExpiresAt}, err
}

// changePassword hashes outside of the transaction: it takes its time.
func (s *Server) changePassword(ctx context.Context, r ChangePassword) (none, error) {
	password, err := owner.NewPassword(r.New)
	if err != nil {
		return none{}, err
	}
	return none{}, s.DB.InTx(ctx, func(tx node.Tx) error {
		actor, err := s.actor(ctx, tx)
		if err != nil {
			return err
		}
		if err := s.Owner.SetPassword(tx, actor, password); err != nil {
			return err
		}
		_, err = s.Access.EndOtherSessions(tx, actor, "") // who knew the old one is out
		return err
	})
}

func (s *Server) status(tx node.Tx, _ none) (Status, error) {
	status := Status{
		Info: s.Info(), Agents: map[policy.Status]int{},
		Connections: map[coordination.ConnectionStatus]int{}, Tasks: map[coordination.Status]int{},
	}
	person, err := s.Owner.Owner(tx)
	if err != nil {
		return Status{}, err
	}
	status.Owner = person.Name
	head, err := s.Events.AuditHead(tx)
	if err != nil {
		return Status{}, err
	}
	status.AuditRows, status.AuditHead = head.Position, head.Hash
	if s.Restored.Epoch > 0 {
		status.Restored = &s.Restored
	}
	if status.LastBackup, err = s.lastBackup(tx); err != nil {
		return Status{}, err
	}
	return status, s.count(tx, &status)
}

// stuckAfter is how long a message has to be on its way before status tells of it.
const stuckAfter = time.Minute

func (s *Server) count(tx node.Tx, status *Status) error {
	err := errors.Join(
		s.eachApproval(tx, approvals.Pending, func(approvals.Approval) { status.PendingApprovals++ }),
		s.eachAgent(tx, func(agent policy.Agent) error { status.Agents[agent.Status]++; return nil }),
		s.eachConnection(tx, "", func(k coordination.Connection) bool { status.Connections[k.Status]++; return false }))
	if err != nil {
		return err
	}
	status.PendingIncoming = status.Connections[coordination.PendingIncoming]
	if status.KeyOffers, err = s.Coordination.CountKeyOffers(tx); err != nil {
		return err
	}
	status.Undelivered, err = s.Coordination.Undelivered(tx, tx.Now().Add(-stuckAfter), pageSize)
	if err != nil {
		return err
	}
	return s.countTasks(tx, status)
}

// countTasks counts those that still want something.
func (s *Server) countTasks(tx node.Tx, status *Status) error {
	for _, unfinished := range coordination.TaskStatuses {
		if unfinished.Ended() {
			continue
		}
		filter := coordination.TaskFilter{Status: unfinished}
		if err := s.eachTask(tx, "", filter, func(task coordination.Task) { status.Tasks[task.Status]++ }); err != nil {
			return err
		}
	}
	return nil
}
