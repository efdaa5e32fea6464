package agent

import (
	"github.com/go-json-experiment/json"

	"agentlink/node"
	"agentlink/node/api"
	"agentlink/node/audit"
)

// event is something that happened and concerns the agent. It says what changed
// and where; what peers wrote is read from the object itself.
type event struct {
	Cursor       string         `json:"cursor" doc:"Goes on after this event; the id of the event in a stream."`
	Type         audit.Type     `json:"type"`
	At           api.Time       `json:"at"`
	By           node.ActorKind `json:"by" doc:"agent, owner, peer or node."`
	ConnectionID string         `json:"connectionId,omitempty"`
	TaskUID      string         `json:"taskUid,omitempty"`
	Subject      string         `json:"subject,omitempty" doc:"Id of the message, approval, run or grant."`
	Data         map[string]any `json:"data" doc:"Codes, statuses and versions, as far as they are told."`
}

type eventList struct {
	Items  []event `json:"items"`
	Cursor string  `json:"cursor" doc:"What to ask with next, also where nothing has happened."`
}

// told are the members of an audit row's data that agents see, where they are
// words, numbers or truth values: names and codes of the node's own, no text of
// anybody's.
var told = []string{
	"type", "kind", "action", "code", "status", "from", "to", "old", "new", "version", "outcome", "reason",
	"approval", "approvalId", "simulated", "disagreement",
}

type eventsRequest struct {
	api.Waiting
	Limit int    `json:"-" query:"limit" is:"limit" doc:"Events a page."`
	After string `json:"-" query:"after" is:"cursor" doc:"A cursor of an event or page; without it, from the first event."`
}

func eventBinding(by api.Caller) api.Binding { return api.Binding{Caller: by.Agent.ID, List: "events"} }

func (h *API) events(tx node.Tx, by api.Caller, request eventsRequest) (eventList, error) {
	after, err := h.cursors.OpenPosition(eventBinding(by), "after", request.After)
	if err != nil {
		return eventList{}, err
	}
	items, next, err := h.eventsAfter(tx, by, after, paging{Limit: request.Limit}.limit())
	if err != nil {
		return eventList{}, err
	}
	return eventList{Items: items, Cursor: h.cursors.SealPosition(eventBinding(by), next)}, nil
}

func anyEvent(list eventList) bool { return len(list.Items) > 0 }

func (h *API) eventsAfter(tx node.Tx, by api.Caller, after int64, limit int) (items []event, next int64, err error) {
	rows, err := h.Feed.AuditRows(tx, audit.Filter{After: after, AgentID: by.Agent.ID, Types: audit.Feed, Limit: limit})
	if err != nil {
		return nil, 0, err
	}
	items, next = make([]event, 0, len(rows)), after
	for _, row := range rows {
		seen, err := h.viewEvent(by, row)
		if err != nil {
			return nil, 0, err
		}
		items, next = append(items, seen), row.Position
	}
	return items, next, nil
}

func (h *API) viewEvent(by api.Caller, row audit.Row) (event, error) {
	var data map[string]any
	if err := json.Unmarshal(row.Data, &data); err != nil {
		return event{}, node.Wrap(err, "read an audit row")
	}
	seen := event{
		Cursor: h.cursors.SealPosition(eventBinding(by), row.Position), Type: row.Type, At: api.Time{Time: row.At}, By: row.ActorKind,
		ConnectionID: row.ConnectionID, TaskUID: row.TaskUID, Subject: row.Subject, Data: map[string]any{},
	}
	for _, name := range told {
		switch value := data[name].(type) {
		case string, float64, bool:
			seen.Data[name] = value
		}
	}
	return seen, nil
}

type streamRequest struct {
	After string `json:"-" query:"after" is:"cursor"`
}

// eventSource is the same feed as a stream.
func (h *API) eventSource() api.Source[streamRequest] {
	return api.Source[streamRequest]{
		Page: maxLimit,
		Start: func(by api.Caller, request streamRequest, last string) (int64, error) {
			if last != "" {
				return h.cursors.OpenPosition(eventBinding(by), "Last-Event-ID", last)
			}
			return h.cursors.OpenPosition(eventBinding(by), "after", request.After)
		},
		After: func(tx node.Tx, by api.Caller, position int64) ([]api.Event, int64, error) {
			items, next, err := h.eventsAfter(tx, by, position, maxLimit)
			if err != nil {
				return nil, 0, err
			}
			events := make([]api.Event, 0, len(items))
			for _, item := range items {
				data, err := json.Marshal(item, json.Deterministic(true))
				if err != nil {
					return nil, 0, node.Wrap(err, "write an event")
				}
				events = append(events, api.Event{ID: item.Cursor, Type: string(item.Type), Data: data})
			}
			return events, next, nil
		},
	}
}
