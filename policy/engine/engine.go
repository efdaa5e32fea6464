// Package engine evaluates the rules (package rego) over the facts of a request
// and records what they say. It is the only package that knows OPA.
//
// The rules are evaluated as a pure function: an agent's grants travel in the
// input, converted once for each of their revisions and never changed after. So
// an evaluation cannot see half a change, two revisions live side by side, and
// what was evaluated once may be remembered.
package engine

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/policy"
	rules "agentlink/rego"
)

// Config is what the engine needs.
type Config struct {
	Store Store
	IDs   node.IDs
	Audit *audit.Log
	Log   *slog.Logger // where evaluations that fail are reported; nil: nowhere
	// Deadline ends an evaluation; 0 means five seconds. It is there for rules that
	// run away: a busy machine must not turn what is allowed into a refusal.
	Deadline time.Duration
	// OverlayDeadline ends an evaluation of the owner's own rules; 0 means 100 ms.
	OverlayDeadline time.Duration
}

// Store is where the rules come from and decisions go. What is not there is
// node.NotFound.
type Store interface {
	// Standing reads what the rules know of the agent itself.
	Standing(tx node.Tx, agentID string) (policy.Standing, error)
	// Rules reads standing and grants in one statement, so that they belong
	// together whatever others commit meanwhile.
	Rules(tx node.Tx, agentID string) (policy.Rules, error)
	// ContactKey is what a contact's grants are filed under; "" for "".
	ContactKey(contact string) string
	// OverlaySource is the text of a version of the owner's own rules. Code:
	// not_found.
	OverlaySource(tx node.Tx, ownerID, version string) (string, error)
	InsertDecision(tx node.Tx, record policy.Record) error
	DecisionRecord(tx node.Tx, id string) (policy.Record, error)
}

// Engine implements policy.Decider.
type Engine struct {
	store     Store
	ids       node.IDs
	audit     *audit.Log
	log       *slog.Logger
	evaluator *evaluator
	memory    *memory
	overlays  *recent[string, *overlay] // by version
	ownLimit  time.Duration
	version   string
}

var _ policy.Decider = (*Engine)(nil)

// versionLength is how much of the rules' hash a decision carries.
const versionLength = 16

// New prepares the rules. It fails where they do not compile, or where something
// is missing that a decision cannot be recorded without.
func New(config Config) (*Engine, error) {
	if config.Store == nil || config.IDs == nil || config.Audit == nil {
		return nil, fmt.Errorf("policy engine: a store, ids and the audit log are needed")
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	if config.Deadline == 0 {
		config.Deadline = 5 * time.Second
	}
	if config.OverlayDeadline == 0 {
		config.OverlayDeadline = ownLimit
	}
	query, err := nodeRules()
	if err != nil {
		return nil, fmt.Errorf("policy engine: %w", err)
	}
	return &Engine{
		store: config.Store, ids: config.IDs, audit: config.Audit, log: config.Log,
		evaluator: &evaluator{query: query, deadline: config.Deadline}, memory: newMemory(), overlays: newRecent[string, *overlay](maxOverlays), ownLimit: config.OverlayDeadline,
		version: rules.Version()[:versionLength],
	}, nil
}

// Version is that of the node's rules.
func (e *Engine) Version() string { return e.version }

// Decide implements policy.Decider.
func (e *Engine) Decide(tx node.Tx, request policy.Request) (policy.Decision, error) {
	set, err := e.rulesOf(tx, request.AgentID)
	if err != nil {
		return policy.Decision{}, err
	}
	f := factsOf(request)
	f.at = tx.Now()
	answers, failed := e.narrow(tx.Context(), set, f, e.answers(tx.Context(), set, f), e.memory.narrowed)
	decision := policy.Decision{
		ID: e.ids.New(), Outcome: policy.Strictest(answers), Answers: answers,
		RulesRev: set.standing.RulesRev, Version: e.versionOf(set.standing.Overlay),
	}
	return decision, e.record(tx, set.standing, request, decision, failed)
}

// rulesOf gives the agent's rules as of this transaction: those in memory where
// their revision is still the agent's.
func (e *Engine) rulesOf(tx node.Tx, agentID string) (*ruleSet, error) {
	standing, err := e.store.Standing(tx, agentID)
	if err != nil {
		return nil, err
	}
	if set, found := e.memory.rules(standing, tx.Now()); found {
		return set, nil
	}
	loaded, err := e.store.Rules(tx, agentID)
	if err != nil {
		return nil, err
	}
	set := newRuleSet(loaded, tx.Now())
	if set.overlay, set.failed, err = e.overlayOf(tx, set.standing); err != nil {
		return nil, err
	}
	e.memory.keepRules(set)
	return set, nil
}

// answers evaluates, or remembers. It always gives one answer for each
// capability, in order: what cannot be evaluated is refused.
func (e *Engine) answers(ctx context.Context, set *ruleSet, f facts) []policy.Answer {
	if f.problem != nil {
		return e.refuse(f, f.problem)
	}
	key := set.keyOf(f)
	if answers, found := e.memory.answers(key); found {
		return answers
	}
	answers, err := e.evaluate(ctx, set, f)
	if err != nil {
		return e.refuse(f, err)
	}
	e.memory.keepAnswers(key, answers)
	return answers
}

func (e *Engine) evaluate(ctx context.Context, set *ruleSet, f facts) ([]policy.Answer, error) {
	if set.problem != nil {
		return nil, set.problem
	}
	return e.evaluator.evaluate(ctx, set, f, e.store.ContactKey(f.contact))
}

func (e *Engine) refuse(f facts, problem error) []policy.Answer {
	e.log.Error("A policy decision could not be evaluated and was refused.", "error", problem)
	answers := make([]policy.Answer, len(f.wanted))
	for i, want := range f.wanted {
		answers[i] = policy.Answer{Capability: want.capability, Outcome: policy.Refused, Reason: policy.EngineError}
	}
	return answers
}
