package dashboard

import (
	"slices"
	"strings"

	"agentlink/dashboard/view"
	"agentlink/node"
	"agentlink/policy"
)

func (d *Dashboard) toolRoutes() []route {
	return []route{post("/agents/:id/tools", (*visit).saveTools)}
}

// toolMeans says what the tools of each group are; toolWords names the groups.
var toolMeans = map[policy.ToolGroup]string{
	policy.ToolsRead:    "Its own rules, contacts, messages, tasks, approvals, runs, and what is new.",
	policy.ToolsTalk:    "Ask for a connection, send messages.",
	policy.ToolsTasks:   "Start, propose, accept or reject, cancel.",
	policy.ToolsActions: "Ask you for an action's approval, run the action.",
}

func toolsForm(a policy.Agent, csrf string) view.ToolsForm {
	form := view.ToolsForm{URL: agentURL(a.ID) + "/tools", CSRF: csrf}
	for _, group := range policy.ToolGroups {
		name := toolWords[group]
		form.Groups = append(form.Groups, view.ToolGroup{
			Value: string(group), Name: strings.ToUpper(name[:1]) + name[1:], Means: toolMeans[group], Chosen: slices.Contains(a.Tools, group),
		})
	}
	return form
}

// saveTools takes the groups that are ticked. None of them is a choice too.
func (v *visit) saveTools() error {
	id := v.c.Params("id")
	chosen := []policy.ToolGroup{}
	for _, group := range v.c.Request().PostArgs().PeekMulti("tools") {
		chosen = append(chosen, policy.ToolGroup(group))
	}
	err := v.write(func(tx node.Tx) error {
		_, err := v.d.Policy.SetTools(tx, v.actor(id), id, chosen)
		return err
	})
	if err != nil {
		return err
	}
	return v.goTo(agentURL(id) + "?done=saved")
}
