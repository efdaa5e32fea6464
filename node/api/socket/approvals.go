package socket

import (
	"encoding/json"
	"time"

	"agentlink/actions"
	"agentlink/approvals"
	"agentlink/node"
)

// Approval is an approval as its owner sees it. Lists leave Parameters and what
// follows from them out; show gives everything.
type Approval struct {
	ID           string               `json:"id"`
	Agent        string               `json:"agent"` // handle
	Kind         approvals.Kind       `json:"kind"`
	Action       string               `json:"action"`
	Status       approvals.Status     `json:"status"`
	Contact      string               `json:"contact,omitempty"`
	ConnectionID string               `json:"connectionId,omitempty"`
	TaskUID      string               `json:"taskUid,omitempty"`
	OnApproval   approvals.OnApproval `json:"onApproval,omitempty"`
	Hash         string               `json:"hash"`
	Held         map[string]string    `json:"held,omitempty"` // capability → reason
	Note         string               `json:"note,omitempty"`
	Damaged      bool                 `json:"damaged,omitempty"`
	CreatedAt    time.Time            `json:"createdAt"`
	ExpiresAt    time.Time            `json:"expiresAt"`
	DecidedAt    time.Time            `json:"decidedAt,omitzero"`

	Parameters json.RawMessage      `json:"parameters,omitempty"`
	Summary    string               `json:"summary,omitempty"`
	Warnings   []actions.Warning    `json:"warnings,omitempty"`
	Difference []actions.Difference `json:"difference,omitempty"`
}

// The commands about approvals.
const (
	ApprovalList   = "approval.list"   // ListApprovals → []Approval
	ApprovalShow   = "approval.show"   // ByID → Approval
	ApprovalDecide = "approval.decide" // DecideApproval → Effect
)

// ListApprovals narrows a list of approvals; Status "" means all.
type ListApprovals struct {
	Agent  string           `json:"agent,omitempty"`
	Status approvals.Status `json:"status,omitempty"`
	Limit  int              `json:"limit,omitempty"`
}

// DecideApproval is the owner's word. Hash is the one that was shown.
type DecideApproval struct {
	ID       string `json:"id"` // in full
	Hash     string `json:"hash"`
	Approve  bool   `json:"approve"`
	Note     string `json:"note,omitempty"`
	Override bool   `json:"override,omitempty"`
	Word     string `json:"word,omitempty"`
}

// Effect is what came of a decision.
type Effect struct {
	Approval Approval `json:"approval"`
	Outcome  string   `json:"outcome"`
	Code     string   `json:"code,omitempty"`
	RunID    string   `json:"runId,omitempty"`
}

func (s *Server) approvalCommands() {
	reads(s, ApprovalList, s.listApprovals)
	reads(s, ApprovalShow, s.showApproval)
	decides(s, ApprovalDecide, s.decide)
}

func (s *Server) decide(tx node.Tx, actor node.Actor, r DecideApproval) (Effect, error) {
	if !node.ValidID(r.ID) {
		return Effect{}, node.BadFields(node.Field{Field: "id", Problem: "must be the approval's full id"})
	}
	effect, err := s.Approvals.Decide(tx, actor, approvals.Decision{
		ID: r.ID, Hash: r.Hash, Approve: r.Approve, Note: r.Note, Override: r.Override, Word: r.Word,
	})
	if err != nil {
		return Effect{}, err
	}
	view, err := s.approvalView(tx, effect.Approval)
	return Effect{Approval: view, Outcome: effect.Outcome, Code: effect.Code, RunID: effect.RunID}, err
}

func (s *Server) listApprovals(tx node.Tx, r ListApprovals) ([]Approval, error) {
	agentID, err := s.filter(tx, r.Agent)
	if err != nil {
		return nil, err
	}
	list, err := s.Approvals.Approvals(tx, approvals.Filter{AgentID: agentID, Status: r.Status, Limit: limit(r.Limit)})
	if err != nil {
		return nil, err
	}
	names, err := s.agentNames(tx)
	views := make([]Approval, len(list))
	for i, approval := range list {
		views[i] = approvalOf(approval, names[approval.AgentID])
	}
	return views, err
}

func (s *Server) showApproval(tx node.Tx, r ByID) (Approval, error) {
	id, err := s.approvalID(tx, r.ID)
	if err != nil {
		return Approval{}, err
	}
	approval, err := s.Approvals.Approval(tx, "", id)
	if err != nil {
		return Approval{}, err
	}
	view, err := s.approvalView(tx, approval)
	if err != nil || approval.Damaged {
		return view, err
	}
	view.Parameters = approval.Parameters
	if approval.Kind != approvals.Action {
		return view, nil
	}
	explained, err := s.Actions.Explain(tx, approval)
	view.Summary, view.Warnings, view.Difference = explained.Summary, explained.Warnings, explained.Difference
	return view, err
}

func (s *Server) approvalID(tx node.Tx, text string) (string, error) {
	if node.ValidID(text) {
		return text, nil
	}
	return short("approval", text, func(visit func(string)) error {
		for _, status := range approvals.Statuses {
			if err := s.eachApproval(tx, status, func(a approvals.Approval) { visit(a.ID) }); err != nil {
				return err
			}
		}
		return nil
	})
}

// eachApproval visits those of one status, which have one order, the first ones.
func (s *Server) eachApproval(tx node.Tx, status approvals.Status, visit func(approvals.Approval)) error {
	filter := approvals.Filter{Status: status, Limit: pageSize}
	for seen := 0; seen < maxWalk; seen += pageSize {
		list, err := s.Approvals.Approvals(tx, filter)
		if err != nil {
			return err
		}
		for _, approval := range list {
			visit(approval)
			filter.BeforeAt, filter.BeforeID = pageKey(approval)
		}
		if len(list) < pageSize {
			return nil
		}
	}
	return nil
}

// pageKey is what a list of one status is ordered by.
func pageKey(a approvals.Approval) (time.Time, string) {
	if a.Status == approvals.Pending {
		return a.ExpiresAt, a.ID
	}
	return a.CreatedAt, a.ID
}

func (s *Server) approvalView(tx node.Tx, approval approvals.Approval) (Approval, error) {
	agent, err := s.Policy.Agent(tx, approval.AgentID)
	return approvalOf(approval, agent.Handle), err
}

func approvalOf(a approvals.Approval, agent string) Approval {
	return Approval{
		ID: a.ID, Agent: agent, Kind: a.Kind, Action: a.Action, Status: a.Status, Contact: a.Contact,
		ConnectionID: a.ConnectionID, TaskUID: a.TaskUID, OnApproval: a.OnApproval, Hash: a.Hash, Held: a.Held,
		Note: a.Note, Damaged: a.Damaged, CreatedAt: a.CreatedAt, ExpiresAt: a.ExpiresAt, DecidedAt: a.DecidedAt,
	}
}
