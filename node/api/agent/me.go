package agent

import (
	"slices"

	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/api"
	"agentlink/policy"
)

type meRequest struct{ api.Waiting }

// me is the agent as it sees itself.
type me struct {
	ID      string        `json:"id"`
	Handle  string        `json:"handle"`
	Address string        `json:"address" doc:"How agents of other nodes reach this one."`
	Mode    policy.Mode   `json:"mode"`
	Status  policy.Status `json:"status"`
}

func (h *API) me(_ node.Tx, by api.Caller, _ meRequest) (me, error) {
	agent := by.Agent
	address := node.Address{Handle: agent.Handle, Host: h.Host}
	return me{ID: agent.ID, Handle: agent.Handle, Address: address.String(), Mode: agent.Mode, Status: agent.Status}, nil
}

type capabilitiesRequest struct {
	Connection string `json:"-" query:"connection" is:"id" doc:"The contact in question; without it the answers are those without a contact."`
}

// capabilities tells beforehand what would be answered.
type capabilities struct {
	ConnectionID string       `json:"connectionId,omitempty"`
	Contact      string       `json:"contact,omitempty"`
	Items        []capability `json:"items"`
}

type capability struct {
	Capability  string              `json:"capability"`
	Answer      policy.Outcome      `json:"answer"`
	Reason      policy.Reason       `json:"reason"`
	GrantID     string              `json:"grantId,omitempty" doc:"The grant that decides."`
	Constraints *policy.Constraints `json:"constraints,omitempty" doc:"Of the grant that decides; where they do not match, otherwise is the answer."`
	Otherwise   policy.Outcome      `json:"otherwise,omitempty"`
}

func (h *API) capabilities(tx node.Tx, by api.Caller, request capabilitiesRequest) (capabilities, error) {
	asked, view := policy.Request{AgentID: by.Agent.ID}, capabilities{}
	if request.Connection != "" {
		connection, err := h.Coordination.Connection(tx, by.Agent.ID, request.Connection)
		if err != nil {
			return capabilities{}, err
		}
		view.ConnectionID, view.Contact = connection.ID, connection.Contact
		asked.Contact, asked.Connection, asked.StructuredOnly = connection.Contact, policyStatus(connection), connection.StructuredOnly
	}
	names, err := h.capabilityNames(tx, by.Agent.ID, asked.Contact)
	if err != nil {
		return capabilities{}, err
	}
	answers, err := h.Policy.Capabilities(tx, asked, names)
	if err != nil {
		return capabilities{}, err
	}
	view.Items = make([]capability, 0, len(answers))
	for _, a := range answers {
		view.Items = append(view.Items, capability{
			Capability: a.Capability, Answer: a.Outcome, Reason: a.Reason, GrantID: a.GrantID,
			Constraints: a.Constraints, Otherwise: a.Otherwise,
		})
	}
	return view, nil
}

// capabilityNames are the built-in capabilities, and those of the owner's own
// naming that a grant mentions.
func (h *API) capabilityNames(tx node.Tx, agentID, contact string) ([]string, error) {
	grants, err := h.Agents.Grants(tx, agentID, nil)
	if err != nil {
		return nil, err
	}
	names := slices.Clone(policy.Known)
	var own []string
	for _, grant := range grants {
		if grant.Contact != "" && grant.Contact != contact {
			continue
		}
		if policy.ValidCapability(grant.Capability) && !slices.Contains(names, grant.Capability) {
			own = append(own, grant.Capability)
		}
	}
	slices.Sort(own)
	return append(names, slices.Compact(own)...), nil
}

// policyStatus is the status of a connection as the policy is told of it: one
// whose peer answered with another key is not active.
func policyStatus(c coordination.Connection) string {
	if c.Status == coordination.ConnActive && c.KeyChanged {
		return "key_changed"
	}
	return string(c.Status)
}
