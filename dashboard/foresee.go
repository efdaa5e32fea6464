package dashboard

import (
	"strconv"
	"strings"

	"agentlink/dashboard/view"
	"agentlink/node"
	"agentlink/policy"
)

// A change of rules takes two steps: a page that shows what it would do, and the
// form on that page, which saves it as it was shown.

func (v *visit) foreseeMode() error    { return v.foresee(v.modePlan(v.c.Query)) }
func (v *visit) foreseeRemoval() error { return v.foresee(v.removalPlan(v.c.Query)) }

// foreseeGrant gives the form back where something in it is wrong.
func (v *visit) foreseeGrant() error {
	p, err := v.grantPlan(v.c.Query)
	if err == nil {
		err = v.foresee(p)
	}
	if node.CodeOf(err) != node.BadRequest {
		return err
	}
	text, _ := v.correctable(err)
	return v.showGrants(v.c.Query("contact"), &view.GrantForm{
		Capability: v.c.Query("capability"), Mode: v.c.Query("mode"), For: v.c.Query("for"), Until: v.c.Query("until"), Beside: v.c.Query("beside") != "",
	}, text)
}

func (v *visit) foresee(p plan) error {
	var page view.ForeseenPage
	err := v.read(func(tx node.Tx) (err error) {
		if page.Frame, err = v.frame(tx, "Before you save", "/agents"); err != nil {
			return err
		}
		return v.readForeseen(tx, p, &page)
	})
	if err != nil {
		return err
	}
	if v.c.Query("changed") != "" {
		page.Frame.Problem = "The agent's rules were changed meanwhile. Nothing was saved. This is what it would do now."
	}
	return v.show(view.Foreseen(page))
}

func (v *visit) readForeseen(tx node.Tx, p plan, page *view.ForeseenPage) error {
	contacts, more, err := v.contactsFor(tx, p)
	if err != nil {
		return err
	}
	f, err := v.d.Policy.Foresee(tx, p.Plan, contacts)
	if err != nil {
		return err
	}
	grants, err := v.d.Policy.Grants(tx, p.AgentID, nil)
	if err != nil {
		return err
	}
	a := f.Agent
	page.Agent, page.What = v.agentView(a), planWords(f.Steps)
	if f.Set != nil {
		page.Constraints = constraintWords(f.Set.Constraints)
	}
	page.NothingNew = nothingNew(f.Steps, grants)
	page.Turns = turnsNow(f)
	page.Past = pastTurns(f.Past)
	page.Warnings = warnings(f, grants)
	page.Notes = notes(f, grants, v.now)
	if f.Set != nil {
		page.Ends = grantRows(f.Ends, v.now)
	}
	if more {
		page.Notes = append(page.Notes, "There are more contacts than were looked at for this page: the latest "+strconv.Itoa(maxContacts)+" connections.")
	}
	action, needed := p.opens()
	page.Save = view.SaveForm{
		Action: agentURL(a.ID) + action, Hidden: p.hidden(a.RulesRev), Word: saveWord(f.Steps), Fresh: needed, Back: p.leads(contactOf(f.Steps)),
	}
	return nil
}

// contactsFor are the contacts that a plan can matter to.
func (v *visit) contactsFor(tx node.Tx, p plan) (contacts []policy.Toward, more bool, err error) {
	steps, err := v.d.Policy.Steps(tx, p.Plan)
	if err != nil {
		return nil, false, err
	}
	contact := contactOf(steps)
	if contact == "" {
		return v.d.contactsOf(tx, p.AgentID)
	}
	known, err := v.d.Coordination.ConnectionsWith(tx, p.AgentID, contact)
	return []policy.Toward{{Contact: contact, StructuredOnly: len(known) > 0 && known[0].StructuredOnly}}, false, err
}

// saveMode saves every mode but autonomous, which has a route of its own: there
// password or passkey has just been given.
func (v *visit) saveMode() error {
	p := v.modePlan(v.c.FormValue)
	if p.Mode == policy.Autonomous {
		return errElsewhere
	}
	return v.save(p)
}

func (v *visit) saveAutonomous() error {
	p := v.modePlan(v.c.FormValue)
	if p.Mode != policy.Autonomous {
		return errElsewhere
	}
	return v.save(p)
}

// saveGrant saves every grant but an allow, which has a route of its own.
func (v *visit) saveGrant() error {
	return v.saveGrantOf(func(mode policy.GrantMode) bool { return mode != policy.Allow })
}

func (v *visit) saveAllow() error {
	return v.saveGrantOf(func(mode policy.GrantMode) bool { return mode == policy.Allow })
}

func (v *visit) saveGrantOf(fits func(policy.GrantMode) bool) error {
	p, err := v.grantPlan(v.c.FormValue)
	if err != nil {
		return err
	}
	if !fits(p.Grant.Mode) {
		return errElsewhere
	}
	return v.save(p)
}

func (v *visit) removeGrant() error { return v.save(v.removalPlan(v.c.FormValue)) }

var errElsewhere = node.BadFields(node.Field{Field: "mode", Problem: "is not saved by this form. Open the page again"})

// save carries out a plan as it was shown; where the rules have changed since,
// it is shown again.
func (v *visit) save(p plan) error {
	seen, err := strconv.ParseInt(v.c.FormValue("rev"), 10, 64)
	if err != nil {
		return node.BadFields(node.Field{Field: "rev", Problem: "is missing. Open the page again"})
	}
	contact, done := "", "saved"
	if p.Remove != "" {
		done = "removed"
	}
	err = v.write(func(tx node.Tx) error {
		steps, err := v.d.Policy.Steps(tx, p.Plan)
		if err != nil {
			return err
		}
		contact = contactOf(steps)
		return v.d.Policy.CarryOut(tx, v.actor(p.AgentID), p.Plan, seen)
	})
	if node.CodeOf(err) == node.Conflict && err != nil {
		return v.goTo(p.url() + "&changed=yes")
	}
	if err != nil {
		return err
	}
	return v.goTo(withDone(p.leads(contact), done))
}

// withDone adds the word for what was just done to an address.
func withDone(path, word string) string {
	if strings.Contains(path, "?") {
		return path + "&done=" + word
	}
	return path + "?done=" + word
}
