package store

import (
	"encoding/json"

	"agentlink/node"
	"agentlink/node/seal"
	"agentlink/policy"
)

const grantColumns = `id, owner_id, agent_id, contact, capability, mode, constraints, expires_at, created_at`

func grantPlace(column string, g policy.Grant) seal.Place {
	return seal.Place{Table: "grants", Column: column, Row: g.ID, Owner: g.OwnerID}
}

// ContactKey is what a contact is looked up by where its address is sealed; ""
// for "".
func (s *Store) ContactKey(contact string) string {
	if contact == "" {
		return ""
	}
	return s.box.Lookup("contact", contact)
}

// InsertGrant implements policy.Store.
func (s *Store) InsertGrant(tx node.Tx, g policy.Grant) error {
	contact := s.seal(grantPlace("contact", g), []byte(g.Contact))
	constraints, err := s.sealConstraints(g)
	if err != nil {
		return err
	}
	return changed(s.exec(tx, `INSERT INTO grants (id, owner_id, agent_id, contact_key, contact, capability, mode, constraints, expires_at, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING`,
		g.ID, g.OwnerID, g.AgentID, s.ContactKey(g.Contact), contact, g.Capability, g.Mode, constraints, micros(g.ExpiresAt), micros(g.CreatedAt)))
}

func (s *Store) sealConstraints(g policy.Grant) ([]byte, error) {
	if g.Constraints.Empty() {
		return nil, nil
	}
	plain, err := json.Marshal(g.Constraints)
	if err != nil {
		return nil, broken(err)
	}
	return s.seal(grantPlace("constraints", g), plain), nil
}

// SaveGrant implements policy.Store.
func (s *Store) SaveGrant(tx node.Tx, g policy.Grant) error {
	constraints, err := s.sealConstraints(g)
	if err != nil {
		return err
	}
	return changed(s.exec(tx, `UPDATE grants SET constraints = $1, expires_at = $2 WHERE id = $3`, constraints, micros(g.ExpiresAt), g.ID))
}

// DeleteGrant implements policy.Store.
func (s *Store) DeleteGrant(tx node.Tx, id string) error {
	return changed(s.exec(tx, `DELETE FROM grants WHERE id = $1`, id))
}

// Grant implements policy.Store.
func (s *Store) Grant(tx node.Tx, id string) (policy.Grant, error) {
	return first(s.grants(tx, `SELECT `+grantColumns+` FROM grants WHERE id = $1`, id))
}

// GrantFor implements policy.Store.
func (s *Store) GrantFor(tx node.Tx, agentID, contact, capability string, mode policy.GrantMode) (policy.Grant, error) {
	return first(s.grants(tx, `SELECT `+grantColumns+` FROM grants
		WHERE agent_id = $1 AND contact_key = $2 AND capability = $3 AND mode = $4`,
		agentID, s.ContactKey(contact), capability, mode))
}

// Grants implements policy.Store.
func (s *Store) Grants(tx node.Tx, agentID string, contact *string) ([]policy.Grant, error) {
	w := (&where{}).and("agent_id = ?", agentID)
	if contact != nil {
		w.and("contact_key = ?", s.ContactKey(*contact))
	}
	w.write(" ORDER BY contact_key, capability, mode")
	return s.grants(tx, `SELECT `+grantColumns+` FROM grants`+w.String(), w.args...)
}

func (s *Store) grants(tx node.Tx, query string, args ...any) ([]policy.Grant, error) {
	var list []policy.Grant
	err := s.each(tx, query, args, func(scan func(...any) error) error {
		var g policy.Grant
		var contact, constraints []byte
		var expires, created int64
		err := scan(&g.ID, &g.OwnerID, &g.AgentID, &contact, &g.Capability, &g.Mode, &constraints, &expires, &created)
		if err != nil {
			return err
		}
		g.ExpiresAt, g.CreatedAt = timeOf(expires), timeOf(created)
		plain, err := s.open(grantPlace("contact", g), contact)
		if err != nil {
			return err
		}
		g.Contact = string(plain)
		if len(constraints) > 0 {
			err = s.openJSON(grantPlace("constraints", g), constraints, &g.Constraints)
		}
		list = append(list, g)
		return err
	})
	return list, err
}
