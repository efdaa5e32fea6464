package policy

import (
	"slices"

	"agentlink/node"
)

// Plan is a change of one agent's rules, which the owner looks at before it is
// made. One of Mode, Grant and Remove is set.
type Plan struct {
	AgentID string
	Mode    Mode
	Grant   *NewGrant
	// Instead, with Grant: the stricter grants of the same capability and contact
	// are removed, since they would count instead of it.
	Instead bool
	Remove  string // id of a grant
}

// Steps are what a plan would write.
type Steps struct {
	Agent Agent   // as it is
	Mode  Mode    // "" where it stays
	Set   *Grant  // with the constraints that are kept; ID "" where it is new
	Ends  []Grant // the grants that are removed
}

// change is the same for the engine, to be imagined.
func (s Steps) change() Change {
	change := Change{Mode: s.Mode}
	if s.Set != nil {
		change.Set = []Grant{*s.Set}
	}
	for _, grant := range s.Ends {
		change.Remove = append(change.Remove, grant.ID)
	}
	return change
}

// about is the contact and the pattern of a plan for a grant.
func (s Steps) about() (contact, pattern string) {
	switch {
	case s.Set != nil:
		return s.Set.Contact, s.Set.Capability
	case len(s.Ends) > 0:
		return s.Ends[0].Contact, s.Ends[0].Capability
	}
	return "", ""
}

// Steps says what a plan would write. Codes: bad_request, not_found.
func (s *Service) Steps(tx node.Tx, plan Plan) (Steps, error) {
	agent, err := s.Store.AgentByID(tx, plan.AgentID)
	if err != nil {
		return Steps{}, err
	}
	steps := Steps{Agent: agent}
	switch {
	case plan.Grant != nil:
		err = s.stepsOfGrant(tx, plan, &steps)
	case plan.Remove != "":
		var grant Grant
		if grant, err = s.Store.Grant(tx, plan.Remove); err == nil && grant.AgentID != agent.ID {
			err = node.Errorf(node.NotFound, "There is nothing under this id.")
		}
		steps.Ends = []Grant{grant}
	case slices.Contains(Modes, plan.Mode):
		steps.Mode = plan.Mode
	default:
		err = node.BadFields(badMode)
	}
	return steps, err
}

func (s *Service) stepsOfGrant(tx node.Tx, plan Plan, steps *Steps) error {
	n := *plan.Grant
	n.AgentID = plan.AgentID
	n, err := n.checked(tx.Now())
	if err != nil {
		return err
	}
	there, err := s.Store.Grants(tx, plan.AgentID, &n.Contact)
	if err != nil {
		return err
	}
	set := Grant{OwnerID: steps.Agent.OwnerID, AgentID: plan.AgentID, Contact: n.Contact, Capability: n.Capability, Mode: n.Mode, CreatedAt: tx.Now()}
	for _, grant := range there {
		switch {
		case grant.Capability != n.Capability:
		case grant.Mode == n.Mode:
			set = grant
		case plan.Instead && stricter(grant.Mode, n.Mode):
			steps.Ends = append(steps.Ends, grant)
		}
	}
	set.ExpiresAt = n.ExpiresAt
	if n.Constraints != nil {
		set.Constraints = *n.Constraints
	}
	steps.Set = &set
	return nil
}

// stricter says whether a counts before b where all else is equal.
func stricter(a, b GrantMode) bool { return slices.Index(GrantModes, a) < slices.Index(GrantModes, b) }

// CarryOut makes a plan as it was looked at. Seen is the agent's RulesRev then;
// where the rules have changed since, what was shown is no longer true. Codes:
// bad_request, not_found, conflict, policy_denied (not the owner).
func (s *Service) CarryOut(tx node.Tx, actor node.Actor, plan Plan, seen int64) error {
	agent, err := s.raise(tx, actor, plan.AgentID)
	if err != nil {
		return err
	}
	if agent.RulesRev != seen+1 {
		return node.ConflictFor(node.ReasonBadState, "The agent's rules have changed since this was shown. Look at it again.")
	}
	steps, err := s.Steps(tx, plan)
	if err != nil {
		return err
	}
	for _, grant := range steps.Ends {
		if _, err := s.RemoveGrant(tx, actor, grant.ID); err != nil {
			return err
		}
	}
	if plan.Grant != nil {
		n := *plan.Grant
		n.AgentID = plan.AgentID
		_, err = s.SetGrant(tx, actor, n)
	}
	if steps.Mode != "" {
		_, err = s.SetMode(tx, actor, plan.AgentID, steps.Mode)
	}
	return err
}
