package engine

import (
	"slices"

	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/policy"
)

// record keeps the decision and says so in the audit log, in the transaction that
// decided.
func (e *Engine) record(tx node.Tx, standing policy.Standing, request policy.Request, decision policy.Decision, failed failure) error {
	facts := policy.Facts{
		Mode: standing.Mode, Status: standing.Status, Contact: request.Contact, Connection: request.Connection,
		StructuredOnly: request.StructuredOnly, FreeText: request.FreeText, Capabilities: request.Capabilities,
		AmountField: request.AmountField, DenyOnly: request.DenyOnly,
	}
	// Fields that are no JSON cannot be kept; the decision was EngineError then.
	facts.Fields, _ = plainObject(request.Fields, 0)
	record := policy.Record{
		Decision: decision, OwnerID: standing.OwnerID, AgentID: standing.AgentID, At: tx.Now(),
		Subject: request.Subject, TaskUID: request.TaskUID, Facts: facts,
	}
	if err := e.store.InsertDecision(tx, record); err != nil {
		return err
	}
	return e.audit.Append(tx, event(record, failed))
}

// event is what the audit log says of a decision: the agent asked, except where
// the node itself asked again before something left or ran.
func event(r policy.Record, failed failure) audit.Event {
	actor := node.Actor{Kind: node.ActorAgent, OwnerID: r.OwnerID, AgentID: r.AgentID}
	if r.Facts.DenyOnly {
		actor.Kind = node.ActorNode
	}
	reasons := map[string]any{}
	for _, answer := range r.Answers {
		reasons[answer.Capability] = map[string]any{"outcome": answer.Outcome, "reason": answer.Reason, "grant": answer.GrantID}
	}
	data := map[string]any{
		"about": r.Subject, "contact": r.Facts.Contact, "outcome": r.Outcome, "answers": reasons,
		"denyOnly": r.Facts.DenyOnly, "rulesRev": r.RulesRev, "version": r.Version,
	}
	if failed != "" {
		data["ownRulesFailed"] = failed
	}
	return audit.Event{Type: audit.PolicyDecided, Actor: actor, AgentID: r.AgentID, TaskUID: r.TaskUID, Subject: r.ID, Data: data}
}

// Explain gives a decision back as it was recorded: facts, answers, the grants
// that won and the rules' version. Code: not_found.
func (e *Engine) Explain(tx node.Tx, decisionID string) (policy.Record, error) {
	return e.store.DecisionRecord(tx, decisionID)
}

// Reevaluate answers for the recorded facts of a decision again, under the rules
// that the agent has now and a change of them that is only imagined. Nothing is
// recorded or remembered; the decision that comes back has no ID. Code: not_found.
func (e *Engine) Reevaluate(tx node.Tx, decisionID string, change policy.Change) (policy.Decision, error) {
	record, err := e.store.DecisionRecord(tx, decisionID)
	if err != nil {
		return policy.Decision{}, err
	}
	set, err := e.imaginedSet(tx, record.AgentID, change)
	if err != nil {
		return policy.Decision{}, err
	}
	f := factsOf(record.Facts.Request(record.AgentID))
	f.at = record.At
	answers, err := e.evaluate(tx.Context(), set, f)
	if err != nil {
		answers = e.refuse(f, err)
	}
	answers, _ = e.narrow(tx.Context(), set, f, answers, newRecent[answerKey, []policy.Outcome](1))
	return policy.Decision{
		Outcome: policy.Strictest(answers), Answers: answers, RulesRev: set.standing.RulesRev, Version: e.versionOf(set.standing.Overlay),
	}, nil
}

// imaginedSet are the agent's rules as they are in this transaction, changed. Code:
// bad_request where the owner's own rules would be a text that does not compile.
func (e *Engine) imaginedSet(tx node.Tx, agentID string, change policy.Change) (*ruleSet, error) {
	loaded, err := e.store.Rules(tx, agentID)
	if err != nil {
		return nil, err
	}
	if text := change.Overlay; text != nil && *text == "" {
		loaded.Overlay = ""
	} else if text != nil {
		loaded.Overlay = overlayVersion(*text)
		if _, known := e.overlays.get(loaded.Overlay); !known {
			compiled, problems := compileOverlay(*text, e.ownLimit)
			if len(problems) > 0 {
				return nil, policy.BadOverlay(problems)
			}
			e.overlays.put(loaded.Overlay, compiled, 1)
		}
	}
	set := newRuleSet(e.changed(loaded, change), tx.Now())
	set.overlay, set.failed, err = e.overlayOf(tx, set.standing)
	return set, err
}

func (e *Engine) changed(loaded policy.Rules, change policy.Change) policy.Rules {
	if change.Mode != "" {
		loaded.Mode = change.Mode
	}
	if change.Status != "" {
		loaded.Status = change.Status
	}
	loaded.Grants = slices.DeleteFunc(slices.Clone(loaded.Grants), func(rule policy.Rule) bool {
		return slices.Contains(change.Remove, rule.GrantID)
	})
	for _, grant := range change.Set {
		loaded.Grants = put(loaded.Grants, e.imagined(grant))
	}
	return loaded
}

func (e *Engine) imagined(grant policy.Grant) policy.Rule {
	id := grant.ID
	if id == "" {
		id = policy.DryRun
	}
	return policy.Rule{
		GrantID: id, ContactKey: e.store.ContactKey(grant.Contact), Capability: grant.Capability,
		Mode: grant.Mode, Constraints: grant.Constraints, ExpiresAt: grant.ExpiresAt,
	}
}

// put adds a rule in place of the one that it is unique with.
func put(rules []policy.Rule, rule policy.Rule) []policy.Rule {
	same := func(other policy.Rule) bool {
		return other.ContactKey == rule.ContactKey && other.Mode == rule.Mode && other.Capability == rule.Capability
	}
	return append(slices.DeleteFunc(rules, same), rule)
}
