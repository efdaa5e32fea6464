package policy

import (
	"slices"
	"time"

	"agentlink/node"
	"agentlink/node/audit"
)

// NewGrant describes a grant to set.
type NewGrant struct {
	AgentID, Contact, Capability string
	Mode                         GrantMode
	Constraints                  *Constraints
	ExpiresAt                    time.Time
}

// SetGrant writes a grant, replacing the one of the same agent, contact,
// capability and mode. Constraints nil keeps those that are there. Codes:
// bad_request, not_found, policy_denied (not the owner). Effective tells what it
// comes to.
func (s *Service) SetGrant(tx node.Tx, actor node.Actor, n NewGrant) (Grant, error) {
	n, err := n.checked(tx.Now())
	if err != nil {
		return Grant{}, err
	}
	agent, err := s.raise(tx, actor, n.AgentID)
	if err != nil {
		return Grant{}, err
	}
	return s.putGrant(tx, actor, agent, n)
}

// putGrant needs the agent's row to be locked.
func (s *Service) putGrant(tx node.Tx, actor node.Actor, agent Agent, n NewGrant) (Grant, error) {
	old, err := s.Store.GrantFor(tx, agent.ID, n.Contact, n.Capability, n.Mode)
	isNew := node.CodeOf(err) == node.NotFound
	if err != nil && !isNew {
		return Grant{}, err
	}
	grant := old
	if isNew {
		grant = Grant{
			ID: s.IDs.New(), OwnerID: agent.OwnerID, AgentID: agent.ID, Contact: n.Contact,
			Capability: n.Capability, Mode: n.Mode, CreatedAt: tx.Now(),
		}
	}
	grant.ExpiresAt = n.ExpiresAt
	if n.Constraints != nil {
		grant.Constraints = *n.Constraints
	}
	return grant, s.writeGrant(tx, actor, old, grant, isNew)
}

func (s *Service) writeGrant(tx node.Tx, actor node.Actor, old, grant Grant, isNew bool) error {
	change := map[string]any{"old": nil, "new": grant.shown()}
	write := s.Store.InsertGrant
	if !isNew {
		change["old"] = old.shown()
		write = s.Store.SaveGrant
	}
	if err := write(tx, grant); err != nil {
		return err
	}
	return s.audit(tx, actor, audit.GrantSet, grant.AgentID, grant.ID, change)
}

// shown is the grant as the audit log keeps it.
func (g Grant) shown() map[string]any {
	shown := map[string]any{"contact": g.Contact, "capability": g.Capability, "mode": g.Mode}
	if !g.Constraints.Empty() {
		shown["constraints"] = g.Constraints
	}
	if !g.ExpiresAt.IsZero() {
		shown["expiresAt"] = g.ExpiresAt.UTC().Format(time.RFC3339Nano)
	}
	return shown
}

// RemoveGrant ends a grant. Codes: not_found, policy_denied (not the owner).
func (s *Service) RemoveGrant(tx node.Tx, actor node.Actor, id string) (Grant, error) {
	grant, err := s.Store.Grant(tx, id)
	if err != nil {
		return Grant{}, err
	}
	if _, err := s.raise(tx, actor, grant.AgentID); err != nil {
		return Grant{}, err
	}
	// Again, now that nobody else can change it.
	if grant, err = s.Store.Grant(tx, id); err != nil {
		return Grant{}, err
	}
	if err := s.Store.DeleteGrant(tx, id); err != nil {
		return Grant{}, err
	}
	return grant, s.audit(tx, actor, audit.GrantRemoved, grant.AgentID, id, map[string]any{"old": grant.shown(), "new": nil})
}

// Grants lists an agent's grants: agent-wide and for every contact, or for one.
func (s *Service) Grants(tx node.Tx, agentID string, contact *string) ([]Grant, error) {
	return s.Store.Grants(tx, agentID, contact)
}

// defaults are the capabilities that a new contact has to be asked about. Never
// an allow: as a contact's grant it would outrank every agent-wide deny.
var defaults = []string{"disclose.*", "action.*"}

// DefaultGrants writes the grants of a new connection: disclose.* ask and
// action.* ask. Where the contact has a grant for the same wildcard from before,
// whatever its mode, that one stays and nothing is written, since an ask beside an
// allow would win; one that has expired is not there.
func (s *Service) DefaultGrants(tx node.Tx, actor node.Actor, agentID, contact string) error {
	agent, err := s.Store.RaiseRules(tx, agentID, s.IDs.New())
	if err != nil {
		return err
	}
	there, err := s.Store.Grants(tx, agentID, &contact)
	if err != nil {
		return err
	}
	for _, capability := range defaults {
		if slices.ContainsFunc(there, func(g Grant) bool { return g.Capability == capability && !g.expired(tx.Now()) }) {
			continue
		}
		n := NewGrant{AgentID: agentID, Contact: contact, Capability: capability, Mode: Ask}
		if _, err := s.putGrant(tx, actor, agent, n); err != nil {
			return err
		}
	}
	return nil
}

func (g Grant) expired(now time.Time) bool { return !g.ExpiresAt.IsZero() && !now.Before(g.ExpiresAt) }
