package policy

import (
	"slices"

	"agentlink/node"
)

// Effective tells what the rules come to: the answer for each capability, towards
// a contact with an active connection, or for contact "" as far as the agent-wide
// grants go. With touchedBy only for those capabilities that one of these
// patterns covers: what saving a grant has touched.
func (s *Service) Effective(tx node.Tx, agentID, contact string, touchedBy ...string) ([]Answer, error) {
	names, err := s.capabilities(tx, agentID)
	if err != nil {
		return nil, err
	}
	if len(touchedBy) > 0 {
		names = slices.DeleteFunc(names, func(name string) bool { return !coveredBy(name, touchedBy) })
	}
	return s.Decider.Capabilities(tx, Request{AgentID: agentID, Contact: contact, Connection: activeConnection}, names)
}

// activeConnection is coordination.ConnActive, which this package cannot import.
const activeConnection = "active"

// capabilities are the known ones and the owner's own that this agent has grants
// for.
func (s *Service) capabilities(tx node.Tx, agentID string) ([]string, error) {
	grants, err := s.Store.Grants(tx, agentID, nil)
	if err != nil {
		return nil, err
	}
	names, own := slices.Clone(Known), []string{}
	for _, grant := range grants {
		if ValidCapability(grant.Capability) && !slices.Contains(Known, grant.Capability) {
			own = append(own, grant.Capability)
		}
	}
	slices.Sort(own)
	return append(names, slices.Compact(own)...), nil
}

func coveredBy(name string, patterns []string) bool {
	return slices.ContainsFunc(Patterns(name), func(pattern string) bool { return slices.Contains(patterns, pattern) })
}
