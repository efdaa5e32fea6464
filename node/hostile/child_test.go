package hostile

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"agentlink/node/api/socket"
	"agentlink/node/app"
	"agentlink/node/config"
)

// childName tells this binary to be a node: the tests start it a second time, in
// a process whose memory is its own.
const childName = "AGENTLINK_HOSTILE_CHILD"

// beNode is a whole node as the program is one.
func beNode() (exit int) {
	if err := serveNode(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func serveNode() error {
	settings, err := config.Load(os.Getenv)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	running, err := app.New(ctx, settings, app.Options{
		Version: "test", Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if err != nil {
		return err
	}
	return running.Serve(ctx, func(info socket.Info) {
		line, _ := json.Marshal(info)
		fmt.Println(string(line))
	})
}
