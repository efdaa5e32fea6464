package dashboard

import (
	"agentlink/dashboard/view"
	"agentlink/policy"
)

// hookUps are the ways in which an agent can work with the node, each with lines
// to copy. None of them holds the key: a line's arguments are seen by others on
// the machine, and shells remember them.
func (d *Dashboard) hookUps(a policy.Agent) []view.HookUp {
	return []view.HookUp{{
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
	}}
}
