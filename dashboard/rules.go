package dashboard

import (
	"strconv"
	"strings"

	"agentlink/dashboard/view"
	"agentlink/node"
	"agentlink/policy"
)

// Rules of the owner's own take two steps: a page that compiles a text and shows
// what it would have turned, and the form on that page, which saves it. All three
// routes ask for passkey or password first, so that no text is lost on the way.
func (d *Dashboard) ruleRoutes() []route {
	return []route{
		get("/settings/rules", (*visit).rulesPage).with(fresh),
		post("/settings/rules", (*visit).rulesForesee).with(fresh),
		post("/settings/rules/save", (*visit).rulesSave).with(fresh),
	}
}

func (v *visit) rulesPage() error {
	page, err := v.rulesForm(nil)
	if err != nil {
		return err
	}
	return v.show(view.Rules(page))
}

// rulesForm is the page with the rules that hold, or with a text that was sent.
func (v *visit) rulesForm(sent *string) (page view.RulesPage, err error) {
	err = v.read(func(tx node.Tx) (err error) {
		if page.Frame, err = v.frame(tx, "Rules of your own", "/settings"); err != nil {
			return err
		}
		now, err := v.d.Policy.Overlay(tx, v.actor(""))
		page.Number, page.Since, page.Text, page.Longest = now.Number, now.CreatedAt, now.Source, policy.MaxOverlay
		page.Hold = now.Version != ""
		if page.Hold {
			page.Version = now.Version[:16]
		}
		if sent != nil {
			page.Text = *sent
		}
		return err
	})
	return page, err
}

// sentRules reads a text as a form brings it: with one kind of line break, and no
// spaces alone for nothing.
func (v *visit) sentRules() string {
	text := strings.ReplaceAll(v.c.FormValue("rules"), "\r\n", "\n")
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return text
}

func (v *visit) rulesForesee() error { return v.showForeseenRules(v.sentRules(), "") }

func (v *visit) showForeseenRules(text, problem string) error {
	var forecast policy.OverlayForecast
	page, err := v.rulesForm(&text)
	if err != nil {
		return err
	}
	page.Frame.Problem = problem
	err = v.read(func(tx node.Tx) (err error) {
		forecast, err = v.d.Policy.ForeseeOverlay(tx, v.actor(""), text)
		return err
	})
	if err != nil {
		return err
	}
	for _, problem := range forecast.Problems {
		page.Problems = append(page.Problems, problem.String())
	}
	page.Looked, page.Removes = len(page.Problems) == 0, text == ""
	for _, agent := range forecast.Agents {
		page.Agents = append(page.Agents, view.RulesAgent{Handle: agent.Agent.Handle, Past: pastTurns(agent.Past)})
	}
	return v.show(view.Rules(page))
}

func (v *visit) rulesSave() error {
	seen, err := strconv.ParseInt(v.c.FormValue("seen"), 10, 64)
	if err != nil {
		return node.BadFields(node.Field{Field: "seen", Problem: "must be the number of the rules that were shown"})
	}
	text := v.sentRules()
	err = v.write(func(tx node.Tx) error {
		_, err := v.d.Policy.SetOverlay(tx, v.actor(""), text, seen)
		return err
	})
	if node.CodeOf(err) == node.Conflict {
		return v.showForeseenRules(text, "Your own rules were changed meanwhile. Nothing was saved. This is what it would do now.")
	}
	if err != nil {
		return err
	}
	if text == "" {
		return v.goTo("/settings/rules?done=removed")
	}
	return v.goTo("/settings/rules?done=saved")
}
