package policy

import (
	"agentlink/node"
	"agentlink/node/audit"
)

// Config is what the service needs.
type Config struct {
	Store    Store
	IDs      node.IDs
	Audit    *audit.Log
	Decider  Decider
	Imaginer Imaginer // for Foresee alone
}

// Service is the one place where agents and grants change. Only the owner
// reaches it.
type Service struct{ Config }

// New makes the service.
func New(config Config) *Service { return &Service{config} }

// mayChange refuses whoever is not the owner: an agent cannot change its own
// mode or grants by whatever door it comes. Code: policy_denied.
func mayChange(actor node.Actor) error {
	if actor.Kind != node.ActorOwner {
		return node.Errorf(node.PolicyDenied, "Only the owner changes agents and grants.")
	}
	return nil
}

// raise begins every change of an agent's rules: from here on other changes and
// their readers wait or see the whole of it.
func (s *Service) raise(tx node.Tx, actor node.Actor, agentID string) (Agent, error) {
	if err := mayChange(actor); err != nil {
		return Agent{}, err
	}
	agent, err := s.Store.RaiseRules(tx, agentID, s.IDs.New())
	if err != nil {
		return Agent{}, err
	}
	return agent, owned(agent.OwnerID, actor)
}

// owned hides what belongs to another owner. Code: not_found.
func owned(ownerID string, actor node.Actor) error {
	if ownerID != actor.OwnerID {
		return node.Errorf(node.NotFound, "There is nothing under this id.")
	}
	return nil
}

// BumpRules raises the agent's RulesRev: something outside the grants that the
// rules read has changed (structuredOnly).
func (s *Service) BumpRules(tx node.Tx, agentID string) error {
	_, err := s.Store.RaiseRules(tx, agentID, s.IDs.New())
	return err
}
