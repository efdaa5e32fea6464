package socket

import (
	"context"
	"errors"
	"time"

	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/policy"
)

// Decisions explains decisions and makes them again; engine.Engine implements it.
type Decisions interface {
	Explain(tx node.Tx, decisionID string) (policy.Record, error)
	Reevaluate(tx node.Tx, decisionID string, change policy.Change) (policy.Decision, error)
}

// Decision is a decision of the policy's as it was recorded.
type Decision struct {
	ID       string          `json:"id"`
	Agent    string          `json:"agent"` // handle
	At       time.Time       `json:"at"`
	Subject  string          `json:"subject,omitempty"` // what it is about: a message or run id
	TaskUID  string          `json:"taskUid,omitempty"`
	Outcome  policy.Outcome  `json:"outcome"`
	Answers  []policy.Answer `json:"answers"`
	Facts    policy.Facts    `json:"facts"`
	RulesRev int64           `json:"rulesRev"`
	Version  string          `json:"version"` // of the rules
}

// Turned is a decision that would be another one under changed rules.
type Turned struct {
	ID           string         `json:"id"`
	At           time.Time      `json:"at"`
	Contact      string         `json:"contact,omitempty"`
	TaskUID      string         `json:"taskUid,omitempty"`
	Capabilities []string       `json:"capabilities"`
	Was          policy.Outcome `json:"was"`   // under the rules as they are
	Would        policy.Outcome `json:"would"` // under the changed ones
}

func (s *Server) decision(tx node.Tx, r ByID) (Decision, error) {
	id := r.ID
	if !node.ValidID(id) {
		var err error
		if id, err = s.shortDecision(tx, id); err != nil {
			return Decision{}, err
		}
	}
	record, err := s.Decisions.Explain(tx, id)
	if err != nil {
		return Decision{}, err
	}
	agent, err := s.Policy.Agent(tx, record.AgentID)
	return Decision{
		ID: record.ID, Agent: agent.Handle, At: record.At, Subject: record.Subject, TaskUID: record.TaskUID,
		Outcome: record.Outcome, Answers: record.Answers, Facts: record.Facts, RulesRev: record.RulesRev, Version: record.Version,
	}, err
}

// shortDecision looks through the latest decisions, which are what people ask for.
func (s *Server) shortDecision(tx node.Tx, text string) (string, error) {
	return short("decision among the latest", text, func(visit func(string)) error {
		rows, err := s.rows(tx, audit.Filter{Types: []audit.Type{audit.PolicyDecided}, Limit: 1000}, nil)
		for _, row := range rows {
			visit(row.Subject)
		}
		return err
	})
}

// errDryRun rolls a dry run back.
var errDryRun = errors.New("dry run")

// tryOut runs f in a transaction that a dry run rolls back.
func (s *Server) tryOut(ctx context.Context, dryRun bool, f func(node.Tx, node.Actor) error) error {
	err := s.DB.InTx(ctx, func(tx node.Tx) error {
		actor, err := s.actor(ctx, tx)
		if err != nil {
			return err
		}
		if err := f(tx, actor); err != nil {
			return err
		}
		if dryRun {
			return errDryRun
		}
		return nil
	})
	if errors.Is(err, errDryRun) {
		return nil
	}
	return err
}

// maxReplayed is how many of the latest decisions a dry run makes again.
const maxReplayed = 100

// turned makes a change, and for a dry run the agent's latest decisions before
// and after it.
func (s *Server) turned(tx node.Tx, agent policy.Agent, dryRun bool, change func() error) ([]Turned, error) {
	if !dryRun {
		return nil, change()
	}
	records, err := s.latest(tx, agent)
	if err != nil {
		return nil, err
	}
	before, err := s.again(tx, records)
	if err != nil {
		return nil, err
	}
	if err := change(); err != nil {
		return nil, err
	}
	after, err := s.again(tx, records)
	if err != nil {
		return nil, err
	}
	turned := []Turned{}
	for i, record := range records {
		if before[i] != after[i] {
			turned = append(turned, Turned{
				ID: record.ID, At: record.At, Contact: record.Facts.Contact, TaskUID: record.TaskUID,
				Capabilities: record.Facts.Capabilities, Was: before[i], Would: after[i],
			})
		}
	}
	return turned, nil
}

// latest are the agent's latest decisions, without those that the node asked for
// again before something left.
func (s *Server) latest(tx node.Tx, agent policy.Agent) ([]policy.Record, error) {
	rows, err := s.rows(tx, audit.Filter{AgentID: agent.ID, Types: []audit.Type{audit.PolicyDecided}, Limit: maxReplayed}, nil)
	if err != nil {
		return nil, err
	}
	var records []policy.Record
	for _, row := range rows {
		record, err := s.Decisions.Explain(tx, row.Subject)
		if err != nil {
			return nil, err
		}
		if !record.Facts.DenyOnly {
			records = append(records, record)
		}
	}
	return records, nil
}

func (s *Server) again(tx node.Tx, records []policy.Record) ([]policy.Outcome, error) {
	outcomes := make([]policy.Outcome, len(records))
	for i, record := range records {
		decision, err := s.Decisions.Reevaluate(tx, record.ID, policy.Change{})
		if err != nil {
			return nil, err
		}
		outcomes[i] = decision.Outcome
	}
	return outcomes, nil
}
