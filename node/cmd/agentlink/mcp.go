package main

import (
	"cmp"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"agentlink/node/api/mcp"
	"agentlink/node/config"
	"agentlink/policy"
)

// The environment of an agent's program. A client keeps it in its own settings.
const (
	nodeURLName = "AGENTLINK_NODE_URL"
	keyName     = "AGENTLINK_AGENT_KEY"
	keyFileName = "AGENTLINK_AGENT_KEY_FILE"
)

const mcpHelp = `Serves an agent's tools over standard input and output, to a client of the Model
Context Protocol that starts this as its child. Everything is passed on to the
running node, under the rules of the agent whose key it is.

The key comes from a file that only its user may read, or from the environment;
never from an argument, which others on the machine can see. Clients that speak
HTTP need no such child: give them the node's address with /mcp at its end.`

func (c *cli) mcp() *cobra.Command {
	var url, keyFile string
	command := &cobra.Command{
		Use: "mcp", Short: "Serve an agent's tools to a client over stdio", Long: mcpHelp, Args: args(),
		Example: "  agentlink mcp --key-file ~/.config/agentlink/scout.key\n" +
			"  " + nodeURLName + "=https://node.example " + keyFileName + "=scout.key agentlink mcp",
		RunE: func(cmd *cobra.Command, _ []string) error {
			key, err := c.bearer(keyFile)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return mcp.Stdio{
				URL: c.nodeURL(url), Key: key,
				In: io.NopCloser(c.stdin), Out: unclosed{c.stdout}, Version: thisBuild().Version,
			}.Run(ctx)
		},
	}
	command.Flags().StringVar(&url, "url", "", "address of the node (default $"+nodeURLName+", else http://"+config.DefaultListen+")")
	command.Flags().StringVar(&keyFile, "key-file", "", "file of the agent's key, mode 0600 (default $"+keyFileName+"; or the key itself in $"+keyName+")")
	return command
}

// nodeURL is where an agent's program finds the node: by its flag, or the
// environment, or on this machine.
func (c *cli) nodeURL(flag string) string {
	return cmp.Or(flag, c.getenv(nodeURLName), "http://"+config.DefaultListen)
}

// bearer finds the key, and refuses what is none before the node counts it as
// a wrong one.
func (c *cli) bearer(file string) (string, error) {
	key := c.getenv(keyName)
	if file = cmp.Or(file, c.getenv(keyFileName)); file != "" {
		var err error
		if key, err = c.secretFrom(file); err != nil {
			return "", err
		}
	}
	switch {
	case key == "":
		return "", unsafe("The agent's key is missing: put it in a file of mode 0600 and name the file with --key-file.")
	case !policy.IsKey(key):
		return "", unsafe("This is not an agent's key: one begins with alk_.")
	}
	return key, nil
}

// unclosed leaves standard output open: it is not the session's to close.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
