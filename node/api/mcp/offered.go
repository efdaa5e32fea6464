package mcp

import (
	"context"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

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
func onlyOffered(offer Offer) sdk.Middleware {
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, request sdk.Request) (sdk.Result, error) {
			switch method {
			case "tools/list":
				return listed(ctx, offer, method, request, next)
			case "tools/call":
				if err := mayCall(ctx, offer, request); err != nil {
					return nil, err
				}
			}
			return next(ctx, method, request)
		}
	}
}

func listed(ctx context.Context, offer Offer, method string, request sdk.Request, next sdk.MethodHandler) (sdk.Result, error) {
	groups, err := offer.Groups(ctx, request)
	if err != nil {
		return nil, err
	}
	result, err := next(ctx, method, request)
	list, ok := result.(*sdk.ListToolsResult)
	if err != nil || !ok {
		return result, err
	}
	list.Tools = slices.DeleteFunc(list.Tools, func(t *sdk.Tool) bool { return hidden(groups, t.Name) })
	return list, nil
}

func hidden(groups []policy.ToolGroup, name string) bool {
	group, ours := groupOf[name]
	return ours && !slices.Contains(groups, group)
}

func mayCall(ctx context.Context, offer Offer, request sdk.Request) error {
	params, ok := request.GetParams().(*sdk.CallToolParamsRaw)
	if !ok {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "This call cannot be read."}
	}
	groups, err := offer.Groups(ctx, request)
	if err != nil {
		return err
	}
	if hidden(groups, params.Name) {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("The owner does not offer the tool %s to this agent.", params.Name)}
	}
	return nil
}
