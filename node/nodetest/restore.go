package nodetest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"

	"agentlink/node/api/socket"
	"agentlink/node/app"
	"agentlink/node/config"
)

// Backup is the content of a backup of the running node.
func (n *Node) Backup() []byte {
	n.tb.Helper()
	stream, err := n.client.Stream(n.tb.Context(), socket.NodeBackup, Password)
	if err != nil {
		n.tb.Fatalf("back up: %v", err)
	}
	defer stream.Close()
	content, err := io.ReadAll(stream)
	if err != nil {
		n.tb.Fatalf("back up: %v", err)
	}
	return content
}

// Restore stops the node and puts one in its place that was restored from a
// backup, at the same address. databaseURL is an empty database, "" is SQLite.
func (n *Node) Restore(content []byte, databaseURL string) app.RestoreReport {
	n.tb.Helper()
	n.Stop()
	settings := n.settings
	settings.DataDir = filepath.Join(filepath.Dir(n.settings.DataDir), filepath.Base(n.settings.DataDir)+"r")
	settings.Database = config.DatabaseURL(databaseURL)
	if databaseURL == "" {
		settings.Database = config.DatabaseURL("sqlite:" + filepath.Join(settings.DataDir, "node.db"))
	}
	report, err := app.Restore(n.tb.Context(), settings, n.appOptions(), bytes.NewReader(content))
	if err != nil {
		n.tb.Fatalf("restore: %v", err)
	}
	settings.MasterKeyFile = filepath.Join(settings.DataDir, "master.key")
	n.settings = settings
	n.serve()
	return report
}

// ReplaceMaster stops the node, gives it a new master key, and starts it again.
func (n *Node) ReplaceMaster() app.MasterReplaced {
	n.tb.Helper()
	n.Stop()
	done, err := n.TryReplaceMaster()
	if err != nil {
		n.tb.Fatalf("replace the master key: %v", err)
	}
	n.Restart()
	return done
}

// TryReplaceMaster gives a node that does not run a new master key.
func (n *Node) TryReplaceMaster() (app.MasterReplaced, error) {
	return app.ReplaceMaster(n.tb.Context(), n.settings, n.appOptions())
}

// Replica is a node on the same database that was not started, with a folder and a copy
// of the master key of its own.
func (n *Node) Replica() *Node {
	n.tb.Helper()
	r := &Node{tb: n.tb, options: n.options}
	r.settings = r.load()
	key, err := os.ReadFile(n.settings.MasterKeyFile)
	if err := errors.Join(err, r.settings.MakeDataDir(), os.WriteFile(r.settings.MasterKeyFile, key, 0o600)); err != nil {
		n.tb.Fatal(err)
	}
	return r
}
