package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"agentlink/node"
	"agentlink/node/api/socket"
)

// cli is what every command needs: where to read and write, and the flags that
// all of them share.
type cli struct {
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	getenv func(string) string
	clock  node.Clock

	data         string // the data folder
	json         bool
	passwordFile string
}

// run is main without the process around it; it gives the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	c := &cli{stdin: stdin, stdout: stdout, stderr: stderr, getenv: os.Getenv, clock: node.SystemClock{}}
	root := c.root()
	root.SetArgs(args)
	err := root.Execute()
	if err == nil {
		return exitOK
	}
	return c.report(err)
}

const rootHelp = `AgentLink is a node that one person runs for themselves. Their AI agents act in
the world only through it, under rules that live on the node.

A first node:

  agentlink serve          (prints a link; open it in a browser to set the node up)

Or without a browser:

  agentlink init --name "Ada" --password-file password.txt
  agentlink serve
  agentlink agent create scout          (in another terminal; prints the agent's key)

The owner's commands talk to the running node through a socket in its data
folder. Those that decide, or change rules, keys or agents, ask for the owner's
password on the terminal, or take it from --password-file.

Exit codes:
  0  done
  1  refused, or failed
  2  the command line or the settings are wrong or unsafe; nothing was done
  3  the node is not running`

const aboutNode = "Commands about the node:"

func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use: "agentlink", Short: "A node for your AI agents, under your rules", Long: rootHelp,
		SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetIn(c.stdin)
	root.SetOut(c.stdout)
	root.SetErr(c.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usage(cmd, "%v", err) })
	root.PersistentFlags().StringVar(&c.data, "data", "", "data folder of the node (default $AGENTLINK_DATA_DIR, else ~/.local/share/agentlink)")
	root.PersistentFlags().BoolVar(&c.json, "json", false, "print JSON, for programs")
	c.group(root, aboutNode, c.serve(), c.init(), c.status(), c.link(), c.password(), c.key(), c.backup(), c.restore(), c.rekey(), c.version(), c.demo())
	c.group(root, "Commands of the owner:", c.agent(), c.connection(), c.grant(), c.overlay(), c.approvals(), c.tasks(), c.messages())
	c.group(root, "Commands of an agent:", c.mcp(), c.hookup(), c.skill())
	c.group(root, "Evidence:", c.audit(), c.receipt())
	root.SetHelpCommandGroupID(aboutNode)
	return asGroup(root)
}

// group adds commands under one heading of the help.
func (c *cli) group(root *cobra.Command, title string, commands ...*cobra.Command) {
	group := &cobra.Group{ID: title, Title: title}
	root.AddGroup(group)
	for _, command := range commands {
		command.GroupID = group.ID
		root.AddCommand(command)
	}
}

// parent makes a command that only holds others.
func parent(use, short, long string, children ...*cobra.Command) *cobra.Command {
	command := &cobra.Command{Use: use, Short: short, Long: long}
	command.AddCommand(children...)
	return asGroup(command)
}

// asGroup lets a command without a subcommand print its help, and refuses an
// unknown subcommand.
func asGroup(command *cobra.Command) *cobra.Command {
	command.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usage(cmd, "there is no command %q", args[0])
		}
		return nil
	}
	command.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return command
}

// args demands exactly the arguments that the names stand for.
func args(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return usage(cmd, "%s is missing", names[len(args)])
		case len(args) > len(names):
			return usage(cmd, "%q is one argument too many", args[len(names)])
		}
		return nil
	}
}

// atMost allows the arguments that the names stand for, and no more.
func atMost(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error {
		return args(names[:min(len(names), len(given))]...)(cmd, given)
	}
}

// client prepares the way to the running node.
func (c *cli) client() (*socket.Client, error) {
	path, err := c.socketPath()
	if err != nil {
		return nil, err
	}
	return socket.Dial(path), nil
}

// ask sends a command that only reads.
func ask[Resp any](c *cli, cmd *cobra.Command, command string, request any) (response Resp, err error) {
	client, err := c.client()
	if err != nil {
		return response, err
	}
	return response, client.Call(cmd.Context(), command, "", request, &response)
}

// tell sends a command that decides or changes something, with the password.
func tell[Resp any](c *cli, cmd *cobra.Command, command string, request any) (response Resp, err error) {
	client, err := c.client()
	if err != nil {
		return response, err
	}
	password, err := c.readPassword("Owner's password: ")
	if err != nil {
		return response, err
	}
	return response, client.Call(cmd.Context(), command, password, request, &response)
}

// needsPassword gives a command the flag that stands in for the terminal.
func (c *cli) needsPassword(command *cobra.Command) *cobra.Command {
	command.Flags().StringVar(&c.passwordFile, "password-file", "", `read the owner's password from this file, which only you may read ("-": standard input)`)
	return command
}

// agentFlag adds the flag that names one of several agents.
func agentFlag(command *cobra.Command, agent *string) {
	command.Flags().StringVar(agent, "agent", "", "handle of the agent (needed where there is more than one)")
}
