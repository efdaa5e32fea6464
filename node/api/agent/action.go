package agent

import (
	"context"
	"encoding/json"

	"agentlink/actions"
	"agentlink/node"
	"agentlink/node/api"
	"agentlink/node/api/schema"
)

// run is one execution of an action.
type run struct {
	RunID            string          `json:"runId"`
	Action           string          `json:"action"`
	Outcome          actions.Outcome `json:"outcome"`
	Reason           actions.Reason  `json:"reason"`
	Message          string          `json:"message" doc:"What the reason means."`
	RecordChanged    actions.Changed `json:"recordChanged"`
	SafeToRetry      bool            `json:"safeToRetry" doc:"True only where it is proven that nothing was written."`
	Proof            actions.Proof   `json:"proof" doc:"What done rests on."`
	Result           *result         `json:"result,omitempty"`
	TaskUID          string          `json:"taskUid,omitempty"`
	TaskConfirmation string          `json:"taskConfirmation,omitempty" doc:"sent or failed; absent without a task."`
	ApprovalID       string          `json:"approvalId,omitempty"`
	Receipt          string          `json:"receipt,omitempty" doc:"Signed by the node; anybody can verify it offline."`
	Salt             string          `json:"salt,omitempty" doc:"With the parameters, what the receipt is checked with."`
	ReservedAt       api.Time        `json:"reservedAt"`
	FinishedAt       api.Time        `json:"finishedAt,omitzero"`
}

type result struct {
	Code      string          `json:"code,omitempty" doc:"Confirmation code."`
	Simulated bool            `json:"simulated" doc:"Nothing outside was touched."`
	Data      json.RawMessage `json:"data,omitempty" is:"object"`
}

func viewRun(r actions.Run) run {
	meaning := r.Meaning()
	view := run{
		RunID: r.ID, Action: r.Action, Outcome: meaning.Outcome, Reason: r.Reason, Message: meaning.Text,
		RecordChanged: meaning.Changed, SafeToRetry: meaning.SafeToRetry, Proof: r.Proof(), TaskUID: r.TaskUID,
		TaskConfirmation: r.TaskConfirmation, ApprovalID: r.ApprovalID, Receipt: r.Receipt, Salt: r.Salt,
		ReservedAt: api.Time{Time: r.ReservedAt}, FinishedAt: api.Time{Time: r.FinishedAt},
	}
	if meaning.Outcome == actions.Done {
		view.Result = &result{Code: r.Code, Simulated: r.Simulated}
		if len(r.Result) > 0 {
			view.Result.Data = r.Result
		}
	}
	return view
}

type runRequest struct {
	api.Waiting
	RunID string `json:"-" path:"runId" is:"id"`
}

func (h *API) run(tx node.Tx, by api.Caller, request runRequest) (run, error) {
	r, err := h.Actions.Find(tx, by.Agent.ID, request.RunID)
	return viewRun(r), err
}

// startRequest runs an action.
type startRequest struct {
	Action     string          `json:"action,omitempty" is:"action"`
	Parameters json.RawMessage `json:"parameters,omitempty" is:"object"`
	ApprovalID string          `json:"approvalId,omitempty" is:"id"`
}

// SchemaRules implements schema.Ruled.
func (startRequest) SchemaRules() (schema.Rule, string) {
	return schema.Rule{
		"anyOf": []any{schema.Rule{"required": []string{"action"}}, schema.Rule{"required": []string{"approvalId"}}},
		"dependentRequired": schema.Rule{
			"action": []string{"parameters"}, "parameters": []string{"action"},
		},
	}, "must have action and parameters, or approvalId, or all three"
}

func (h *API) start(ctx context.Context, by api.Caller, key string, request startRequest) (api.Reply[run], error) {
	r, err := h.Actions.Run(ctx, by.Actor, actions.Start{
		Action: request.Action, Parameters: request.Parameters, ApprovalID: request.ApprovalID, Key: key,
	})
	if err != nil {
		return api.Reply[run]{}, err
	}
	status := api.Created
	if r.Outcome() == actions.InProgress {
		status = api.Accepted
	}
	return api.Reply[run]{Status: status, Body: viewRun(r)}, nil
}
