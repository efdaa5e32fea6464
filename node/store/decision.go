package store

import (
	"encoding/json"
	"time"

	"agentlink/node"
	"agentlink/node/seal"
	"agentlink/policy"
)

// Standing implements engine.Store.
func (s *Store) Standing(tx node.Tx, agentID string) (policy.Standing, error) {
	standing := policy.Standing{AgentID: agentID}
	err := s.one(tx, `SELECT a.owner_id, a.handle, a.mode, a.status, a.rules_rev, a.rules_stamp, `+overlayInForce+` FROM agents a WHERE a.id = $1`, []any{agentID},
		&standing.OwnerID, &standing.Handle, &standing.Mode, &standing.Status, &standing.RulesRev, &standing.RulesStamp, &standing.Overlay)
	return standing, err
}

// Rules implements engine.Store. The contacts stay sealed.
func (s *Store) Rules(tx node.Tx, agentID string) (policy.Rules, error) {
	rules := policy.Rules{Standing: policy.Standing{AgentID: agentID}}
	found := false
	err := s.each(tx, `SELECT a.owner_id, a.handle, a.mode, a.status, a.rules_rev, a.rules_stamp, `+overlayInForce+`,
			COALESCE(g.id, ''), COALESCE(g.contact_key, ''), COALESCE(g.capability, ''), COALESCE(g.mode, ''), g.constraints, COALESCE(g.expires_at, 0)
		FROM agents a LEFT JOIN grants g ON g.agent_id = a.id WHERE a.id = $1`, []any{agentID},
		func(scan func(...any) error) error {
			found = true
			var rule policy.Rule
			var constraints []byte
			var expires int64
			err := scan(&rules.OwnerID, &rules.Handle, &rules.Mode, &rules.Status, &rules.RulesRev, &rules.RulesStamp, &rules.Overlay,
				&rule.GrantID, &rule.ContactKey, &rule.Capability, &rule.Mode, &constraints, &expires)
			if err != nil || rule.GrantID == "" {
				return err
			}
			rule.ExpiresAt = timeOf(expires)
			if len(constraints) > 0 {
				place := grantPlace("constraints", policy.Grant{ID: rule.GrantID, OwnerID: rules.OwnerID})
				err = s.openJSON(place, constraints, &rule.Constraints)
			}
			rules.Grants = append(rules.Grants, rule)
			return err
		})
	if err == nil && !found {
		err = errNoRow()
	}
	return rules, err
}

const decisionColumns = `id, owner_id, agent_id, at, subject, task_uid, outcome, answers, rules_rev, version, facts`

func decisionPlace(r policy.Record) seal.Place {
	return seal.Place{Table: "decisions", Column: "facts", Row: r.ID, Owner: r.OwnerID}
}

// InsertDecision implements engine.Store.
func (s *Store) InsertDecision(tx node.Tx, r policy.Record) error {
	answers, err := json.Marshal(r.Answers)
	if err != nil {
		return broken(err)
	}
	plain, err := json.Marshal(r.Facts)
	if err != nil {
		return broken(err)
	}
	facts := s.seal(decisionPlace(r), plain)
	_, err = s.exec(tx, `INSERT INTO decisions (`+decisionColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
		r.ID, r.OwnerID, r.AgentID, micros(r.At), r.Subject, r.TaskUID, r.Outcome, answers, r.RulesRev, r.Version, facts)
	return err
}

// DecisionRecord implements engine.Store.
func (s *Store) DecisionRecord(tx node.Tx, id string) (policy.Record, error) {
	return first(s.decisions(tx, func([]policy.Answer) bool { return true }, `SELECT `+decisionColumns+` FROM decisions WHERE id = $1`, id))
}

// Decisions implements policy.Store.
func (s *Store) Decisions(tx node.Tx, agentID string, since time.Time, limit int, wanted func([]policy.Answer) bool) ([]policy.Record, error) {
	return s.decisions(tx, wanted, `SELECT `+decisionColumns+` FROM decisions WHERE agent_id = $1 AND at >= $2
		ORDER BY at DESC, id DESC LIMIT $3`, agentID, micros(since), limit)
}

// DecisionsAt lists what an agent's requests of one moment were answered, the
// first first.
func (s *Store) DecisionsAt(tx node.Tx, agentID string, at time.Time) ([]policy.Record, error) {
	return s.decisions(tx, func([]policy.Answer) bool { return true }, `SELECT `+decisionColumns+` FROM decisions
		WHERE agent_id = $1 AND at = $2 ORDER BY id`, agentID, micros(at))
}

func (s *Store) decisions(tx node.Tx, wanted func([]policy.Answer) bool, query string, args ...any) ([]policy.Record, error) {
	var list []policy.Record
	err := s.each(tx, query, args, func(scan func(...any) error) error {
		var r policy.Record
		var at int64
		var answers, facts []byte
		err := scan(&r.ID, &r.OwnerID, &r.AgentID, &at, &r.Subject, &r.TaskUID, &r.Outcome, &answers, &r.RulesRev, &r.Version, &facts)
		if err != nil {
			return err
		}
		r.At = timeOf(at)
		if err := json.Unmarshal(answers, &r.Answers); err != nil {
			return broken(err)
		}
		if !wanted(r.Answers) {
			return nil
		}
		if err := s.openJSON(decisionPlace(r), facts, &r.Facts); err != nil {
			return err
		}
		list = append(list, r)
		return nil
	})
	return list, err
}
