package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"agentlink/node/api/socket"
	"agentlink/node/app"
	"agentlink/node/config"
	"agentlink/policy"
)

// house is one person's node with its owner and its agent.
type house struct {
	side     side
	owner    string
	folder   string
	password string
	info     socket.Info
	client   *socket.Client
	agent    *agent
	end      context.CancelFunc
	done     chan error
}

func startHouse(ctx context.Context, where side, owner, handle, mode, folder string) (*house, error) {
	h := &house{side: where, owner: owner, folder: folder, password: randomPassword()}
	if err := os.WriteFile(h.passwordFile(), []byte(h.password+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("write the password of %s: %w", owner, err)
	}
	settings, err := config.Load(func(name string) string {
		return map[string]string{config.DataDirName: h.data(), config.ListenName: "localhost:0"}[name]
	})
	if err != nil {
		return nil, err
	}
	setup := app.Setup{OwnerName: owner, Password: h.password, Handle: handle, Mode: policy.Mode(mode)}
	made, err := app.Init(ctx, settings, setup, app.Options{})
	if err != nil {
		return nil, fmt.Errorf("make %s's node: %w", owner, err)
	}
	key := made.Agent.ID + "\n" + made.Agent.Key + "\n"
	if err := os.WriteFile(h.keyFile(), []byte(key), 0o600); err != nil {
		return nil, fmt.Errorf("write the key of %s's agent: %w", owner, err)
	}
	if err := h.serve(settings); err != nil {
		return nil, fmt.Errorf("start %s's node: %w", owner, err)
	}
	h.client = socket.Dial(settings.SocketPath())
	h.agent = &agent{handle: handle, mode: mode, base: h.info.AgentsURL, id: made.Agent.ID, key: made.Agent.Key}
	return h, nil
}

// serve runs the node until stop.
func (h *house) serve(settings config.Config) error {
	ctx, end := context.WithCancel(context.Background())
	running, err := app.New(ctx, settings, app.Options{Version: "demo"})
	if err != nil {
		end()
		return err
	}
	h.end, h.done = end, make(chan error, 1)
	ready := make(chan socket.Info, 1)
	go func() { h.done <- running.Serve(ctx, func(info socket.Info) { ready <- info }) }()
	select {
	case h.info = <-ready:
		return nil
	case err := <-h.done:
		end()
		h.end = nil
		return err
	}
}

func (h *house) stop() error {
	if h.end == nil {
		return nil
	}
	h.end()
	return <-h.done
}

func (h *house) data() string         { return filepath.Join(h.folder, "data") }
func (h *house) passwordFile() string { return filepath.Join(h.folder, "password") }
func (h *house) keyFile() string      { return filepath.Join(h.folder, "agent-key") }
func (h *house) address() string      { return h.agent.handle + "@" + h.info.Host }

func (h *house) heading() []string {
	return []string{
		h.owner + "'s node",
		"address     " + h.address(),
		"agent       " + h.agent.handle + ", " + h.agent.mode,
		"fingerprint " + h.info.Fingerprint[:16] + "…",
	}
}

// tell sends a command of the owner that needs the password.
func tell[Resp any](ctx context.Context, h *house, command string, request any) (response Resp, err error) {
	return response, h.client.Call(ctx, command, h.password, request, &response)
}

// ask sends a command of the owner that only reads.
func ask[Resp any](ctx context.Context, h *house, command string, request any) (response Resp, err error) {
	return response, h.client.Call(ctx, command, "", request, &response)
}
