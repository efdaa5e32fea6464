package socket

import (
	"context"

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
	// Agents counts the agents by status, Connections those of all agents by
	// status, Tasks the unfinished ones.
	Agents      map[policy.Status]int                 `json:"agents"`
	Connections map[coordination.ConnectionStatus]int `json:"connections"`
	Tasks       map[coordination.Status]int           `json:"tasks"`
	// Waiting counts what waits for the owner: pending approvals and incoming
	// requests to connect.
	PendingApprovals int   `json:"pendingApprovals"`
	PendingIncoming  int   `json:"pendingIncoming"`
	AuditRows        int64 `json:"auditRows"`
	// AuditHead is the hash of the last row, to be written down elsewhere.
	AuditHead string `json:"auditHead"`
}

// The commands about the node and its owner.
const (
	NodeStatus    = "status"         // {} → Status
	OwnerPassword = "owner.password" // ChangePassword → {}
)

// ChangePassword sets a new password; the present one stands in the call.
type ChangePassword struct {
	New string `json:"new"`
}

func (s *Server) statusCommands() {
	reads(s, NodeStatus, s.status)
	acts(s, OwnerPassword, s.changePassword)
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
		return s.Owner.SetPassword(tx, actor, password)
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
	err = s.eachApproval(tx, approvals.Pending, func(approvals.Approval) { status.PendingApprovals++ })
	if err != nil {
		return Status{}, err
	}
	err = s.eachAgent(tx, func(agent policy.Agent) error { return s.count(tx, agent, &status) })
	return status, err
}

// unfinished are the statuses of a task that still wants something.
var unfinished = []coordination.Status{
	coordination.Open, coordination.Negotiating, coordination.Agreed, coordination.AwaitingApproval,
}

func (s *Server) count(tx node.Tx, agent policy.Agent, status *Status) error {
	status.Agents[agent.Status]++
	err := s.eachConnection(tx, agent.ID, func(connection coordination.Connection) bool {
		status.Connections[connection.Status]++
		return false
	})
	if err != nil {
		return err
	}
	status.PendingIncoming = status.Connections[coordination.PendingIncoming]
	for _, unfinished := range unfinished {
		filter := coordination.TaskFilter{Status: unfinished}
		tasks, err := s.Coordination.Tasks(tx, agent.ID, filter, coordination.Page{Limit: pageSize})
		if err != nil {
			return err
		}
		if len(tasks) > 0 {
			status.Tasks[unfinished] += len(tasks)
		}
	}
	return nil
}
