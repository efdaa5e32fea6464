package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"agentlink/node"
)

// group is the contacts towards which the same rules hold.
type group struct {
	contacts []string
	request  Request
}

func places(groups []group, rules Imagined, names []string) []Place {
	list := make([]Place, len(groups))
	for i, g := range groups {
		list[i] = Place{Contacts: g.contacts, Answers: rules.Capabilities(g.request, names)}
	}
	return list
}

// groups puts together the contacts towards which the same rules hold, so that a
// forecast does not grow with their number: hundreds have the default grants and
// nothing else.
func (s *Service) groups(tx node.Tx, steps Steps, contacts []Toward) ([]group, error) {
	agentID := steps.Agent.ID
	if contact, _ := steps.about(); contact != "" {
		at := slices.IndexFunc(contacts, func(t Toward) bool { return t.Contact == contact })
		return []group{{[]string{contact}, towards(agentID, contact, at >= 0 && contacts[at].StructuredOnly)}}, nil
	}
	grants, err := s.Store.Grants(tx, agentID, nil)
	if err != nil {
		return nil, err
	}
	own, err := rulesByContact(grants)
	if err != nil {
		return nil, err
	}
	groups, known := []group{{nil, towards(agentID, "", false)}}, map[string]int{}
	for _, contact := range contacts {
		key := fmt.Sprintf("%t\n%s", contact.StructuredOnly, own[contact.Contact])
		at, found := known[key]
		if !found {
			at = len(groups)
			known[key] = at
			groups = append(groups, group{request: towards(agentID, contact.Contact, contact.StructuredOnly)})
		}
		groups[at].contacts = append(groups[at].contacts, contact.Contact)
	}
	return groups, nil
}

func towards(agentID, contact string, structuredOnly bool) Request {
	return Request{AgentID: agentID, Contact: contact, Connection: activeConnection, StructuredOnly: structuredOnly}
}

// rulesByContact writes the grants of each contact as a text: equal texts are
// equal rules.
func rulesByContact(grants []Grant) (map[string]string, error) {
	rules := map[string][]string{}
	for _, g := range grants {
		shown := g.shown()
		delete(shown, "contact")
		text, err := json.Marshal(shown)
		if err != nil {
			return nil, node.Wrap(err, "write down a grant")
		}
		rules[g.Contact] = append(rules[g.Contact], string(text))
	}
	texts := make(map[string]string, len(rules))
	for contact, list := range rules {
		slices.Sort(list)
		texts[contact] = strings.Join(list, "\n")
	}
	return texts, nil
}
