package agent

import (
	"encoding/json"

	"agentlink/actions"
	"agentlink/approvals"
	"agentlink/node"
	"agentlink/node/api"
)

// approval is a decision that the owner was asked for.
type approval struct {
	ApprovalID   string               `json:"approvalId"`
	Kind         approvals.Kind       `json:"kind"`
	Action       string               `json:"action"`
	Status       approvals.Status     `json:"status"`
	Hash         string               `json:"hash" is:"hash" doc:"Binds action and parameters."`
	Parameters   json.RawMessage      `json:"parameters,omitempty" doc:"The exact parameters; an action has to be run with these. Absent where they are damaged."`
	ConnectionID string               `json:"connectionId,omitempty"`
	Contact      string               `json:"contact,omitempty"`
	TaskUID      string               `json:"taskUid,omitempty"`
	OnApproval   approvals.OnApproval `json:"onApproval,omitempty"`
	Held         map[string]string    `json:"held" doc:"The capabilities that need the owner, with the reasons."`
	Damaged      bool                 `json:"damaged" doc:"It is not what was stored; it opens nothing."`
	CreatedAt    api.Time             `json:"createdAt"`
	ExpiresAt    api.Time             `json:"expiresAt"`
	DecidedAt    api.Time             `json:"decidedAt,omitzero"`
}

// viewApproval leaves out the owner's note: it was not written for the agent.
func viewApproval(a approvals.Approval) approval {
	view := approval{
		ApprovalID: a.ID, Kind: a.Kind, Action: a.Action, Status: a.Status, Hash: a.Hash, Parameters: a.Parameters,
		ConnectionID: a.ConnectionID, Contact: a.Contact, TaskUID: a.TaskUID, OnApproval: a.OnApproval, Held: a.Held, Damaged: a.Damaged,
		CreatedAt: api.Time{Time: a.CreatedAt}, ExpiresAt: api.Time{Time: a.ExpiresAt}, DecidedAt: api.Time{Time: a.DecidedAt},
	}
	if len(view.Parameters) == 0 {
		view.Parameters = nil
	}
	return view
}

type approvalRequest struct {
	api.Waiting
	ID string `json:"-" path:"id" is:"id"`
}

func (h *API) approval(tx node.Tx, by api.Caller, request approvalRequest) (approval, error) {
	a, err := h.Approvals.Approval(tx, by.Agent.ID, request.ID)
	return viewApproval(a), err
}

// askRequest asks the owner to approve an action.
type askRequest struct {
	Action     string               `json:"action" is:"action"`
	Parameters json.RawMessage      `json:"parameters" is:"object"`
	TaskUID    string               `json:"taskUid,omitempty" is:"id"`
	OnApproval approvals.OnApproval `json:"onApproval,omitempty" is:"start" doc:"wait: the agent runs it; run: the node runs the stored request at once."`
}

func (h *API) ask(tx node.Tx, by api.Caller, request askRequest) (api.Reply[approval], error) {
	start := request.OnApproval
	if start == "" {
		start = approvals.Wait
	}
	a, refusal, err := h.Actions.RequestApproval(tx, by.Actor, actions.Ask{
		Action: request.Action, Parameters: request.Parameters, TaskUID: request.TaskUID, OnApproval: start,
	})
	if err != nil || refusal != nil {
		return api.Reply[approval]{Refusal: refusal}, err
	}
	return api.Reply[approval]{Status: api.Created, Body: viewApproval(a)}, nil
}
