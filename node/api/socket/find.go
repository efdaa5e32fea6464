package socket

import (
	"strings"
	"time"

	"agentlink/coordination"
	"agentlink/node"
	"agentlink/policy"
)

// MinShort is how many characters of an id are needed at least to mean it.
const MinShort = 8

// agent finds the agent that a command names by handle or id; "" means the only
// one there is.
func (s *Server) agent(tx node.Tx, name string) (policy.Agent, error) {
	if node.ValidID(name) {
		return s.Policy.Agent(tx, name)
	}
	if name != "" {
		return s.Policy.AgentByHandle(tx, name)
	}
	agents, err := s.Policy.Agents(tx)
	if err != nil {
		return policy.Agent{}, err
	}
	switch len(agents) {
	case 0:
		return policy.Agent{}, node.Errorf(node.NotFound, "There is no agent yet. Create one with: agentlink agent create HANDLE")
	case 1:
		return agents[0], nil
	}
	return policy.Agent{}, &node.Error{
		Code:    node.BadRequest,
		Message: "There is more than one agent: say which with --agent (" + strings.Join(handles(agents), ", ") + ").",
		Details: map[string]any{"fields": []node.Field{{Field: "agent", Problem: "is needed, since there is more than one"}}},
	}
}

func handles(agents []policy.Agent) []string {
	names := make([]string, len(agents))
	for i, agent := range agents {
		names[i] = agent.Handle
	}
	return names
}

// filter finds the id of the agent that a list is narrowed to; "" means all.
func (s *Server) filter(tx node.Tx, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	agent, err := s.agent(tx, name)
	return agent.ID, err
}

// agentNames maps ids to handles, for lists.
func (s *Server) agentNames(tx node.Tx) (map[string]string, error) {
	agents, err := s.Policy.Agents(tx)
	names := make(map[string]string, len(agents))
	for _, agent := range agents {
		names[agent.ID] = agent.Handle
	}
	return names, err
}

// short finds the one id that a shortened form means: MinShort or more
// characters of its beginning or its end (ids made within a minute begin alike).
// walk visits every id that could be meant.
func short(what, text string, walk func(visit func(id string)) error) (string, error) {
	text = strings.ToLower(text)
	if len(text) < MinShort {
		return "", node.BadFields(node.Field{Field: "id", Problem: "needs at least 8 characters of the id's beginning or end"})
	}
	found := map[string]bool{}
	err := walk(func(id string) {
		if strings.HasPrefix(id, text) || strings.HasSuffix(id, text) {
			found[id] = true
		}
	})
	if err != nil {
		return "", err
	}
	for id := range found {
		if len(found) == 1 {
			return id, nil
		}
		return "", node.Errorf(node.BadRequest, "More than one %s is meant by this id: give more of its characters.", what)
	}
	return "", node.Errorf(node.NotFound, "There is no such %s.", what)
}

// pageSize is the most that the services give at once, and maxWalk how many
// entries of a list are looked through: who means older ones gives ids in full.
const (
	pageSize = 100
	maxWalk  = 1000
)

// each visits a list page by page, newest first, until visit says stop.
func each[T any](list func(coordination.Page) ([]T, error), key func(T) (time.Time, string), visit func(T) (stop bool)) error {
	page := coordination.Page{Limit: pageSize}
	for seen := 0; seen < maxWalk; seen += pageSize {
		entries, err := list(page)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			if visit(entry) {
				return nil
			}
			page.BeforeAt, page.BeforeID = key(entry)
		}
		if len(entries) < pageSize {
			return nil
		}
	}
	return nil
}

func (s *Server) eachAgent(tx node.Tx, visit func(policy.Agent) error) error {
	agents, err := s.Policy.Agents(tx)
	if err != nil {
		return err
	}
	for _, agent := range agents {
		if err := visit(agent); err != nil {
			return err
		}
	}
	return nil
}
