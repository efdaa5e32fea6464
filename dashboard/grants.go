package dashboard

import (
	"net/url"
	"regexp"
	"time"

	"agentlink/coordination"
	"agentlink/dashboard/view"
	"agentlink/node"
	"agentlink/policy"
)

func (d *Dashboard) grantRoutes() []route {
	return []route{
		get("/agents/:id/grants", (*visit).grants),
		get("/agents/:id/grants/change", (*visit).foreseeGrant),
		post("/agents/:id/grants/change", (*visit).saveGrant), post("/agents/:id/grants/allow", (*visit).saveAllow).with(fresh),
		get("/agents/:id/grants/remove", (*visit).foreseeRemoval), post("/agents/:id/grants/remove", (*visit).removeGrant).with(fresh),
	}
}

// grantsURL is the page of an agent's grants for a contact; "" for the agent-wide ones.
func grantsURL(agentID, contact string) string {
	address := agentURL(agentID) + "/grants"
	if contact != "" {
		address += "?" + url.Values{"contact": {contact}}.Encode()
	}
	return address
}

// grants shows the grants for ?contact=, agent-wide without it; with ?grant= that
// one is in the form.
func (v *visit) grants() error {
	return v.showGrants(v.c.Query("contact"), nil, "")
}

// showGrants shows what was typed again, where there is a problem with it.
func (v *visit) showGrants(contact string, typed *view.GrantForm, problem string) error {
	var page view.GrantsPage
	err := v.read(func(tx node.Tx) (err error) {
		if page.Frame, err = v.frame(tx, "Grants", "/agents"); err != nil {
			return err
		}
		return v.readGrants(tx, contact, typed, &page)
	})
	if err != nil {
		return err
	}
	page.Frame.Problem = problem
	return v.show(view.Grants(page))
}

func (v *visit) readGrants(tx node.Tx, contact string, typed *view.GrantForm, page *view.GrantsPage) error {
	a, err := v.d.Policy.Agent(tx, v.c.Params("id"))
	if err != nil {
		return err
	}
	var changed policy.Grant
	if contact != "" {
		if _, err := node.ParseAddress(contact); err != nil {
			return node.BadFields(node.Field{Field: "contact", Problem: "must look like handle@host or handle@host:port"})
		}
	}
	if id := v.c.Query("grant"); id != "" {
		if changed, err = v.grantOf(tx, a, id); err != nil {
			return err
		}
		contact = changed.Contact
	}
	page.Agent = v.agentView(a)
	if page.Grants, err = v.d.grantsEditor(tx, a, contact, backOf(v.c.Query("back")), v.now); err != nil {
		return err
	}
	offer := page.Grants.Form.Known
	switch {
	case typed != nil:
		page.Grants.Form = *typed
	case changed.ID != "":
		page.Grants.Form = formOf(changed)
	}
	page.Grants.Form.Known = offer
	if contact == "" {
		return nil
	}
	known, err := v.d.Coordination.ConnectionsWith(tx, a.ID, contact)
	if err != nil {
		return err
	}
	if len(known) > 0 {
		page.ContactURL = contactURL(known[0].ID)
	}
	page.Answers, err = v.towards(tx, a, contact, known)
	return err
}

// grantOf is a grant of this agent. Code: not_found.
func (v *visit) grantOf(tx node.Tx, a policy.Agent, id string) (policy.Grant, error) {
	steps, err := v.d.Policy.Steps(tx, policy.Plan{AgentID: a.ID, Remove: id})
	if err != nil {
		return policy.Grant{}, err
	}
	return steps.Ends[0], nil
}

// grantsEditor is the editor of an agent's grants for a contact, "" for the
// agent-wide ones. Back is where saving leads: a contact's page, or "".
func (d *Dashboard) grantsEditor(tx node.Tx, a policy.Agent, contact, back string, now time.Time) (view.GrantsEditor, error) {
	editor := view.GrantsEditor{AgentURL: agentURL(a.ID), Handle: a.Handle, Contact: contact, Back: back, Now: now}
	none := ""
	wide, err := d.Policy.Grants(tx, a.ID, &none)
	if err != nil {
		return editor, err
	}
	own := wide
	if contact != "" {
		if own, err = d.Policy.Grants(tx, a.ID, &contact); err != nil {
			return editor, err
		}
		editor.Wide = grantRows(wide, now)
	}
	editor.Own = grantRows(own, now)
	editor.Form.Known = offered(append(own, wide...))
	return editor, nil
}

var grantMeanings = map[policy.GrantMode]view.Meaning{policy.Allow: view.OK, policy.Ask: view.Waits, policy.Deny: view.No}

var grantWords = map[policy.GrantMode]string{policy.Allow: "Allow", policy.Ask: "Ask", policy.Deny: "Deny"}

func grantRows(grants []policy.Grant, now time.Time) []view.GrantRow {
	rows := make([]view.GrantRow, len(grants))
	for i, g := range grants {
		rows[i] = view.GrantRow{
			ID: g.ID, Capability: g.Capability, Name: capabilityName(g.Capability), Meaning: grantMeanings[g.Mode], Word: grantWords[g.Mode],
			Constraints: constraintWords(g.Constraints), Until: g.ExpiresAt, Over: !g.ExpiresAt.IsZero() && !now.Before(g.ExpiresAt),
		}
	}
	return rows
}

func formOf(g policy.Grant) view.GrantForm {
	form := view.GrantForm{Grant: g.ID, Capability: g.Capability, Mode: string(g.Mode), Constraints: constraintWords(g.Constraints)}
	if !g.ExpiresAt.IsZero() {
		form.For, form.Until = "until", g.ExpiresAt.UTC().Format(formTime)
	}
	return form
}

// towards says what holds towards a contact; known are the connections with it,
// the latest first.
func (v *visit) towards(tx node.Tx, a policy.Agent, contact string, known []coordination.Connection) ([]view.AnswerRow, error) {
	request := policy.Request{AgentID: a.ID, Contact: contact}
	if len(known) > 0 {
		request.Connection, request.StructuredOnly = string(known[0].Status), known[0].StructuredOnly
	}
	effective, err := v.d.Policy.Effective(tx, a.ID, contact)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(effective))
	for i, answer := range effective {
		names[i] = answer.Capability
	}
	answers, err := v.d.Decider.Capabilities(tx, request, names)
	if err != nil {
		return nil, err
	}
	grants, err := v.d.Policy.Grants(tx, a.ID, nil)
	return answersTowards(answers, contact, grants, v.now), err
}

// maxContacts is how many connections of an agent a forecast looks at.
const maxContacts = 500

// contactsOf are the contacts with whom an agent is connected, and whether there
// are more than are looked at.
func (d *Dashboard) contactsOf(tx node.Tx, agentID string) (contacts []policy.Toward, more bool, err error) {
	page := coordination.Page{Limit: 100}
	for range maxContacts / page.Limit {
		list, err := d.Coordination.Connections(tx, agentID, page)
		if err != nil {
			return nil, false, err
		}
		for _, c := range list {
			if c.Status == coordination.ConnActive {
				contacts = append(contacts, policy.Toward{Contact: c.Contact, StructuredOnly: c.StructuredOnly})
			}
			page.BeforeAt, page.BeforeID = c.CreatedAt, c.ID
		}
		if len(list) < page.Limit {
			return contacts, false, nil
		}
	}
	return contacts, true, nil
}

var contactPage = regexp.MustCompile(`^/contacts/[0-9a-f-]{36}$`)

// backOf lets a form lead back to a contact's page, and nowhere else.
func backOf(path string) string {
	if contactPage.MatchString(path) {
		return path
	}
	return ""
}
