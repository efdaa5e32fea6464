package mcp

import (
	"context"
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agentlink/actions"
	"agentlink/coordination"
	"agentlink/node"
)

// addResources offers the task types and the actions, with the schemas that
// proposals and parameters are held to.
func addResources(server *sdk.Server) {
	for _, name := range coordination.TypeNames() {
		kind, _ := coordination.TypeOf(name)
		addSchema(server, "agentlink://task-types/"+name, name, kind.Label,
			"The fields of a proposal of the type "+name+", as JSON Schema; which capability each field needs (disclosures); which action follows, and who runs it.",
			map[string]any{
				"type": name, "label": kind.Label, "fields": kind.Fields, "disclosures": kind.Disclosures, "freeText": kind.FreeText,
				"action": kind.Action, "executingRole": kind.ExecutingRole, "parameters": kind.Parameters,
			})
	}
	for _, name := range actions.Names() {
		action, _ := actions.DefinitionOf(name)
		addSchema(server, "agentlink://actions/"+name, name, action.Label,
			"The parameters of the action "+name+", as JSON Schema.",
			map[string]any{"action": name, "label": action.Label, "parameters": action.Parameters})
	}
}

func addSchema(server *sdk.Server, uri, name, title, description string, value map[string]any) {
	const kind = "application/json"
	text := indented(value)
	server.AddResource(&sdk.Resource{URI: uri, Name: name, Title: title, Description: description, MIMEType: kind, Size: int64(len(text))},
		func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: kind, Text: text}}}, nil
		})
}

func indented(value map[string]any) string {
	var again any
	if err := json.Unmarshal(node.MustCanonical(value), &again); err != nil {
		panic("mcp: " + err.Error())
	}
	text, err := json.MarshalIndent(again, "", "  ")
	if err != nil {
		panic("mcp: " + err.Error())
	}
	return string(text)
}
