package mcp

import (
	"context"
	"crypto/rand"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// attentionTime is how long a client may show its person that something waits.
const attentionTime = 30 * time.Second

// callAttention asks a client that can open an address for its person to show
// where a held thing waits. What the person answers there decides nothing, and
// the call does not wait for it. Clients of the newest protocol take no requests
// of a server; the text of the answer has to do for them.
func (d *door) callAttention(request *sdk.CallToolRequest) {
	session := request.Session
	if d.Dashboard == "" || session == nil || session.InitializeParams() == nil || session.InitializeParams().Capabilities == nil {
		return
	}
	can := session.InitializeParams().Capabilities.Elicitation
	if can == nil || can.URL == nil {
		return
	}
	go func() {
		// The call's own context leads to the call's answer, which ends with it.
		ctx, cancel := context.WithTimeout(context.Background(), attentionTime)
		defer cancel()
		_, err := session.Elicit(ctx, &sdk.ElicitParams{
			Mode: "url", URL: d.Dashboard + "/approvals", ElicitationID: rand.Text(),
			Message: "Something waits for you in the dashboard. It is decided there and nowhere else.",
		})
		if err != nil {
			d.Log.Debug("a client did not show that something waits", "cause", err.Error())
		}
	}()
}
