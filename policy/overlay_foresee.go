package policy

import (
	"slices"
	"strings"

	"agentlink/node"
)

// OverlayForecast tells what a text would do as the owner's own rules, before it is.
type OverlayForecast struct {
	Now      Overlay   // what it would replace
	Problems []Problem // why it cannot; then nothing else is told
	Agents   []AgentPast
}

// AgentPast is what would have become of an agent's decisions.
type AgentPast struct {
	Agent Agent
	Past  Past
}

// ForeseeOverlay makes the decisions of the last days again, those of every agent,
// with a text as the owner's own rules; "" is without any. Code: policy_denied (not
// the owner).
func (s *Service) ForeseeOverlay(tx node.Tx, actor node.Actor, source string) (OverlayForecast, error) {
	now, err := s.Overlay(tx, actor)
	if err != nil {
		return OverlayForecast{}, err
	}
	forecast := OverlayForecast{Now: now}
	if source != "" {
		if _, forecast.Problems = s.Imaginer.CheckOverlay(source); len(forecast.Problems) > 0 {
			return forecast, nil
		}
	}
	agents, err := s.agentsOf(tx, actor.OwnerID)
	if err != nil {
		return OverlayForecast{}, err
	}
	for _, agent := range agents {
		past, err := s.pastUnder(tx, agent, source)
		if err != nil {
			return OverlayForecast{}, err
		}
		forecast.Agents = append(forecast.Agents, AgentPast{agent, past})
	}
	return forecast, nil
}

func (s *Service) pastUnder(tx node.Tx, agent Agent, source string) (Past, error) {
	before, err := s.Imaginer.Imagine(tx, agent.ID, Change{Status: Active})
	if err != nil {
		return Past{}, err
	}
	after, err := s.Imaginer.Imagine(tx, agent.ID, Change{Status: Active, Overlay: &source})
	if err != nil {
		return Past{}, err
	}
	return s.past(tx, Steps{Agent: agent}, before, after)
}

// agentsOf lists an owner's agents by id.
func (s *Service) agentsOf(tx node.Tx, ownerID string) ([]Agent, error) {
	agents, err := s.Store.Agents(tx)
	agents = slices.DeleteFunc(agents, func(a Agent) bool { return a.OwnerID != ownerID })
	slices.SortFunc(agents, func(a, b Agent) int { return strings.Compare(a.ID, b.ID) })
	return agents, err
}
