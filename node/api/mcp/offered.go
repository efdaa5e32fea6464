package mcp

import (
	"context"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agentlink/node"
	"agentlink/policy"
)

// groupOf gives the group of a tool by its name.
var groupOf = func() map[string]policy.ToolGroup {
	groups := make(map[string]policy.ToolGroup, len(tools))
	for _, t := range tools {
		groups[t.name] = t.group
	}
	return groups
}()

// onlyOffered shows each caller the tools of the groups that the owner chose for
// the agent, as they are at the time of the request, and knows no others.
func (d *door) onlyOffered(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, request sdk.Request) (sdk.Result, error) {
		switch method {
		case "tools/list":
			result, err := next(ctx, method, request)
			if err != nil {
				return nil, err
			}
			return d.shown(ctx, request, result)
		case "tools/call":
			if err := d.mayCall(ctx, request); err != nil {
				return nil, err
			}
		}
		return next(ctx, method, request)
	}
}

func (d *door) shown(ctx context.Context, request sdk.Request, result sdk.Result) (sdk.Result, error) {
	groups, err := d.groups(ctx, request)
	if err != nil {
		return nil, err
	}
	if list, ok := result.(*sdk.ListToolsResult); ok {
		list.Tools = slices.DeleteFunc(list.Tools, func(t *sdk.Tool) bool { return hidden(groups, t.Name) })
	}
	return result, nil
}

func hidden(groups []policy.ToolGroup, name string) bool {
	group, ours := groupOf[name]
	return ours && !slices.Contains(groups, group)
}

func (d *door) mayCall(ctx context.Context, request sdk.Request) error {
	params, ok := request.GetParams().(*sdk.CallToolParamsRaw)
	if !ok {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "This call cannot be read."}
	}
	groups, err := d.groups(ctx, request)
	if err != nil {
		return err
	}
	if hidden(groups, params.Name) {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("The owner does not offer the tool %s to this agent.", params.Name)}
	}
	return nil
}

// groups are those that the owner chose for the calling agent.
func (d *door) groups(ctx context.Context, request sdk.Request) (groups []policy.ToolGroup, err error) {
	err = d.API.DB.View(ctx, func(tx node.Tx) error {
		found, err := d.API.Agents.Agent(tx, claimsOf(request).Sub)
		groups = found.Tools
		return err
	})
	if err != nil {
		d.Log.Error("the groups of tools could not be read", "cause", err.Error())
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "The node cannot answer right now. Try again in a moment."}
	}
	return groups, nil
}
