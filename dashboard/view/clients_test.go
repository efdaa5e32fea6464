package view_test

import (
	"testing"
	"time"

	"agentlink/dashboard/view"
)

func here() view.Program {
	return view.Program{Name: "Work\u202ebench <b>", Place: view.Place{Host: "127.0.0.1:4711", Here: true}}
}

func known() view.Program {
	return view.Program{Name: "Editor", Known: "editor.example", Place: view.Place{Host: "editor.example"}, Before: true}
}

func opened() view.Program {
	return view.Program{Name: "Еditor", Place: view.Place{Scheme: "cursor"}}
}

func TestAuthorize(t *testing.T) {
	t.Parallel()
	page := view.AuthorizePage{
		CSRF: "token of the session", Action: "/oauth/authorize?client_id=1&state=%22", Refuse: "/oauth/authorize/refuse?client_id=1&state=%22",
		Program: here(),
	}
	golden(t, "authorize-no-agent", view.Authorize(page))
	page.Agents = []view.AgentChoice{{ID: "0197", Handle: "scout", Name: "Scout\u202e <b>", Mode: "Manual", Means: "Everything waits.", Tools: "read and wait", Chosen: true}}
	golden(t, "authorize", view.Authorize(page))
	page.Agents[0].Chosen = false
	page.Agents = append(page.Agents, view.AgentChoice{ID: "0198", Handle: "juno", Name: "juno", Mode: "Autonomous", Means: "It acts."})
	page.Program, page.Problem = known(), "Choose the agent that the program is to act as."
	golden(t, "authorize-several", view.Authorize(page))
	page.Program, page.Problem = opened(), ""
	golden(t, "authorize-app", view.Authorize(page))
}

func TestGo(t *testing.T) {
	t.Parallel()
	golden(t, "authorize-go", view.Go(view.GoPage{Title: "Approved", Text: "It acts as scout.", Program: known(), URL: "https://editor.example/callback?code=1&state=%22"}))
	golden(t, "authorize-app-go", view.Go(view.GoPage{Title: "Refused", Text: "It gets nothing.", Program: opened(), URL: "cursor://x/y?error=access_denied"}))
	golden(t, "authorize-nowhere", view.Go(view.GoPage{Title: "This program cannot be let in", Text: "It is not known."}))
	golden(t, "authorize-arrive", view.Arrive("/oauth/authorize?client_id=1&state=%22"))
}

func TestClientsOf(t *testing.T) {
	t.Parallel()
	golden(t, "clients-none", view.ClientsOf(view.ClientsCard{Address: "https://node.example/mcp"}))
	golden(t, "clients", view.ClientsOf(view.ClientsCard{CSRF: "token of the session", Rows: []view.ClientRow{
		{URL: "/agents/1/clients/2/revoke", Program: here(), SinceAt: now.Add(-time.Hour), UsedAt: now},
		{URL: "/agents/1/clients/3/revoke", Program: known(), SinceAt: now.Add(-48 * time.Hour), UsedAt: now},
		{URL: "/agents/1/clients/4/revoke", Program: opened(), SinceAt: now.Add(-72 * time.Hour), UsedAt: now},
	}}))
}
