package mcp

import (
	"context"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agentlink/node/api/agent"
	"agentlink/node/api/schema"
)

// made is a tool on top of its operation.
type made struct {
	tool
	door      *door
	operation agent.Operation
	described *sdk.Tool
	inputs    inputs
}

// tools puts the table of tools on top of the operations.
func (d *door) tools() []*made {
	byRoute := make(map[string]agent.Operation, len(d.API.Operations))
	for _, operation := range d.API.Operations {
		byRoute[operation.Route()] = operation
	}
	list := make([]*made, 0, len(tools))
	for _, t := range tools {
		operation, ok := byRoute[t.route]
		if !ok {
			panic(fmt.Sprintf("mcp: %s has no operation %s", t.name, t.route))
		}
		m := &made{tool: t, door: d, operation: operation}
		m.inputs = inputsOf(d.API.Schemas, operation)
		m.described = m.describe()
		list = append(list, m)
	}
	return list
}

// describe is the tool as clients see it.
func (m *made) describe() *sdk.Tool {
	hint := func(yes bool) *bool { return &yes }
	return &sdk.Tool{
		Name: m.name, Title: m.title, Description: m.says,
		InputSchema: m.inputs.schema, OutputSchema: m.output(),
		Annotations: &sdk.ToolAnnotations{
			Title: m.title, ReadOnlyHint: m.hints.reads, DestructiveHint: hint(m.hints.destroys),
			IdempotentHint: m.hints.repeats, OpenWorldHint: hint(m.hints.outside),
		},
	}
}

// output is the schema of the answer, with the version of an object that has one.
func (m *made) output() schema.Rule {
	rule := m.door.API.Schemas.Whole(m.operation.Answer)
	if m.operation.Versioned() {
		rule["properties"].(map[string]any)[etagName] = schema.Rule{"type": "string", "description": "Version of the answer; give it back with wait."}
	}
	return rule
}

// handle serves a call. Whatever a client answers to a question that nobody
// asked (inputResponses) is not looked at.
func (m *made) handle(ctx context.Context, request *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	call, err := m.inputs.call(m.operation, request.Params.Arguments)
	if err != nil {
		return refusal(err), nil
	}
	claims := claimsOf(request)
	call.Claims, call.RequestID = &claims, m.door.IDs.New()
	ctx, done := m.door.leaves.enter(ctx, sessionOf{claims.Sub, request.Session.ID()})
	defer done()
	stop := keepInformed(ctx, request)
	answer := m.answer(ctx, call)
	stop()
	if held(answer) {
		m.door.callAttention(request)
	}
	return m.result(answer), nil
}
