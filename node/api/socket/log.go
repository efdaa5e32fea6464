package socket

import (
	"context"
	"encoding/json"
	"time"

	"agentlink/node"
	"agentlink/node/audit"
)

// Event is a row of the audit log as the owner sees it.
type Event struct {
	Position     int64           `json:"position"`
	At           time.Time       `json:"at"`
	Type         audit.Type      `json:"type"`
	Actor        node.ActorKind  `json:"actor"`
	Via          string          `json:"via,omitempty"`
	AgentID      string          `json:"agentId,omitempty"`
	Agent        string          `json:"agent,omitempty"` // handle
	ConnectionID string          `json:"connectionId,omitempty"`
	TaskUID      string          `json:"taskUid,omitempty"`
	Subject      string          `json:"subject,omitempty"`
	Data         json.RawMessage `json:"data,omitempty"`
	Hash         string          `json:"hash"`
}

// The commands about the audit log.
const (
	AuditTail   = "audit.tail"   // Tail → []Event
	AuditVerify = "audit.verify" // VerifyLog → audit.Report
	// AuditWitness compares the log with what contacts keep of it: nothing →
	// audit.Witnessed. It asks other nodes and adds a row, hence the password.
	AuditWitness = "audit.witness"
)

// Tail asks for rows of the log, in order: those after a position, or where
// After is nil the last ones.
type Tail struct {
	After *int64       `json:"after,omitempty"`
	Agent string       `json:"agent,omitempty"`
	Types []audit.Type `json:"types,omitempty"`
	Limit int          `json:"limit,omitempty"` // 0 means 50
}

// VerifyLog walks the whole log; Deep opens the data of each row too.
type VerifyLog struct {
	Deep bool `json:"deep,omitempty"`
}

func (s *Server) logCommands() {
	reads(s, AuditTail, s.tail)
	reads(s, AuditVerify, func(tx node.Tx, r VerifyLog) (audit.Report, error) {
		return s.Audit.Verify(tx, r.Deep)
	})
	acts(s, AuditWitness, func(ctx context.Context, _ none) (audit.Witnessed, error) {
		var actor node.Actor
		err := s.DB.View(ctx, func(tx node.Tx) (err error) {
			actor, err = s.actor(ctx, tx)
			return err
		})
		if err != nil {
			return audit.Witnessed{}, err
		}
		return s.Witness.Compare(ctx, actor)
	})
}

func (s *Server) tail(tx node.Tx, r Tail) ([]Event, error) {
	agentID, err := s.filter(tx, r.Agent)
	if err != nil {
		return nil, err
	}
	rows, err := s.rows(tx, audit.Filter{AgentID: agentID, Types: r.Types, Limit: limit(r.Limit)}, r.After)
	if err != nil {
		return nil, err
	}
	names, err := s.agentNames(tx)
	events := make([]Event, len(rows))
	for i, row := range rows {
		events[i] = eventOf(row, names[row.AgentID])
	}
	return events, err
}

// rows gives the rows after a position, or the last ones: a growing piece of
// the log's end, until enough of its rows pass the filter.
func (s *Server) rows(tx node.Tx, filter audit.Filter, after *int64) ([]audit.Row, error) {
	if after != nil {
		filter.After = *after
		return s.Events.AuditRows(tx, filter)
	}
	head, err := s.Events.AuditHead(tx)
	if err != nil {
		return nil, err
	}
	wanted := filter.Limit
	for reach := int64(wanted); ; reach *= 8 {
		filter.After = max(0, head.Position-reach)
		rows, err := s.last(tx, filter, wanted)
		if err != nil || len(rows) == wanted || filter.After == 0 {
			return rows, err
		}
	}
}

// last reads all rows that pass the filter and keeps the last ones.
func (s *Server) last(tx node.Tx, filter audit.Filter, wanted int) ([]audit.Row, error) {
	var kept []audit.Row
	for {
		rows, err := s.Events.AuditRows(tx, filter)
		if err != nil {
			return nil, err
		}
		kept = append(kept, rows...)
		kept = kept[max(0, len(kept)-wanted):]
		if len(rows) < filter.Limit {
			return kept, nil
		}
		filter.After = rows[len(rows)-1].Position
	}
}

func eventOf(row audit.Row, agent string) Event {
	return Event{
		Position: row.Position, At: row.At, Type: row.Type, Actor: row.ActorKind, Via: row.Via,
		AgentID: row.AgentID, Agent: agent, ConnectionID: row.ConnectionID, TaskUID: row.TaskUID,
		Subject: row.Subject, Data: row.Data, Hash: row.Hash,
	}
}
