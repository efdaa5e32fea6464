package mcp

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// passer passes requests of a client on to the node, and the node's progress back.
type passer struct {
	node   *sdk.ClientSession
	client atomic.Pointer[sdk.ServerSession]
	asked  atomic.Int64 // requests under way
}

func (p *passer) busy() bool { return p.asked.Load() > 0 }

// pass answers with what the node answers. What belongs to the connection alone,
// such as its beginning, is answered here.
func (p *passer) pass(next sdk.MethodHandler) sdk.MethodHandler {
	asks := p.asks()
	return func(ctx context.Context, method string, request sdk.Request) (sdk.Result, error) {
		p.asked.Add(1)
		defer p.asked.Add(-1)
		ask, ours := asks[method]
		if !ours {
			return next(ctx, method, request)
		}
		result, err := ask(ctx, request.GetParams())
		var told *jsonrpc.Error
		switch {
		case err == nil:
			return result, nil
		case errors.As(err, &told) && told.Code != codeRejected:
			return nil, told
		case ctx.Err() != nil:
			return nil, ctx.Err()
		}
		return nil, errNodeAway
	}
}

// codeRejected is the SDK's own for a request that could not be handed over: the
// node has said nothing.
const codeRejected = -32005

type ask func(context.Context, sdk.Params) (sdk.Result, error)

// asks are the requests that the node answers.
func (p *passer) asks() map[string]ask {
	return map[string]ask{
		"tools/list": func(ctx context.Context, given sdk.Params) (sdk.Result, error) {
			return p.node.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursorOf(given)})
		},
		"resources/list": func(ctx context.Context, given sdk.Params) (sdk.Result, error) {
			return p.node.ListResources(ctx, &sdk.ListResourcesParams{Cursor: cursorOf(given)})
		},
		"prompts/list": func(ctx context.Context, given sdk.Params) (sdk.Result, error) {
			return p.node.ListPrompts(ctx, &sdk.ListPromptsParams{Cursor: cursorOf(given)})
		},
		"tools/call": func(ctx context.Context, given sdk.Params) (sdk.Result, error) {
			params := given.(*sdk.CallToolParamsRaw)
			call := &sdk.CallToolParams{Name: params.Name, Arguments: params.Arguments}
			if token := params.GetProgressToken(); token != nil {
				call.SetProgressToken(token)
			}
			return p.node.CallTool(ctx, call)
		},
		"resources/read": func(ctx context.Context, given sdk.Params) (sdk.Result, error) {
			return p.node.ReadResource(ctx, &sdk.ReadResourceParams{URI: given.(*sdk.ReadResourceParams).URI})
		},
		"prompts/get": func(ctx context.Context, given sdk.Params) (sdk.Result, error) {
			params := given.(*sdk.GetPromptParams)
			return p.node.GetPrompt(ctx, &sdk.GetPromptParams{Name: params.Name, Arguments: params.Arguments})
		},
	}
}

// cursorOf reads where a list goes on; clients may leave the parameters out.
func cursorOf(given sdk.Params) string {
	switch params := given.(type) {
	case *sdk.ListToolsParams:
		if params != nil {
			return params.Cursor
		}
	case *sdk.ListResourcesParams:
		if params != nil {
			return params.Cursor
		}
	case *sdk.ListPromptsParams:
		if params != nil {
			return params.Cursor
		}
	}
	return ""
}

// progress hands on how long a call has waited.
func (p *passer) progress(ctx context.Context, request *sdk.ProgressNotificationClientRequest) {
	if client := p.client.Load(); client != nil {
		_ = client.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
			ProgressToken: request.Params.ProgressToken, Progress: request.Params.Progress, Message: request.Params.Message,
		}) // a client that has left hears nothing
	}
}
