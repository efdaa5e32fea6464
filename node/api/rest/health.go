package rest

import (
	"context"
	"math"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"agentlink/node"
	"agentlink/node/api"
)

type health struct {
	Status string `json:"status"`
}

// pingTime is how long the store may take to answer before the node says that
// it is not ready.
const pingTime = 2 * time.Second

// alive answers as long as the process serves at all.
func (h *handlers) alive(context.Context, *api.Call) api.Answer { return fine("ok") }

// ready answers whether the node can do its work: the store answers.
func (h *handlers) ready(ctx context.Context, call *api.Call) api.Answer {
	ctx, cancel := context.WithTimeout(ctx, pingTime)
	defer cancel()
	if err := h.Ping(ctx); err != nil {
		return h.API.Door.Fail(call, &node.Error{Code: node.Unavailable, Message: "The store does not answer.", Err: err})
	}
	return fine("ready")
}

func fine(status string) api.Answer {
	body, err := json.Marshal(health{Status: status})
	if err != nil {
		panic("rest: " + err.Error())
	}
	return api.Answer{Status: api.OK, Body: body}
}

// seconds rounds up, for Retry-After.
func seconds(pause time.Duration) string { return strconv.Itoa(int(math.Ceil(pause.Seconds()))) }
