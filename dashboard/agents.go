package dashboard

import (
	"agentlink/dashboard/view"
	"agentlink/node"
	"agentlink/policy"
)

func (d *Dashboard) agentRoutes() []route {
	return []route{
		get("/agents", (*visit).agents),
		get("/agents/new", (*visit).newAgent).with(fresh), post("/agents/new", (*visit).createAgent).with(fresh),
		get("/agents/:id", (*visit).agent),
		get("/agents/:id/mode", (*visit).foreseeMode),
		post("/agents/:id/mode", (*visit).saveMode), post("/agents/:id/mode/autonomous", (*visit).saveAutonomous).with(fresh),
		post("/agents/:id/disable", (*visit).disable), post("/agents/:id/enable", (*visit).enable).with(fresh),
		get("/agents/:id/key", (*visit).askKey).with(fresh), post("/agents/:id/key", (*visit).replaceKey).with(fresh),
	}
}

func agentURL(id string) string { return "/agents/" + id }

func (v *visit) agents() error {
	var page view.AgentsPage
	err := v.read(func(tx node.Tx) (err error) {
		if page.Frame, err = v.frame(tx, "Agents", "/agents"); err != nil {
			return err
		}
		agents, err := v.d.Policy.Agents(tx)
		for _, a := range agents {
			mode := modeWords[a.Mode]
			page.Agents = append(page.Agents, view.AgentRow{
				URL: agentURL(a.ID), Handle: a.Handle, Name: a.Name, Mode: mode.name, Means: mode.means, Disabled: a.Status == policy.Disabled,
			})
		}
		return err
	})
	if err != nil {
		return err
	}
	return v.show(view.Agents(page))
}

// newAgent starts on manual: a newcomer does nothing by itself.
func (v *visit) newAgent() error {
	return v.showNewAgent(view.NewAgentPage{Modes: modeChoices(policy.Manual)}, "")
}

func (v *visit) showNewAgent(page view.NewAgentPage, problem string) error {
	err := v.read(func(tx node.Tx) (err error) {
		page.Frame, err = v.frame(tx, "New agent", "/agents")
		return err
	})
	if err != nil {
		return err
	}
	page.Frame.Problem, page.Host = problem, v.d.Info.Host
	return v.show(view.NewAgent(page))
}

// createAgent answers with the key itself: it is nowhere to be found again, and
// no address may hold it.
func (v *visit) createAgent() error {
	n := policy.NewAgent{Handle: v.c.FormValue("handle"), Name: v.c.FormValue("name"), Mode: policy.Mode(v.c.FormValue("mode"))}
	var agent policy.Agent
	var key string
	err := v.write(func(tx node.Tx) (err error) {
		if n.Mode == "" { // the form has a choice; the API's default is not this page's
			return node.BadFields(node.Field{Field: "mode", Problem: "must be manual, assisted or autonomous"})
		}
		agent, key, err = v.d.Policy.CreateAgent(tx, v.actor(""), n)
		return err
	})
	if err != nil {
		if text, ok := v.correctable(err); ok {
			return v.showNewAgent(view.NewAgentPage{Handle: n.Handle, Name: n.Name, Modes: modeChoices(n.Mode)}, text)
		}
		return err
	}
	return v.showKey(agent, key, true)
}

func (v *visit) agent() error {
	var page view.AgentPage
	err := v.read(func(tx node.Tx) (err error) {
		if page.Frame, err = v.frame(tx, "Agent", "/agents"); err != nil {
			return err
		}
		return v.readAgent(tx, &page)
	})
	if err != nil {
		return err
	}
	return v.show(view.AgentOf(page))
}

func (v *visit) readAgent(tx node.Tx, page *view.AgentPage) error {
	a, err := v.d.Policy.Agent(tx, v.c.Params("id"))
	if err != nil {
		return err
	}
	page.Agent, page.Says, page.Modes = v.agentView(a), says(a), modeChoices(a.Mode)
	page.HookUps, page.Tools = v.d.hookUps(a), toolsForm(a, page.Frame.CSRF)
	if page.Clients, err = v.clientsOf(tx, a.ID, page.Frame.CSRF); err != nil {
		return err
	}
	contacts, more, err := v.d.contactsOf(tx, a.ID)
	if err != nil {
		return err
	}
	places, err := v.d.Policy.Everywhere(tx, a.ID, contacts)
	if err != nil {
		return err
	}
	grants, err := v.d.Policy.Grants(tx, a.ID, nil)
	if err != nil {
		return err
	}
	page.MoreSides = more
	page.Answers = answersEverywhere(places, grants, v.now)
	page.Grants, err = v.d.grantsEditor(tx, a, "", "", v.now)
	return err
}

func (v *visit) agentView(a policy.Agent) view.Agent {
	return view.Agent{
		URL: agentURL(a.ID), ID: a.ID, Handle: a.Handle, Name: a.Name, Address: node.Address{Handle: a.Handle, Host: v.d.Info.Host}.String(),
		Disabled: a.Status == policy.Disabled, Key: a.KeyGeneration, CreatedAt: a.CreatedAt,
	}
}

func (v *visit) disable() error { return v.setStatus(policy.Disabled, "disabled") }
func (v *visit) enable() error  { return v.setStatus(policy.Active, "enabled") }

func (v *visit) setStatus(status policy.Status, done string) error {
	id := v.c.Params("id")
	err := v.write(func(tx node.Tx) error {
		_, err := v.d.Policy.SetStatus(tx, v.actor(id), id, status)
		return err
	})
	if err != nil {
		return err
	}
	return v.goTo(agentURL(id) + "?done=" + done)
}

func (v *visit) askKey() error {
	var a policy.Agent
	err := v.read(func(tx node.Tx) (err error) {
		a, err = v.d.Policy.Agent(tx, v.c.Params("id"))
		return err
	})
	if err != nil {
		return err
	}
	return v.showKey(a, "", false)
}

func (v *visit) replaceKey() error {
	id := v.c.Params("id")
	var a policy.Agent
	var key string
	err := v.write(func(tx node.Tx) (err error) {
		a, key, err = v.d.Policy.ReplaceKey(tx, v.actor(id), id)
		return err
	})
	if err != nil {
		return err
	}
	return v.showKey(a, key, false)
}

func (v *visit) showKey(a policy.Agent, key string, created bool) error {
	page := view.KeyPage{Agent: v.agentView(a), Created: created, Key: key, HookUps: v.d.hookUps(a)}
	err := v.read(func(tx node.Tx) (err error) {
		page.Frame, err = v.frame(tx, "Key", "/agents")
		return err
	})
	if err != nil {
		return err
	}
	return v.show(view.Key(page))
}
