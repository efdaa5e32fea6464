package dashboard

import (
	"agentlink/dashboard/view"
	"agentlink/node"
	"agentlink/node/hookup"
	"agentlink/policy"
)

// hookUps are the ways in which an agent can work with the node, each with lines
// to copy. None of them holds the key: a line's arguments are seen by others on
// the machine, and shells remember them.
func (d *Dashboard) hookUps(a policy.Agent) []view.HookUp {
	address := node.Address{Handle: a.Handle, Host: d.Info.Host}.String()
	var all []view.HookUp
	for _, client := range hookup.Clients() {
		all = append(all, d.hookUp(client, address))
	}
	return append(all, d.plainHTTP(a))
}

// hookUp shows the command that does it, then the two ways by hand.
func (d *Dashboard) hookUp(client hookup.Client, address string) view.HookUp {
	up := view.HookUp{ID: client.Name, Title: client.Title}
	if client.Place() {
		up.Steps = []view.HookUpStep{{
			Head: "With one command", Text: "On the machine where " + client.Title + " runs. It asks for the key, and keeps a copy of the settings that it changes:",
			Lines: "agentlink hookup " + client.Name + " " + address + " --url " + d.Info.URL + " --write",
		}}
	}
	server := hookup.Server{Name: hookup.DefaultName, URL: d.Info.URL, HTTP: true}
	up.Steps = append(up.Steps, way("By the address alone", "No key is needed: you approve the program here.", client, server)...)
	server.HTTP, server.Command, server.KeyFile = false, "agentlink", hookup.ExampleKeyFile(address)
	up.Steps = append(up.Steps, way("By hand, with the key in a file",
		"Only the program's user may read the file (mode 0600). Put its path in, and that of agentlink where it is not found.", client, server)...)
	return up
}

func way(head, text string, client hookup.Client, server hookup.Server) []view.HookUpStep {
	all := []view.HookUpStep{{Head: head, Text: text}}
	for _, step := range client.Steps(server, client.Where) {
		all = append(all, view.HookUpStep{Text: step.Text, Lines: step.Lines})
	}
	return all
}

// plainHTTP is for programs that speak no MCP.
func (d *Dashboard) plainHTTP(a policy.Agent) view.HookUp {
	return view.HookUp{
		ID: "rest", Title: "Plain HTTP",
		Steps: []view.HookUpStep{
			{
				Text: "Change the key for a token, which is good for 15 minutes. curl asks for the key.",
				Lines: "umask 077\ncurl -su " + a.Handle + " -d grant_type=client_credentials " + d.Info.URL + "/oauth/token |\n" +
					`  sed 's/.*"access_token":"\([^"]*\)".*/Authorization: Bearer \1/' > token`,
			},
			{
				Text:  "Work with it: who am I, what may I do, what has happened.",
				Lines: "curl -sH @token " + d.Info.URL + "/v1/agent/me\ncurl -sH @token " + d.Info.URL + "/v1/agent/capabilities\ncurl -sH @token " + d.Info.URL + "/v1/agent/events",
			},
			{
				Text:  "All of it, for tools that read OpenAPI.",
				Lines: d.Info.URL + "/openapi.json",
			},
		},
	}
}
