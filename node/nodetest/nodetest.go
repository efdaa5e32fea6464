// Package nodetest starts real nodes on loopback, for tests: the whole of a node
// in this process, with its database, its loops and its sockets, and two kinds
// of client: the owner's through the socket, an agent's through the REST API.
package nodetest

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"agentlink/actions"
	"agentlink/node"
	"agentlink/node/api/socket"
	"agentlink/node/app"
	"agentlink/node/config"
)

// Password is the owner's, on every node of a test.
const Password = "correct horse battery staple"

// Options say how a node differs from the usual one.
type Options struct {
	// DatabaseURL is where the node keeps its data; "" is SQLite in its folder.
	DatabaseURL string
	Owner       string // the owner's name; "Ada" where ""
	Clock       node.Clock
	Executors   []actions.Executor
	// Still and PeerTimeout are the node's (app.Options). What a node that is still
	// has to do in the background it does in Step.
	Still       bool
	PeerTimeout time.Duration
	// New leaves the set-up to the test; it begins at SetUpLink.
	New bool
	// Log gets everything that the node logs, at the most talkative level; nil: the
	// test's log gets warnings and errors.
	Log io.Writer
	// Settings are further settings by their names in the environment.
	Settings map[string]string
}

// Node is a running node.
type Node struct {
	tb       testing.TB
	options  Options
	settings config.Config
	client   *socket.Client

	// Info is what the node says of itself; it changes with Restart.
	Info socket.Info
	// Made is what came of making the node.
	Made app.Made
	// SetUpLink is what a node without an owner has printed, "" where it has one.
	SetUpLink string

	running *app.Node
	stop    context.CancelFunc
	done    chan error
}

// Start makes and starts a node. It stops with the test.
func Start(tb testing.TB, options Options) *Node {
	tb.Helper()
	n := &Node{tb: tb, options: options}
	n.settings = n.load()
	if options.Owner == "" {
		options.Owner = "Ada"
	}
	if !options.New {
		var err error
		n.Made, err = app.Init(tb.Context(), n.settings, app.Setup{OwnerName: options.Owner, Password: Password}, n.appOptions())
		if err != nil {
			tb.Fatalf("make a node: %v", err)
		}
	}
	tb.Cleanup(func() { n.Stop() })
	n.serve()
	return n
}

// load makes the settings of a node that only this machine can reach. Its folder
// has a short path, as a socket's must.
func (n *Node) load() config.Config {
	n.tb.Helper()
	folder, err := os.MkdirTemp("", "alk")
	if err != nil {
		n.tb.Fatal(err)
	}
	n.tb.Cleanup(func() { _ = os.RemoveAll(folder) })
	given := map[string]string{
		config.DataDirName: filepath.Join(folder, "data"), config.ListenName: "localhost:0",
		config.DatabaseURLName: n.options.DatabaseURL,
	}
	for name, value := range n.options.Settings {
		given[name] = value
	}
	settings, err := config.Load(func(name string) string { return given[name] })
	if err != nil {
		n.tb.Fatalf("settings: %v", err)
	}
	return settings
}

func (n *Node) appOptions() app.Options {
	return app.Options{
		Clock: n.options.Clock, Executors: n.options.Executors, Version: "test", Poll: 20 * time.Millisecond,
		Still: n.options.Still, PeerTimeout: n.options.PeerTimeout,
		Log: n.log(),
	}
}

func (n *Node) log() *slog.Logger {
	if n.options.Log != nil {
		return slog.New(slog.NewJSONHandler(n.options.Log, &slog.HandlerOptions{Level: slog.LevelDebug - 4}))
	}
	return slog.New(slog.NewTextHandler(testLog{n.tb}, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// serve starts the node, and returns when it is ready.
func (n *Node) serve() {
	n.tb.Helper()
	ctx, stop := context.WithCancel(context.Background())
	options, link := n.appOptions(), make(chan string, 1)
	options.SetUp = func(url string) { link <- url }
	running, err := app.New(ctx, n.settings, options)
	if err != nil {
		stop()
		n.tb.Fatalf("start a node: %v", err)
	}
	n.running, n.stop, n.done = running, stop, make(chan error, 1)
	ready := make(chan socket.Info, 1)
	go func() { n.done <- running.Serve(ctx, func(info socket.Info) { ready <- info }) }()
	select {
	case n.Info = <-ready:
	case err := <-n.done:
		n.stop = nil
		n.tb.Fatalf("serve: %v", err)
	}
	n.SetUpLink = ""
	if n.options.New {
		select { // a node that somebody has set up prints none
		case n.SetUpLink = <-link:
		case <-time.After(time.Second):
		}
	}
	n.client = socket.Dial(n.settings.SocketPath())
	// A restart finds the node where it was.
	n.settings.Listen = "localhost:" + port(n.tb, n.Info.AgentsURL)
}

// Stop ends the node in order. Stopping it twice is fine.
func (n *Node) Stop() {
	n.tb.Helper()
	if n.stop == nil {
		return
	}
	n.stop()
	n.stop = nil
	if err := <-n.done; err != nil {
		n.tb.Errorf("stop a node: %v", err)
	}
}

// Restart stops the node and starts it again on the same address and data.
func (n *Node) Restart() {
	n.tb.Helper()
	n.Stop()
	n.serve()
}

// Step does what is due in the background of a node that is still, until nothing is.
func (n *Node) Step() {
	n.tb.Helper()
	if err := n.TryStep(); err != nil {
		n.tb.Fatalf("background work: %v", err)
	}
}

// TryStep is Step for a node whose work may fail; it ends with the first failure.
func (n *Node) TryStep() error {
	for more, count := true, 0; more && count < 10_000; count++ {
		var err error
		if more, err = n.running.Step(n.tb.Context()); err != nil {
			return err
		}
	}
	return nil
}

// NextDelivery is when the node has something to send; known is false where
// nothing waits.
func (n *Node) NextDelivery() (at time.Time, known bool) {
	n.tb.Helper()
	at, known, err := n.running.NextDelivery(n.tb.Context())
	if err != nil {
		n.tb.Fatal(err)
	}
	return at, known
}

// DataDir is the node's data folder.
func (n *Node) DataDir() string { return n.settings.DataDir }

// SocketPath is where the owner's socket is.
func (n *Node) SocketPath() string { return n.settings.SocketPath() }

// testLog puts the node's warnings and errors into the test's log.
type testLog struct{ tb testing.TB }

// Write implements io.Writer.
func (l testLog) Write(line []byte) (int, error) {
	l.tb.Logf("%s", line)
	return len(line), nil
}
