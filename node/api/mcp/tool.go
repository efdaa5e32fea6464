package mcp

import (
	"context"
	"fmt"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agentlink/node/api"
	"agentlink/node/api/agent"
	"agentlink/node/api/schema"
)

// made is a tool on top of its operation.
type made struct {
	tool
	offer     Offer
	operation agent.Operation
	described *sdk.Tool
	inputs    inputs
}

// makeTools puts the table of tools on top of the offered operations.
func makeTools(offer Offer) []*made {
	byRoute := make(map[string]agent.Operation, len(offer.Operations))
	for _, operation := range offer.Operations {
		byRoute[operation.Route()] = operation
	}
	list := make([]*made, 0, len(tools))
	for _, t := range tools {
		operation, ok := byRoute[t.route]
		if !ok {
			panic(fmt.Sprintf("mcp: %s has no operation %s", t.name, t.route))
		}
		m := &made{tool: t, offer: offer, operation: operation}
		m.inputs = inputsOf(offer.Schemas, operation)
		m.described = m.describe()
		list = append(list, m)
	}
	return list
}

// describe is the tool as clients see it.
func (m *made) describe() *sdk.Tool {
	no := func(yes bool) *bool { return &yes }
	return &sdk.Tool{
		Name: m.name, Title: m.title, Description: m.says,
		InputSchema: m.inputs.schema, OutputSchema: m.output(),
		Annotations: &sdk.ToolAnnotations{
			Title: m.title, ReadOnlyHint: m.hints.reads, DestructiveHint: no(m.hints.destroys),
			IdempotentHint: m.hints.repeats, OpenWorldHint: no(m.hints.outside),
		},
	}
}

// output is the schema of the answer, with the version of an object that has one.
func (m *made) output() schema.Rule {
	rule := m.offer.Schemas.Whole(m.operation.Answer)
	if m.versioned() {
		properties := copied(rule["properties"].(map[string]any))
		properties[etagName] = schema.Rule{"type": "string", "description": "Version of the answer; give it back with wait."}
		rule["properties"] = properties
	}
	return rule
}

// versioned says whether the answer carries a version that a wait goes on from.
func (m *made) versioned() bool {
	return slices.Contains(m.operation.Statuses, api.NotModified)
}

func copied(from map[string]any) map[string]any {
	to := make(map[string]any, len(from)+1)
	for name, value := range from {
		to[name] = value
	}
	return to
}

// handle serves a call. Whatever a client answers to a question that nobody
// asked (inputResponses) is not looked at.
func (m *made) handle(ctx context.Context, request *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	call, err := m.inputs.call(m.operation, request.Params.Arguments)
	if err != nil {
		return refusal(err), nil
	}
	m.offer.Calls(request, &call)
	stop := keepInformed(ctx, request)
	answer := m.answer(ctx, call)
	stop()
	if held(answer) {
		m.offer.callAttention(ctx, request)
	}
	return m.result(answer), nil
}
