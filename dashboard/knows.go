package dashboard

import (
	"net/url"
	"slices"

	"agentlink/coordination"
	"agentlink/dashboard/view"
	"agentlink/node"
	"agentlink/policy"
)

func (d *Dashboard) knowsRoutes() []route {
	return []route{
		get("/knows", (*visit).knows), get("/knows/:contact", (*visit).ledger), get("/knows/:contact/:capability", (*visit).ledger),
	}
}

// contactsOfMatrix is how many connections a page of the matrix looks at: the
// rules are asked for each.
const contactsOfMatrix = 25

// known is what the matrix has of one contact.
type known struct {
	contact string
	ended   bool
	told    map[string]int       // by capability
	rules   map[string]view.Rule // the loosest of the agents that are connected
}

// knows shows who knows what.
func (v *visit) knows() error {
	list := coordination.Page{Limit: contactsOfMatrix + 1}
	if err := v.before(&list.BeforeAt, &list.BeforeID); err != nil {
		return err
	}
	var page view.KnowsPage
	err := v.read(func(tx node.Tx) (err error) {
		if page.Frame, err = v.frame(tx, "Who knows what", "/knows"); err != nil {
			return err
		}
		connections, err := v.d.Coordination.Contacts(tx, list)
		if err != nil {
			return err
		}
		if len(connections) > contactsOfMatrix {
			last := connections[contactsOfMatrix-1]
			connections, page.Older = connections[:contactsOfMatrix], olderURL("/knows", url.Values{}, last.CreatedAt, last.ID)
		}
		contacts, err := v.gather(tx, connections)
		page.Kinds, page.Rows = matrix(contacts)
		return err
	})
	if err != nil {
		return err
	}
	return v.show(view.Knows(page))
}

// gather puts together what contacts were told and what the rules say next. Who
// was never connected and never told anything is left out.
func (v *visit) gather(tx node.Tx, connections []coordination.Connection) ([]*known, error) {
	var contacts []*known
	byAddress := map[string]*known{}
	var addresses []string
	for _, c := range connections {
		if byAddress[c.Contact] == nil {
			k := &known{contact: c.Contact, ended: true, told: map[string]int{}, rules: map[string]view.Rule{}}
			contacts, addresses, byAddress[c.Contact] = append(contacts, k), append(addresses, c.Contact), k
		}
		if c.Status == coordination.ConnActive {
			if err := v.addRules(tx, byAddress[c.Contact], c); err != nil {
				return nil, err
			}
		}
	}
	counts, err := v.d.Coordination.CountDisclosures(tx, addresses)
	for _, count := range counts {
		byAddress[count.Contact].told[count.Capability] = count.Told
	}
	return slices.DeleteFunc(contacts, func(k *known) bool { return k.ended && len(k.told) == 0 }), err
}

// addRules adds what the rules of one agent say of each kind of detail.
func (v *visit) addRules(tx node.Tx, k *known, c coordination.Connection) error {
	k.ended = false
	if c.KeyChanged {
		return nil
	}
	answers, err := v.d.Policy.Effective(tx, c.AgentID, c.Contact, "disclose.*")
	for _, answer := range answers {
		rule := map[policy.Outcome]view.Rule{policy.Allowed: view.RuleAllow, policy.Held: view.RuleAsk}[answer.Outcome]
		if rule == "" {
			rule = view.RuleDeny
		}
		k.rules[answer.Capability] = loosest(k.rules[answer.Capability], rule)
	}
	return err
}

// looseness orders rules by what they let out.
var looseness = []view.Rule{view.RuleNone, view.RuleDeny, view.RuleAsk, view.RuleAllow}

func loosest(a, b view.Rule) view.Rule {
	return looseness[max(slices.Index(looseness, a), slices.Index(looseness, b))]
}

// matrix has a column for each kind that anything is known or decided of.
func matrix(contacts []*known) (kinds []string, rows []view.KnowsRow) {
	columns := kindsOf(contacts)
	for _, column := range columns {
		kinds = append(kinds, view.KindName(column))
	}
	for _, k := range contacts {
		row := view.KnowsRow{URL: ledgerURL(k.contact), Contact: k.contact, Ended: k.ended}
		for _, column := range columns {
			row.Cells = append(row.Cells, view.KnowsCell{URL: ledgerURL(k.contact, column), Told: k.told[column], Rule: k.rules[column]})
		}
		rows = append(rows, row)
	}
	return kinds, rows
}

// kindsOf lists the node's own kinds in their order, then others by name, and
// last the fields that need no permission.
func kindsOf(contacts []*known) []string {
	found := map[string]bool{}
	for _, k := range contacts {
		for capability := range k.told {
			found[capability] = true
		}
		for capability := range k.rules {
			found[capability] = true
		}
	}
	other := found[""]
	delete(found, "")
	var kinds []string
	for _, capability := range policy.Known {
		if found[capability] {
			kinds = append(kinds, capability)
			delete(found, capability)
		}
	}
	kinds = append(kinds, sortedKeys(found)...)
	if other {
		kinds = append(kinds, "")
	}
	return kinds
}
