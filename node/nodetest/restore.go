package nodetest

import (
	"bytes"
	"io"
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
