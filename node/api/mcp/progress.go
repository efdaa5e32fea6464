package mcp

import (
	"context"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// progressEvery is how often a client hears that a call still waits.
const progressEvery = 5 * time.Second

// keepInformed reports progress of a call for as long as it takes, to a client
// that asked for it: many end a call of which they hear nothing.
func keepInformed(ctx context.Context, request *sdk.CallToolRequest) (stop func()) {
	token := request.Params.GetProgressToken()
	if token == nil || request.Session == nil {
		return func() {}
	}
	done := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		for seconds := progressEvery.Seconds(); ; seconds += progressEvery.Seconds() {
			select {
			case <-ticker.C:
				// A client that has left hears nothing; its call ends by itself.
				_ = request.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: seconds, Message: "Still waiting."})
			case <-done:
				return
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		close(done)
		ended.Wait()
	}
}
