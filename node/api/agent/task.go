package agent

import (
	"encoding/json"

	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/api"
)

type tasksRequest struct {
	paging
	Connection string              `json:"-" query:"connection" is:"id" doc:"Only tasks with this contact."`
	Status     coordination.Status `json:"-" query:"status" doc:"Only tasks in this status."`
}

func (h *API) tasks(tx node.Tx, by api.Caller, request tasksRequest) (taskList, error) {
	bound := api.Binding{Caller: by.Agent.ID, List: "tasks", Filter: []string{request.Connection, string(request.Status)}}
	page, err := h.page(request.paging, bound)
	if err != nil {
		return taskList{}, err
	}
	if err := h.ownConnection(tx, by, request.Connection); err != nil {
		return taskList{}, err
	}
	filter := coordination.TaskFilter{ConnectionID: request.Connection, Status: request.Status}
	list, err := h.Coordination.Tasks(tx, by.Agent.ID, filter, page)
	if err != nil {
		return taskList{}, err
	}
	list, next := turn(h, request.paging, bound, list, func(t coordination.Task) api.Place { return api.Place{At: t.CreatedAt, ID: t.UID} })
	view := taskList{Items: make([]listedTask, 0, len(list)), NextCursor: next}
	for _, t := range list {
		view.Items = append(view.Items, viewListed(t))
	}
	return view, nil
}

type taskRequest struct {
	api.Waiting
	UID string `json:"-" path:"uid" is:"id"`
}

func (h *API) task(tx node.Tx, by api.Caller, request taskRequest) (task, error) {
	t, err := h.Coordination.Task(tx, by.Agent.ID, request.UID)
	if err != nil {
		return task{}, err
	}
	return viewTask(t), nil
}

// startTaskRequest starts a task with a contact.
type startTaskRequest struct {
	ConnectionID   string          `json:"connectionId" is:"id"`
	Type           string          `json:"type" is:"type"`
	Title          string          `json:"title" is:"title"`
	Proposal       json.RawMessage `json:"proposal,omitempty" is:"object" doc:"The fields of version 1."`
	ExpiresInHours int             `json:"expiresInHours,omitempty" is:"hours"`
}

func (h *API) startTask(tx node.Tx, by api.Caller, request startTaskRequest) (api.Reply[sent], error) {
	result, err := h.Coordination.StartTask(tx, by.Actor, coordination.StartTask{
		ConnectionID: request.ConnectionID, Type: request.Type, Title: request.Title,
		Proposal: request.Proposal, ExpiresInHours: request.ExpiresInHours,
	})
	return reply(result, err, sent{MessageID: result.ID})
}

// proposeRequest sends the next version of the terms.
type proposeRequest struct {
	UID            string          `json:"-" path:"uid" is:"id"`
	Fields         json.RawMessage `json:"fields" is:"object"`
	BasedOnVersion int             `json:"basedOnVersion,omitempty" is:"version" doc:"Refused where this is not the latest version."`
}

func (h *API) propose(tx node.Tx, by api.Caller, request proposeRequest) (api.Reply[sent], error) {
	result, err := h.Coordination.Propose(tx, by.Actor, request.UID, request.Fields, request.BasedOnVersion)
	return reply(result, err, sent{MessageID: result.ID})
}

// respondRequest accepts or rejects the latest proposal.
type respondRequest struct {
	UID      string `json:"-" path:"uid" is:"id"`
	Version  int    `json:"version" is:"version"`
	Decision string `json:"decision" is:"answer"`
	Digest   string `json:"digest,omitempty" is:"digest" doc:"Refused where the version has another digest."`
	Reason   string `json:"reason,omitempty" is:"reason"`
}

func (h *API) respond(tx node.Tx, by api.Caller, request respondRequest) (api.Reply[sent], error) {
	result, err := h.Coordination.Respond(tx, by.Actor, request.UID, coordination.Answer{
		Version: request.Version, Digest: request.Digest, Decision: request.Decision, Reason: request.Reason,
	})
	return reply(result, err, sent{MessageID: result.ID})
}

// cancelRequest ends an unfinished task.
type cancelRequest struct {
	UID    string `json:"-" path:"uid" is:"id"`
	Reason string `json:"reason,omitempty" is:"reason"`
}

func (h *API) cancel(tx node.Tx, by api.Caller, request cancelRequest) (api.Reply[sent], error) {
	result, err := h.Coordination.CancelTask(tx, by.Actor, request.UID, request.Reason)
	return reply(result, err, sent{MessageID: result.ID})
}
